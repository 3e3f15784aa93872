import type { CooldownPolicy, Failure, Health, HealthMark } from "../rules/cooldown.ts";
import type { Fingerprint } from "../rules/fingerprint.ts";
import type { DurationMs, EpochMs } from "../rules/time.ts";
import type { ReasonCode } from "../rules/verdict.ts";
import type { StatusReason } from "./journal.ts";

/** A key as the wheel needs it. */
export interface KeyEntry {
  readonly id: string;
  /** 1 to 100; 0 is held but never served. */
  readonly weight: number;
  readonly enabled: boolean;
  /** False while its environment variable is unset or its stored value cannot be read. */
  readonly resolved: boolean;
  /** Grows with each new value of the key. A change clears the key's health, and answers to the old value count for nothing. */
  readonly secretVersion: number;
  /** Keys of one pool with the same group share their limits: a limit that one of them meets rests them all. */
  readonly group?: string;
}

/** A session as a client named it. */
export interface SessionRef {
  /** What people see and may end it by: the value of `x-keywheel-session` itself, `ses_…` (hashed) for other carriers. */
  readonly id: string;
  /** A hash of the value that the client sent, so that it can be ended by that value too. */
  readonly valueHash: string;
  /** Which header or field carried it. */
  readonly carrier: string;
  readonly fingerprint: Fingerprint;
}

/** What a request wants of the pool. */
export interface Question {
  readonly session?: SessionRef;
  /**
   * The conversation itself, where no session was named, or by a name that may turn out to be that of many: `lookups` are
   * fingerprints of what came before, longest first, asked for only without a session; `binds` are those under which later
   * turns will look for this one.
   */
  readonly conversation?: { readonly lookups: readonly Fingerprint[]; readonly binds: readonly Fingerprint[] };
  /** The only key that can serve. */
  readonly pinnedTo?: string;
  /** Objects that the request names: the first that is known pins it to the key that made the object. */
  readonly objects?: readonly Fingerprint[];
  /** The first key in wheel order that can serve, taking no turn: for lists, which must always come from the same key. */
  readonly first?: boolean;
  /** The model or endpoint, for rests that are a model's own. */
  readonly model?: string;
  /** Keys that this request has tried. */
  readonly tried?: ReadonlySet<string>;
  /** False: choose without binding the session (a detour that is no fault of the bound key). */
  readonly bind?: boolean;
}

/** Why a key could not be chosen. */
export interface PassedOver {
  readonly keyId: string;
  readonly because: ReasonCode | "tried";
}

/** The key that a request belonged to and could not have, and why it had to leave it. */
export interface LeftKey {
  readonly keyId: string;
  /** What ended the binding: it may be over by now. */
  readonly because: PassedOver["because"] | "deleted";
}

/** What an attempt must hand back with its outcome, so that the blame falls on the right key, value and burst. */
export interface Ticket {
  readonly poolId: string;
  readonly keyId: string;
  readonly secretVersion: number;
  /** Grows when the key is cleared: what an attempt learns that was made before says nothing about the cleared key. */
  readonly generation: number;
  readonly mark: HealthMark;
  readonly model: string | undefined;
  readonly modelMark: HealthMark | undefined;
}

/** How a pool stands when no key can be chosen. */
export interface Standing {
  readonly total: number;
  readonly resting: number;
  readonly disabled: number;
  readonly unresolved: number;
  /** Keys that could serve but that this request has tried. */
  readonly tried: number;
}

/** The answer to a question: an expected outcome either way, never an exception. */
export type Choice =
  | {
      readonly kind: "key";
      readonly keyId: string;
      readonly why: "session" | "continuation" | "pin" | "turn";
      /** At most eight, in wheel order; a bound key that could not serve comes first. */
      readonly passedOver: readonly PassedOver[];
      /** The key that the session left for this one. */
      readonly movedFrom: string | undefined;
      /**
       * The key whose session or conversation this was: also where the binding had ended with the key's cooldown, refusal or
       * deletion. As far as this process remembers.
       */
      readonly left: LeftKey | undefined;
      readonly ticket: Ticket;
    }
  | {
      readonly kind: "exhausted";
      readonly standing: Standing;
      /** When the first key that could serve this request is back, epoch ms. */
      readonly until: EpochMs;
      /** True when every resting key rests because the provider was overloaded. */
      readonly overload: boolean;
      /**
       * True when a key has just come back and another request is finding out whether it serves: asking again shortly
       * will tell. Without it a whole crowd would rush a key that may still be limited.
       */
      readonly isBeingTried: boolean;
    }
  | { readonly kind: "none-usable"; readonly standing: Standing };

/** A key's state after a change. */
export interface KeyState {
  readonly health: Health;
  readonly reason: StatusReason | undefined;
  /** False if the change counted for nothing (key deleted, value replaced). */
  readonly applied: boolean;
  /** After a failure: other keys of the group that rest with it. */
  readonly others?: readonly SharedRest[];
}

