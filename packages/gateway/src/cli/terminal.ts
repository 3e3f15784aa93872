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
  /** Whether what goes to `err` may be drawn over: somebody watches it. */
  readonly canDraw: boolean;
  readonly screen: Screen;
  /** Aborted once nobody takes the results any more. */
  readonly closed: AbortSignal;
  readonly colors: Palette;
}

/** Where results are shown, if `isInteractive`. */
export interface Screen {
  /** As it is now, in characters. */
  readonly size: () => { readonly columns: number; readonly rows: number };
  /** Tells of every change of the size, until the returned function is called. */
  readonly onResize: (tell: () => void) => () => void;
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
    canDraw: isatty(2) && env["TERM"] !== "dumb",
    screen: screenOf(stdout),
    closed: closingOf(stdout),
    colors: paletteFor(wantsColor(env, isatty(1))),
  };
}

/** What a terminal has that does not say how large it is. */
const usual = { columns: 80, rows: 24 };

function screenOf(stdout: NodeJS.WriteStream): Screen {
  return {
    size: () => ({ columns: stdout.columns || usual.columns, rows: stdout.rows || usual.rows }),
    onResize: (tell) => {
      stdout.on("resize", tell);
      return () => void stdout.off("resize", tell);
    },
  };
}

function closingOf(stdout: NodeJS.WriteStream): AbortSignal {
  const closing = new AbortController();
  stdout.once("error", () => closing.abort());
  return closing.signal;
}

/**
 * Whether what is printed may be coloured. FORCE_COLOR wins over everything, as in Node itself; then NO_COLOR, and what is no
 * terminal gets none.
 *
 * @see https://no-color.org, https://force-color.org
 */
export function wantsColor(environment: Environment, isTerminal: boolean): boolean {
  const forced = environment["FORCE_COLOR"] ?? "";
  if (forced !== "") return forced !== "0" && forced !== "false";
  return isTerminal && (environment["NO_COLOR"] ?? "") === "" && environment["TERM"] !== "dumb";
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
