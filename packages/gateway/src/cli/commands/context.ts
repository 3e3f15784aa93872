import type { ApiClient } from "../client/api-client.ts";
import type { Connection } from "../connection.ts";
import { wrongWords } from "../exit.ts";
import type { Terminal } from "../terminal.ts";

/** What every command that manages something is given. */
export interface Context {
  readonly client: ApiClient;
  readonly terminal: Terminal;
  /** Print the control plane's answer as it came. */
  readonly json: boolean;
}

/** What a command that works on the files of a data directory is given. */
export interface DataDirContext {
  readonly connection: Connection;
  readonly terminal: Terminal;
  readonly json: boolean;
}

/** A result for people. */
export function say({ terminal }: Pick<Context, "terminal">, text: string): void {
  terminal.out(`${text}\n`);
}

/** Prints an answer of the control plane exactly as it came. */
export function printJson({ terminal }: Pick<Context, "terminal">, text: string): void {
  terminal.out(text.endsWith("\n") ? text : `${text}\n`);
}

/** That a person was asked, and said no. */
export function sayUndone(context: Pick<Context, "terminal" | "json">): void {
  if (context.json) printJson(context, JSON.stringify({ done: false }));
  else say(context, "Nothing was done.");
}

/** An id or a slug as a segment of a path. */
export function segment(text: string): string {
  if (text.trim() === "" || text === "." || text === "..") throw wrongWords(`Expected an id or a name, got "${text}".`);
  return encodeURIComponent(text);
}

/** The switches `--enabled` and `--disabled` as the field they set. */
export function enabledField(options: { readonly enabled?: boolean; readonly disabled?: boolean }): {
  enabled?: boolean;
} {
  if (options.enabled && options.disabled) throw wrongWords("--enabled and --disabled exclude each other.");
  if (options.enabled) return { enabled: true };
  return options.disabled ? { enabled: false } : {};
}

/** The fields that are set. */
export function present<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** A number where it is one. Anything else goes on as it is: the control plane knows the range and says what is wrong. */
export function numberOf(text: string | undefined): number | string | undefined {
  return text !== undefined && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
