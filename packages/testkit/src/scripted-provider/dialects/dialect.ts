import type { CredentialPlace } from "../credentials.ts";
import type { RecordedRequest } from "../recorded-request.ts";
import type { Reply } from "../reply.ts";

/** How one kind of provider speaks: as data and as answers. */
export interface Dialect {
  /** The path of the base URL that an operator would enter, without a trailing slash. */
  readonly basePath: string;
  /** Where this path wants its key. */
  credentialPlace(path: string): CredentialPlace;
  /** The provider's own refusal of a request whose credential is missing, unknown or in bad company. */
  refuse(refusal: Refusal): Reply;
  /** What a healthy provider says. Asked once the body was read, for accepted keys only. */
  answer(request: RecordedRequest, objects: ObjectShelf): Reply;
}

export interface Refusal {
  readonly kind: "missing" | "wrong" | "faulty";
  /** For people who read a failed test: what was wrong, or empty. */
  readonly faults: readonly string[];
}

/** A thing that was made under one key: only that key sees it, as it is with vendors' projects. */
export interface MadeObject {
  readonly id: string;
  readonly owner: string | undefined;
  readonly kind: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The bytes of a file. */
  readonly content?: Buffer;
  readonly contentType?: string;
}

/** What the provider holds. Ids are counted, so that a run is like the one before. */
export interface ObjectShelf {
  /** `prefix` and a counter of eight digits. */
  newId(prefix: string): string;
  add(object: MadeObject): void;
  /** The object, if this key owns it. */
  find(id: string, owner: string | undefined): MadeObject | undefined;
  list(kind: string, owner: string | undefined): readonly MadeObject[];
  remove(id: string, owner: string | undefined): boolean;
}

/** The text after the last "user" turn, which answers repeat so that a test can tell them apart. */
export function saidBack(text: unknown): string {
  return `You said: ${typeof text === "string" ? text : JSON.stringify(text)}`;
}

/** One word is one token here. */
export function countTokens(value: unknown): number {
  return (JSON.stringify(value ?? "").match(/\w+/g) ?? []).length;
}

/** A text in pieces of one word each, blanks kept, as a model streams it. */
export function wordsOf(text: string): string[] {
  return text.match(/\S+\s*/g) ?? [];
}

/** A fixed instant, epoch seconds: answers are the same in every run. */
export const createdAt = 1_780_000_000;
