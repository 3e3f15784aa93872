import { readFileSync, statSync } from "node:fs";
import { isKeywheelError } from "@keywheel/pool";
import type { Declared, DeclaredBook, DeclaredCounts } from "../../catalog/declared/declared-book.ts";
import type { ConfigMistake, ConfigState } from "../../contract/config-file.ts";
import type { Log } from "../../telemetry/log.ts";
import { inOrder, type Locate, maxConfigBytes, readConfig } from "./read-config.ts";
import { failed } from "../exit.ts";

export interface ConfigFileOptions {
  readonly file: string;
  readonly declared: Pick<DeclaredBook, "apply" | "isInUse">;
  readonly log: Pick<Log, "info" | "warn" | "error">;
  readonly now: () => number;
  /** How often the file is looked at, ms; 0 for never. Default 1000. */
  readonly pollMs?: number;
}

/** A file is read once it has stayed the same for so long: editors write it piece by piece. */
const settleMs = 150;
/** So many are shown in the log and when the start fails; the rest is counted. */
const mostShown = 20;

/** How a file that cannot be taken is told. */
interface Trouble {
  readonly problem: string;
  readonly mistakes: readonly ConfigMistake[];
}

/**
 * A `keywheel.yaml` that is followed: what it says holds from its reading on, and what was taken up before goes on while it
 * cannot be read.
 *
 * The file is looked at by name once a second, so that a file that was replaced and links that were turned (ConfigMaps) are
 * noticed as well as one that was written to, on file systems that tell of no changes too.
 */