/** A key that rests because another one of its group has met a limit. */
export interface SharedRest {
  readonly keyId: string;
  readonly secretVersion: number;
  readonly health: Health;
  readonly reason: StatusReason | undefined;
}

/** Everything about a key that changes while it serves. */
export interface KeySnapshot {
  readonly keyId: string;
  readonly health: Health;
  readonly reason: StatusReason | undefined;
  readonly boundSessions: number;
  readonly models: readonly {
    readonly model: string;
    readonly health: Health;
    readonly reason: StatusReason | undefined;
  }[];
}

/** A session that was used since the last drain. */
export interface TouchedSession {
  readonly poolId: string;
  readonly session: SessionRef;
  readonly keyId: string;
  /** When it was bound, if that was since the last drain; undefined if the binding is older. */
  readonly boundAt: EpochMs | undefined;
  readonly lastUsedAt: EpochMs;
  /** Requests since the last drain. */
  readonly requests: number;
}

/** A stored binding, taken up again at start. */
export interface RestoredBinding {
  readonly poolId: string;
  readonly fingerprint: Fingerprint;
  readonly keyId: string;
  readonly lastUsedAt: EpochMs;
}

/** What sends a request to a key without naming a session. */
export interface Pin {
  readonly poolId: string;
  /** An object that the provider keeps for the key that made it; or a conversation as far as the key has served it. */
  readonly kind: "object" | "conversation";
  readonly fingerprint: Fingerprint;
  readonly keyId: string;
  readonly at: EpochMs;
}

/** Sessions keep their key for a day after their last request. @see contract §3 */
export const defaultAffinity: StatePolicy["affinity"] = { enabled: true, idleTtlMs: 86_400_000 };

/** The pool's rules as the state needs them. */
export interface StatePolicy {
  readonly cooldown: CooldownPolicy;
  readonly cooldownScope: "key" | "model";
  readonly affinity: { readonly enabled: boolean; readonly idleTtlMs: DurationMs };
}

/**
 * The state that requests share: wheel, healths, bindings.
 *
 * Each method is one atomic decision; nothing is read here to be written there. An implementation in memory applies it
 * before the call returns (so that no request slips in between a status line and its consequence); one behind a network
 * does it in one script. Times come from the implementation's clock.
 *
 * If the backend is away, an implementation answers from its last view instead of rejecting.
 */
export interface PoolState {
  /** Takes up a pool, or its new shape. Places, healths and bindings of keys that stay are kept; twice is once. */
  configure(poolId: string, keys: readonly KeyEntry[], policy: StatePolicy): Promise<void>;
  /** Forgets a pool. */
  remove(poolId: string): Promise<void>;

  /** @returns no promise where it is decided at once */
  choose(poolId: string, question: Question): Choice | Promise<Choice>;
  /** Keeps a key from being chosen while a refusal of it is being read, `forMs` at most. Ended by any outcome. */
  hold(ticket: Ticket, forMs: DurationMs): void;
  /** Ends a hold that turned out to be none of the key's business; and the trial of a key that came back. */
  release(ticket: Ticket): void;
  succeed(ticket: Ticket): KeyState | Promise<KeyState>;
  fail(ticket: Ticket, failure: Failure, reason: Omit<StatusReason, "at">, scope: "key" | "model"): Promise<KeyState>;
  /** Takes the key out, whatever `configure` says of it; it comes back by `reset` or with a new value. */
  disable(ticket: Ticket, reason: Omit<StatusReason, "at">): Promise<KeyState>;
  /** Clears cooldown, count and refusal, those of its models included. */
  reset(poolId: string, keyId: string): Promise<KeyState | undefined>;

  /** Ends the binding of a session. @returns whether there was one */
  endSession(poolId: string, session: Fingerprint): Promise<boolean>;
  /** Lets go of bindings that idled out, which end by themselves; for memory's sake, once a minute or so. */
  sweepIdle(): Promise<number>;
  /** Remembers that these objects were made under the key; they outlive its cooldowns, not its deletion. */
  pin(poolId: string, keyId: string, objects: readonly Fingerprint[]): void;
  /** Whether any object may be remembered at all: without one a request need not be searched for names. */
  readonly hasPins: boolean;
  /** The next `count` turns of the wheel as key ids, taking none. */
  preview(poolId: string, count: number): Promise<readonly string[]>;
  snapshot(poolId: string): Promise<readonly KeySnapshot[]>;

  /** Takes up stored state; before the first request. */
  restoreHealth(poolId: string, keyId: string, model: string, health: Health, reason: StatusReason | undefined): void;
  restoreBindings(bindings: readonly RestoredBinding[]): void;
  restorePins(pins: readonly Pin[]): void;
}

/** A state whose bindings are written down somewhere as they come. */
export interface SharedState extends PoolState {
  /**
   * Sessions used since the last call whose bindings still hold, to be written down. At most `limit`; call again while it
   * answers that many.
   */
  drainTouchedSessions(limit: number): readonly TouchedSession[];
  /** Pins made since the last call, conversations among them, at most `limit`. */
  drainPins(limit: number): readonly Pin[];
}
