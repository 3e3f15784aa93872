import { readFileSync, statSync } from "node:fs";
import { quotesAround, readVariable, Secret, trimInvisible } from "@keywheel/pool";
import { parseEnvFile } from "./env-file.ts";
import { Keychain } from "./keychain.ts";
import { SecretFiles, type SecretFilesOptions } from "./secret-files.ts";
import { sourceOf } from "./secret-source.ts";

/** What an environment reference comes to at this moment. */
export type Resolution =
  | { readonly kind: "resolved"; readonly value: Secret }
  | { readonly kind: "unset" | "empty" | "unsendable"; readonly message: string };

/**
 * Where references are looked up: `$NAME` in the process's environment and the env file, `file:/path`, `keychain:NAME`. What
 * changes there is noticed.
 */
export interface EnvironmentReader {
  /** The same answer until `onChange` listeners were called, so that a pool and the values it sends agree. */
  resolve(name: string): Resolution;
  /** What the name comes to right now, for a person who types it; nothing is remembered. */
  peek(name: string): Resolution;
  /** Called when the values may have changed. */
  onChange(listener: () => void): void;
  /** Looks now whether something changed, and tells the listeners. */
  check(): void;
}

export interface EnvironmentOptions {
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** An env file beside it. A variable that is set and not empty in the process wins over the file. */
  readonly envFile?: string;
  /** Where `file:/path` may lead; without it, nowhere. */
  readonly files?: SecretFilesOptions;
  /** How often the file and the variables that were asked for are looked at; 0 for never. Default 1 s. */
  readonly pollMs?: number;
  /** Told when the file cannot be read, once per reason, and of quotes that were taken off a value, once per name. */
  readonly warn?: (message: string) => void;
}

/** The process's environment and an env file as keys refer to them. */
export class Environment implements EnvironmentReader {
  readonly #options: EnvironmentOptions;
  readonly #known = new Map<string, Resolution>();
  readonly #listeners: (() => void)[] = [];
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #warnedOf = new Set<string>();
  readonly #files: SecretFiles;
  readonly #keychain: Keychain;
  #fileMark = "";
  #fileValues: ReadonlyMap<string, string> = new Map();

  constructor(options: EnvironmentOptions) {
    this.#options = options;
    this.#files = new SecretFiles(options.files ?? { folders: [], closed: [] });
    this.#keychain = new Keychain({
      onChange: () => this.check(),
      now: () => performance.now(),
      environment: options.variables,
    });
    this.#readFile();
    const pollMs = options.pollMs ?? 1_000;
    if (pollMs > 0) this.#timer = setInterval(() => this.check(), pollMs).unref();
  }

  resolve(name: string): Resolution {
    const known = this.#known.get(name);
    if (known) return known;
    const resolution = this.#lookUp(name);
    this.#known.set(name, resolution);
    return resolution;
  }

  peek(name: string): Resolution {
    return this.#lookUp(name);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  check(): void {
    this.#readFile();
    let changed = false;
    for (const [name, before] of this.#known) {
      const now = this.#lookUp(name);
      if (sameResolution(before, now)) continue;
      this.#known.set(name, now);
      changed = true;
    }
    if (changed) for (const listener of this.#listeners) listener();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #lookUp(name: string): Resolution {
    const source = sourceOf(name);
    if (source.kind === "file") return this.#files.resolve(source.path);
    if (source.kind === "keychain") return this.#keychain.resolve(source.account);
    const own = this.#options.variables[name];
    const raw = own === undefined || own === "" ? (this.#fileValues.get(name) ?? own) : own;
    const resolution = resolutionOf(name, raw);
    if (resolution.kind === "resolved" && quotesAround.test(trimInvisible(raw ?? "").text)) this.#warnOfQuotes(name);
    return resolution;
  }

  /** Other programs that read the variable will take the quotes for a part of the key. */
  #warnOfQuotes(name: string): void {
    if (this.#warnedOf.has(name)) return;
    this.#warnedOf.add(name);
    this.#options.warn?.(`the environment variable ${name} has quotes around its value; they are left out`);
  }

  #readFile(): void {
    const { envFile, warn } = this.#options;
    if (envFile === undefined) return;
    try {
      const { mtimeMs, size, ino } = statSync(envFile);
      const mark = `${mtimeMs} ${size} ${ino}`;
      if (mark === this.#fileMark) return;
      this.#fileValues = parseEnvFile(readFileSync(envFile, "utf8"));
      this.#fileMark = mark;
    } catch (error) {
      // Editors replace a file by removing it first: the values read last stay until there are new ones.
      const mark = `cannot read ${envFile}: ${error instanceof Error ? error.message : "unknown reason"}`;
      if (mark !== this.#fileMark) warn?.(mark);
      this.#fileMark = mark;
    }
  }
}

/** What the raw value of a variable comes to: cleaned as a pasted key is, or why it cannot be sent. Holds no part of it. */
export function resolutionOf(name: string, raw: string | undefined): Resolution {
  const read = readVariable(name, raw);
  return read.kind === "resolved" ? { kind: "resolved", value: new Secret(read.value) } : read;
}

function sameResolution(one: Resolution, other: Resolution): boolean {
  if (one.kind === "resolved") return other.kind === "resolved" && one.value.reveal() === other.value.reveal();
  return other.kind !== "resolved" && one.message === other.message;
}