export class ConfigFileWatch {
  readonly #options: ConfigFileOptions;
  #timer: NodeJS.Timeout | undefined;
  #mark = "";
  /** What the file held when it was last taken up or refused. */
  #text: string | undefined;
  #mustRetry = false;
  #appliedAt: number | undefined;
  #trouble: Trouble | undefined;
  #warnings: readonly ConfigMistake[] = [];
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ConfigFileOptions) {
    this.#options = options;
  }

  /**
   * Takes up the file, and follows it from then on.
   *
   * @throws CommandError (1) for a file that cannot be taken, where none was taken up before: there is nothing to go on with
   */
  async open(): Promise<void> {
    const { file, declared, pollMs = 1000 } = this.#options;
    const hadOne = declared.isInUse;
    this.#mark = markOf(file);
    await this.#inTurn(() => this.#read());
    if (this.#trouble !== undefined && !hadOne) throw failed(sentences(file, this.#trouble));
    if (pollMs > 0) this.#timer = setInterval(() => void this.look(), pollMs).unref();
  }

  /** Looks whether the file has changed, and takes it up. */
  look(): Promise<void> {
    return this.#inTurn(async () => {
      const { file } = this.#options;
      let mark = markOf(file);
      if (mark === this.#mark && !this.#mustRetry) return;
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, settleMs).unref());
        const next = markOf(file);
        if (next === mark) break;
        mark = next;
      }
      this.#mark = mark;
      await this.#read();
    });
  }

  /** Reads it again, whether or not it has changed. */
  async reload(): Promise<ConfigState> {
    await this.#inTurn(async () => {
      this.#mark = markOf(this.#options.file);
      this.#text = undefined;
      await this.#read();
    });
    return this.state();
  }

  /** What references come to has changed: tokens are made of them. */
  referencesChanged(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#trouble !== undefined) return;
      this.#text = undefined;
      await this.#read();
    });
  }

  state(): ConfigState {
    return {
      file: this.#options.file,
      state: this.#trouble === undefined ? "applied" : "broken",
      applied_at: this.#appliedAt === undefined ? null : new Date(this.#appliedAt).toISOString(),
      problem: this.#trouble?.problem ?? null,
      mistakes: [...(this.#trouble?.mistakes ?? [])],
      warnings: [...this.#warnings],
    };
  }

  /** Why the file is not what is served, in a sentence; undefined while it is. */
  get trouble(): { readonly file: string; readonly problem: string } | undefined {
    return this.#trouble && { file: this.#options.file, problem: this.#trouble.problem };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  /** One after the other. Never rejects: what goes wrong is told. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#running = this.#running.then(async () => {
      if (this.#isClosed) return;
      try {
        await work();
      } catch (error) {
        this.#mustRetry = true;
        this.#fail({ problem: wordsOf(error), mistakes: [] });
      }
    });
    return this.#running;
  }

  async #read(): Promise<void> {
    this.#mustRetry = false;
    const { file, declared } = this.#options;
    let text: string;
    try {
      text = readText(file);
    } catch (error) {
      return this.#fail({ problem: `The file cannot be read: ${wordsOf(error)}`, mistakes: [] });
    }
    if (text === this.#text && this.#trouble === undefined) return;
    this.#text = text;
    const read = readConfig(text);
    if (!read.ok) return this.#fail(troubleOf(read.mistakes));
    const outcome = await declared.apply(read.config);
    if (outcome.kind === "refused") {
      // The remedy may be something else than the file.
      this.#mustRetry = true;
      return this.#fail(troubleOf(mistakesOf(outcome.problems, read.locate)));
    }
    this.#succeed(outcome, read.locate);
  }

  #succeed({ changed, counts, warnings }: Declared & { kind: "applied" }, locate: Locate): void {
    const { file, log, now } = this.#options;
    const isNews = changed || this.#trouble !== undefined || this.#appliedAt === undefined;
    this.#trouble = undefined;
    this.#appliedAt = now();
    const before = new Set(this.#warnings.map(lineOf));
    this.#warnings = mistakesOf(warnings, locate);
    if (isNews)
      log.info({ file, ...counts } satisfies DeclaredCounts & { file: string }, "The configuration file was taken up");
    for (const warning of this.#warnings) {
      if (!before.has(lineOf(warning))) log.warn({ file, at: placeOf(warning) }, warning.message);
    }
  }

  #fail(trouble: Trouble): void {
    const { file, log } = this.#options;
    const isNews = JSON.stringify(trouble) !== JSON.stringify(this.#trouble);
    this.#trouble = trouble;
    if (!isNews) return;
    const mistakes = trouble.mistakes.slice(0, mostShown).map(lineOf);
    const words = "The configuration file cannot be taken; what was taken up before goes on";
    log.error({ file, problem: trouble.problem, ...(mistakes.length === 0 ? {} : { mistakes }) }, words);
  }
}

function troubleOf(mistakes: readonly ConfigMistake[]): Trouble {
  const [first] = mistakes;
  if (first === undefined) return { problem: "It cannot be taken", mistakes };
  const count = mistakes.length === 1 ? "There is a mistake" : `There are ${mistakes.length} mistakes, the first`;
  return { problem: `${count} in line ${first.line}: ${first.message}`, mistakes };
}

/** Where each stands; in the order of the file. */
export function mistakesOf(
  problems: readonly { readonly path: string; readonly message: string }[],
  locate: Locate,
): ConfigMistake[] {
  return inOrder(problems.map(({ path, message }) => ({ ...locate(path), path, message })));
}

/** `12:3: Expected …` */
export function lineOf(mistake: ConfigMistake): string {
  return `${placeOf(mistake)}: ${mistake.message}`;
}

function placeOf({ line, column }: ConfigMistake): string {
  return `${line}:${column}`;
}

function sentences(file: string, { problem, mistakes }: Trouble): string {
  if (mistakes.length === 0) return `${file}: ${problem}.`;
  const shown = mistakes.slice(0, mostShown).map((mistake) => `${file}:${lineOf(mistake)}`);
  const rest = mistakes.length - shown.length;
  return [...shown, ...(rest > 0 ? [`And ${rest} more.`] : []), "Nothing was started."].join("\n");
}

/** @throws Error with the system's code, or for a file that is too large */
export function readText(file: string): string {
  const { size } = statSync(file);
  if (size > maxConfigBytes) throw new Error(`it has ${size} bytes, and ${maxConfigBytes} are the most`);
  return readFileSync(file, "utf8").replace(/^\ufeff/, "");
}

/** Changes with every write, and with every link on the way that leads elsewhere. */
function markOf(file: string): string {
  try {
    const { mtimeMs, ctimeMs, size, ino, dev } = statSync(file);
    return `${mtimeMs} ${ctimeMs} ${size} ${ino} ${dev}`;
  } catch (error) {
    return wordsOf(error);
  }
}

const systemWords: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "this process may not read it",
  EISDIR: "it is a folder",
};

/** Without the path, which stands beside it. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (isKeywheelError(error)) return error.message;
  return systemWords[code] ?? error.message;
}
