import type { Failure } from "./cooldown.ts";
import type { DurationMs } from "./time.ts";

/** Why a key rests or is out, as programs and pages match on it (`status_reason.code` on the wire). */
export type ReasonCode =
  | "rate_limited"
  | "overloaded"
  | "quota_exhausted"
  | "authentication_failed"
  | "model_unavailable"
  | "disabled_by_operator"
  | "unresolved"
  | "undecryptable";

/** What an answer means for the key that the attempt used. */
export type KeyEffect =
  /** The answer says nothing about the key. */
  | { readonly kind: "none" }
  | { readonly kind: "succeeded" }
  | {
      readonly kind: "cool";
      readonly reason: "rate_limited" | "overloaded" | "quota_exhausted";
      readonly failure: Failure;
      /** `model`: the answer proves that the limit is the model's; it counts where the pool cools by model. */
      readonly scope: "key" | "model";
    }
  /** The key cannot serve this model or endpoint; it rests for that one alone, whatever the pool's cooldown scope. */
  | { readonly kind: "rest-model"; readonly reason: "model_unavailable"; readonly restMs: DurationMs }
  | { readonly kind: "disable"; readonly reason: "authentication_failed" };

/** What an answer means for the request. */
export type RequestEffect =
  /** The client gets this answer. */
  | "give-back"
  /** Another key is tried, for as long as there is one that this request has not tried. */
  | "next-key"
  /** One other key at the most is tried in the whole request, then the client gets the answer. */
  | "one-other-key"
  /** The provider's fault: repeated only as far as `settings.retry.provider_errors` allows. */
  | "provider-retry";

/** The one judgement of an attempt: its two questions are answered apart. */
export interface Verdict {
  readonly key: KeyEffect;
  readonly request: RequestEffect;
  /** What was recognised, lower snake case, for logs, events and the explanation ("rate_limited", "content_refused" …). */
  readonly code: string;
  /** What the provider said, as it said it: at most 500 characters, secrets not yet taken out. */
  readonly message: string | undefined;
  /** The status that the answer amounts to: its own, or what an error told inside a 200 would have had; 200 if unknown. */
  readonly httpStatus: number;
  /** The wait that the provider named, ms, whoever it is about; `key.failure.hintMs` is the same wait when a key cools. */
  readonly statedWaitMs?: DurationMs;
  /** Something that a person should be told about the provider as a whole. */
  readonly notice?: Notice;
}

/**
 * `edge_block`: a network edge refused this machine. `region_refused`: the country is not served. `not_an_api`: a page came
 * where data was asked for, so the base URL may lead to a web site.
 */
export type Notice = "edge_block" | "region_refused" | "not_an_api";

/** What is known of an answer when it is judged. */
export interface JudgedAnswer {
  /** The HTTP status; for an error told inside a 200, still 200; 0 when there was no answer at all. */
  readonly status: number;
  /** A header's value by its lower-case name; repeated headers joined with ", ". */
  readonly header: (name: string) => string | undefined;
  /**
   * The beginning of the body (64 KiB at most), content encoding undone; "" when there is none or it was not read. For an
   * error inside a stream, the data of the event that carried it.
   */
  readonly bodyText: string;
  /** Whether the body broke off, or was not there in time. */
  readonly isCut?: boolean;
  /** When the head arrived, epoch ms. Relative waits count from here. */
  readonly receivedAt: number;
}
