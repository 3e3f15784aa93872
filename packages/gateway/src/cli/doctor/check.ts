import { printable, type Palette } from "../terminal.ts";

/** How one thing stands: `warn` works, but not as it should; `fail` keeps the gateway, or a provider, from working. */
export interface Check {
  /** What was looked at; a name that programs match on. */
  readonly name: CheckName;
  /** Which one of several: a provider's slug. */
  readonly subject?: string;
  readonly state: "ok" | "warn" | "fail";
  /** How it stands, as a sentence. */
  readonly message: string;
  /** What to do about it; absent where there is nothing to do. */
  readonly advice?: string;
}

export type CheckName =
  | "configuration"
  | "configuration_file"
  | "data_directory"
  | "disk"
  | "database"
  | "redis"
  | "gateway"
  | "master_key"
  | "address"
  | "references"
  | "provider"
  | "clock";

export function ok(name: CheckName, message: string): Check {
  return { name, state: "ok", message };
}

export function warn(name: CheckName, message: string, advice: string): Check {
  return { name, state: "warn", message, advice };
}

export function fail(name: CheckName, message: string, advice: string): Check {
  return { name, state: "fail", message, advice };
}

const width = Math.max(...["configuration_file", "data_directory"].map((name) => name.length));

/** A line for a check, and one more for what to do. */
export function describe({ name, subject, state, message, advice }: Check, colors: Palette): string {
  const paint = { ok: colors.green, warn: colors.yellow, fail: colors.red }[state];
  const about = subject === undefined ? "" : `${subject}: `;
  const line = `${paint(state.padEnd(4))}  ${name.replaceAll("_", " ").padEnd(width)}  ${printable(about + message)}\n`;
  return advice === undefined ? line : `${line}${" ".repeat(width + 8)}${printable(advice)}\n`;
}
