import type { WaitSource } from "../rules/cooldown.ts";
import type { EpochMs } from "../rules/time.ts";
import type { ReasonCode } from "../rules/verdict.ts";
import type { Choice, LeftKey } from "./shared-state.ts";

/** What happened in a pool. Events carry ids and times, never a secret. */
export type PoolEvent =
  | {
      readonly type: "key-cooled";
      readonly poolId: string;
      readonly keyId: string;
      /** Set when the cooldown is that of one model only. */
      readonly model?: string;
      readonly reason: ReasonCode;
      readonly httpStatus: number;
      readonly failures: number;
      readonly until: EpochMs;
      readonly wait: WaitSource;
      /** The key whose limit it was, where this one rests for that of another key of its group. */
      readonly sharedFrom?: string;
      readonly at: EpochMs;
    }
  | {
      readonly type: "key-disabled";
      readonly poolId: string;
      readonly keyId: string;
      readonly reason: ReasonCode;
      readonly httpStatus: number;
      readonly message: string | undefined;
      readonly at: EpochMs;
    }
  | { readonly type: "key-recovered"; readonly poolId: string; readonly keyId: string; readonly at: EpochMs }
  | {
      readonly type: "binding-moved";
      readonly poolId: string;
      readonly sessionId: string;
      readonly from: string | undefined;
      readonly to: string;
      readonly at: EpochMs;
    }
  | {
      readonly type: "pool-exhausted";
      readonly poolId: string;
      readonly choice: Exclude<Choice, { kind: "key" }>;
      readonly at: EpochMs;
    }
  | {
      readonly type: "attempt-ended";
      readonly poolId: string;
      readonly requestId: string;
      readonly attempt: AttemptRecord;
    }
  /** The provider has said whose key it is; told now and then, also if nothing has changed. */
  | {
      readonly type: "organization-seen";
      readonly poolId: string;
      readonly keyId: string;
      readonly organization: string;
      /** Of that organization; left out where none was said. */
      readonly project?: string;
      readonly at: EpochMs;
    }
  | {
      readonly type: "notice";
      readonly poolId: string;
      readonly code: string;
      readonly message: string | undefined;
      readonly at: EpochMs;
    };

/** What became of one attempt. */
export interface AttemptRecord {
  readonly keyId: string;
  readonly why: "session" | "continuation" | "pin" | "turn";
  readonly passedOver: readonly { readonly keyId: string; readonly because: string }[];
  /** The key that the request belonged to before, if it had to leave it. */
  readonly left?: LeftKey;
  readonly startedAt: EpochMs;
  readonly durationMs: number;
  /** The provider's status; undefined when there was no answer. */
  readonly status: number | undefined;
  /** `Verdict.code`, or "client_gone". */
  readonly outcome: string;
  /** What the provider said, or what broke; at most 500 characters, every secret taken out. */
  readonly message?: string;
}

/** Who is told. Called synchronously on the request path: it must not throw and must return quickly. */
export type EventSink = (event: PoolEvent) => void;
