import type { Readable } from "node:stream";
import { isatty } from "node:tty";
import type { Environment } from "./settings.ts";

/** What a command has to do with the person, or the program, that called it. */
export interface Terminal {
  readonly environment: Environment;
  readonly stdin: Readable;
  /** Results. */
  readonly out: (text: string) => void;
  /** Everything else: questions, progress, errors. */
  readonly err: (text: string) => void;
  /** Whether results are read by a person: tables may be redrawn and coloured. */
  readonly isInteractive: boolean;
  /** Whether a question would be seen and could be answered. */
  readonly canAsk: boolean;
  readonly colors: Palette;
}

export interface Palette {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly red: (text: string) => string;
}

export function processTerminal(): Terminal {
  const { env, stdin, stdout, stderr } = process;
  return {
    environment: env,
    stdin,
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    isInteractive: isatty(1),
    canAsk: isatty(0) && isatty(2),
    colors: paletteFor(isatty(1) && wantsColor(env)),
  };
}

/** @see https://no-color.org */
export function wantsColor(environment: Environment): boolean {
  return (environment["NO_COLOR"] ?? "") === "" && environment["TERM"] !== "dumb";
}

export function paletteFor(isColored: boolean): Palette {
  const paint = (code: number) => (text: string) => (isColored ? `\u001b[${code}m${text}\u001b[0m` : text);
  return { bold: paint(1), dim: paint(2), green: paint(32), yellow: paint(33), red: paint(31) };
}

/**
 * A text without characters that would move the cursor, change colours or set the title: labels and providers' messages
 * come from elsewhere.
 */
export function printable(text: string): string {
  // Bidirectional overrides among the format characters would show a text in another order than it has.
  return text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, " ");
}
