import type { AttemptRecord, Standing, Usage } from "@keywheel/pool";

/**
 * What ties a request to a key where no session does. `first`: lists always come from the first key, which is no matter of
 * affinity.
 */
export type RequestTie = "conversation" | "first";

/** What became of one request of a client: for the access log, the metrics and the explanation. No secret, no query. */
export interface RequestRecord {
  readonly requestId: string;
  readonly providerId: string | undefined;
  readonly slug: string;
  readonly method: string;
  readonly path: string;
  readonly model?: string;
  readonly sessionId?: string;
  readonly tokenId?: string;
  readonly tie?: RequestTie;
  readonly startedAt: number;
  readonly durationMs: number;
  /** From the request to the head of the answer that the client got. */
  readonly firstByteMs?: number;
  /** What the client got; 0 if it left before it got anything. */
  readonly status: number;
  /** Our own error code, if the answer was ours. */
  readonly error?: string;
  readonly keyId?: string;
  readonly attempts: readonly AttemptRecord[];
  readonly ending: "completed" | "truncated" | "failed" | "gone";
  readonly requestBytes: number;
  /** How long the client's body was waited for, ms; undefined if that was below 1 ms. */
  readonly bodyMs?: number;
  readonly responseBytes?: number;
  /** What the answer cost, if it told. */
  readonly usage?: Usage;
  /** How the pool stood when no key was left. */
  readonly standing?: Standing;
}
