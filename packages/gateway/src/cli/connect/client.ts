import { join } from "node:path";
import type { Provider } from "../commands/wire.ts";
import type { Environment } from "../settings.ts";
import type { Change, Format } from "./format.ts";

/** The kind of API that a client speaks. */
export type Speech = "openai" | "anthropic" | "gemini";

/** A provider, as clients reach it through the gateway. */
export interface Target {
  readonly speech: Speech;
  readonly provider: Provider;
  /** `http://127.0.0.1:8787/openai`. */
  readonly url: string;
  /** The same with the version that the provider's own base URL ends with: `http://127.0.0.1:8787/openai/v1`. */
  readonly versionedUrl: string;
  /** What it names its models, for clients that want to be told; empty where it was not asked, or does not say. */
  readonly models: readonly string[];
}

export type Targets = readonly [Target, ...Target[]];

/** A file that a client reads, and what it is to find there. */
export interface FileSetup {
  readonly path: string;
  readonly format: Format;
  readonly changes: readonly Change[];
}

export interface Setup {
  readonly files: readonly FileSetup[];
  /** The same for one terminal, for clients that read variables. */
  readonly variables: readonly (readonly [name: string, value: string])[];
  /** What else a person should know, as sentences. */
  readonly notes: readonly string[];
}

/** Where a client's files lie. */
export interface Place {
  readonly home: string;
  readonly folder: string;
  readonly environment: Environment;
  readonly exists: (path: string) => boolean;
}

export interface Client {
  readonly id: string;
  readonly name: string;
  readonly speaks: readonly [Speech, ...Speech[]];
  /** For people: what `--write` changes. */
  readonly writes: string;
  /** How it is started afterwards. */
  readonly start?: string;
  /** Names, in the environment or beside what is written, that win over it or are sent as well. */
  readonly rivals: readonly string[];
  /** Whether it has to be told the models of providers that it does not know. */
  readonly wantsModels?: true;
  /** @param token undefined where the gateway asks for none */
  readonly setUp: (targets: Targets, token: string | undefined, place: Place) => Setup;
}

/** For clients that do not start without a key, where the gateway asks for none. */
export const placeholder = "keywheel";

/** The folder that a variable names, or the usual one. */
export function folderOf(variable: string | undefined, ...usual: readonly [string, ...string[]]): string {
  return variable === undefined || variable.trim() === "" ? join(...usual) : variable;
}
