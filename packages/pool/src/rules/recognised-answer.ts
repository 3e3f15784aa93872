import type { ErrorFacts, ErrorMark } from "./error-facts.ts";
import type { JudgedAnswer } from "./verdict.ts";
import type { WaitRule } from "./wait-hint.ts";

/** What an answer turns out to mean. What follows from each is in `judge.ts`, once. */
export type Meaning =
  | "succeeded"
  /** The key, or the account behind it, sent too much. */
  | "rate_limited"
  /** The same, and the answer proves that the limit is that of the model (or deployment). */
  | "model_rate_limited"
  | "overloaded"
  /** Balance, quota or spending limit used up. */
  | "quota_exhausted"
  /** The remaining credit is reserved by requests under way. */
  | "budget_in_flight"
  | "key_refused"
  | "account_suspended"
  /** This key may not use this model or endpoint; another may. */
  | "model_unavailable"
  /** The provider is busy for everybody, though the status blames the key. */
  | "provider_busy"
  | "provider_error"
  | "edge_blocked"
  | "region_refused"
  | "not_an_api"
  | "content_refused"
  /** A stored object that another key made. */
  | "object_of_other_key"
  | "context_too_long"
  /** More than this key's allowance can ever take; a key of a higher tier may take it. */
  | "too_large_for_key"
  /** No such model, or no access to it: the provider does not say which. */
  | "model_ambiguous"
  | "model_missing"
  /** Any other refusal of the request. */
  | "request_refused";

/**
 * An answer that the product knows, as data. All conditions that are present must hold; of a list, one. A comment beside it
 * says where it is known from: the marks of the reference, "Sources".
 *
 * A condition on a sentence is for codes that mean two things: it is looked for in the provider's error message only, in
 * lower case, never in anything a model wrote.
 */
export interface RecognisedAnswer {
  readonly status?: readonly number[];
  /** Exact machine codes. */
  readonly code?: readonly string[];
  readonly phrase?: readonly string[];
  /** A header and its exact value. */
  readonly header?: readonly [name: string, value: string];
  readonly marks?: readonly ErrorMark[];
  /** True: about a web page; otherwise pages are passed over. */
  readonly page?: true;
  readonly means: Meaning;
  /** Absent: as the meaning has it (`stated`; for `quota_exhausted` `none`). */
  readonly wait?: WaitRule;
}

/** What is known of a provider's answers; the first that fits decides. */
export interface AnswerRules {
  readonly answers: readonly RecognisedAnswer[];
  /** The zone of bare local times in its sentences, minutes east of UTC. */
  readonly localOffsetMinutes?: number;
}

/** What an answer has to show for itself: its status is undefined if it was told inside a 200 and cannot be known. */
export interface ShownAnswer {
  readonly status: number | undefined;
  readonly header: JudgedAnswer["header"];
  readonly facts: ErrorFacts;
}

/** The first of the known answers that this is, if any. */
export function recognise(shown: ShownAnswer, rules: AnswerRules): RecognisedAnswer | undefined {
  return rules.answers.find((known) => fits(shown, known));
}

function fits({ status, header, facts }: ShownAnswer, known: RecognisedAnswer): boolean {
  return (
    (known.page ?? false) === facts.isPage &&
    hasStatus(status, known) &&
    (known.code === undefined || known.code.some((code) => facts.codes.includes(code))) &&
    (known.phrase === undefined || known.phrase.some((phrase) => facts.words.includes(phrase))) &&
    (known.marks === undefined || known.marks.every((mark) => facts.marks.includes(mark))) &&
    (known.header === undefined || header(known.header[0]) === known.header[1])
  );
}

function hasStatus(status: number | undefined, known: RecognisedAnswer): boolean {
  // A sentence alone proves nothing when the status is a guess; an exact code does.
  if (status === undefined) return known.code !== undefined;
  return known.status === undefined || known.status.includes(status);
}
