import type { Health } from "../rules/cooldown.ts";
import type { EpochMs } from "../rules/time.ts";
import type { ReasonCode } from "../rules/verdict.ts";

/** Why a key is not available, or its last failure. */
export interface StatusReason {
  readonly code: ReasonCode;
  readonly httpStatus: number | null;
  /** What the provider said, secrets taken out; null if nothing. */
  readonly message: string | null;
  readonly at: EpochMs;
  /** The key whose limit it was, where this one rests for that of another key of its group. */
  readonly sharedFrom?: string;
}

/** The state of a key, or of a key for one model, to be kept over a restart. */
export interface HealthRecord {
  readonly poolId: string;
  readonly keyId: string;
  /** The value that the state was learnt with: a state of an older value must not be laid over a newer one. */
  readonly secretVersion: number;
  /** "" for the key as a whole. */
  readonly model: string;
  readonly health: Health;
  readonly reason: StatusReason | undefined;
}

/** A key that the provider refused. */
export interface DisabledRecord {
  readonly poolId: string;
  readonly keyId: string;
  readonly secretVersion: number;
  readonly reason: StatusReason;
}

/**
 * Where the pool writes down what must outlive the process.
 *
 * Each promise settles when the record is durable against the death of the process, or when the journal has given up
 * waiting for that (a bounded time) and has taken it upon itself to go on trying. It never rejects: a state that cannot
 * be written must not fail a request. Calls for one key take effect in the order in which they were made.
 */
export interface Journal {
  saveHealth(record: HealthRecord): Promise<void>;
  /** Sets the key to disabled unless its value was replaced meanwhile. */
  disableKey(record: DisabledRecord): Promise<void>;
}
