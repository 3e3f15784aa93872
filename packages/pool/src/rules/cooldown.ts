import type { DurationMs, EpochMs } from "./time.ts";

/** How long failures rest a key. Both bounds are 100 ms to 24 h; `capMs` is at least `baseMs`. */
export interface CooldownPolicy {
  readonly baseMs: DurationMs;
  readonly capMs: DurationMs;
}

/** 60 s doubling to 15 minutes. @see spec "Cooldown mechanism" */
export const defaultCooldownPolicy: CooldownPolicy = { baseMs: 60_000, capMs: 900_000 };

/**
 * Where the length of a cooldown comes from: our ladder, the provider's own word, an exhausted quota, one length for all
 * such failures, as for a key that lacks a model, or the rest of another key of the same group.
 */
export type WaitSource = "ladder" | "stated" | "quota" | "fixed" | "shared";

/** What happened to a key, as far as resting it goes. */
export interface Failure {
  /** `at-cap`: the quota is spent, the key rests for the whole cap at once. */
  readonly rest: "ladder" | "at-cap";
  /** The wait that the provider named, ms from now; absent when it named none that makes sense. */
  readonly hintMs?: DurationMs;
  /** A rest of a given length that is on no ladder (a key that lacks a model). It may pass the cap. */
  readonly fixedMs?: DurationMs;
}

/** The part of a key's state that failures and successes move. */
export interface Health {
  /** Consecutive failures; it outlives the cooldown, and only a success, a reset or a new key value clears it. */
  readonly failures: number;
  /** How often a cooldown began. An attempt remembers it, to tell an old burst from a new failure. */
  readonly cooldowns: number;
  /** How many failures were seen, those of an old burst included. A success counts only if none came since it set out. */
  readonly failuresSeen: number;
  /** When the current or last cooldown began; 0 if there was none. */
  readonly cooledAt: EpochMs;
  /** When it ends or ended; 0 if there was none. */
  readonly coolUntil: EpochMs;
  readonly wait: WaitSource;
}

export const healthy: Health = {
  failures: 0,
  cooldowns: 0,
  failuresSeen: 0,
  cooledAt: 0,
  coolUntil: 0,
  wait: "ladder",
};

/** What an attempt knew of a key's health when it chose the key. */
export interface HealthMark {
  readonly cooldowns: number;
  readonly failuresSeen: number;
}

/**
 * The rest after the n-th consecutive failure: `min(base × 2^(n-1), cap)`.
 *
 * @param failures consecutive failures including this one; an integer from 1 up
 * @returns milliseconds, never more than `policy.capMs`
 * @throws RangeError if `failures` is below 1 or no integer
 * @see spec "Cooldown mechanism", contract §4 rule 2
 */
export function ladderMs(failures: number, policy: CooldownPolicy): DurationMs {
  if (!Number.isInteger(failures) || failures < 1) {
    throw new RangeError(`Expected \`failures\` to be an integer from 1 up, got ${failures}`);
  }
  // 2^1023 is the largest power a double holds; beyond it Infinity still loses against the cap.
  return Math.min(policy.baseMs * 2 ** (failures - 1), policy.capMs);
}

/**
 * The health of a key after a failure.
 *
 * A failure of an attempt that chose the key before its current cooldown began belongs to the burst that began it: it
 * adds no step to the ladder, though a longer stated wait still extends the deadline. A deadline never moves back.
 *
 * @param mark what the attempt knew when it chose the key
 * @param now  when the failure was seen
 * @see contract §4 rules 2 and 3
 */
export function afterFailure(
  health: Health,
  failure: Failure,
  mark: HealthMark,
  policy: CooldownPolicy,
  now: EpochMs,
): Health {
  const sameBurst = mark.cooldowns !== health.cooldowns;
  const failures = sameBurst ? health.failures : health.failures + 1;
  const { restMs, wait } = restAfter(failures, failure, policy, sameBurst);
  const until = now + restMs;
  const extends_ = until > health.coolUntil;
  return {
    failures,
    cooldowns: sameBurst ? health.cooldowns : health.cooldowns + 1,
    failuresSeen: health.failuresSeen + 1,
    cooledAt: sameBurst ? health.cooledAt : now,
    coolUntil: extends_ ? until : health.coolUntil,
    wait: extends_ ? wait : health.wait,
  };
}

/**
 * The health of a key after a success: the count goes to zero if no failure came since the attempt chose the key.
 *
 * A running cooldown is left alone: a late success says nothing about the limit that began it.
 *
 * @see spec "A successful request resets the consecutive-failure counter", contract §4 rule 3
 */
export function afterSuccess(health: Health, mark: HealthMark): Health {
  if (health.failures === 0 || mark.failuresSeen !== health.failuresSeen) return health;
  return { ...health, failures: 0 };
}

/**
 * The health of a key whose cooldown and count a person cleared, or whose value was replaced.
 *
 * The marks move on, so that answers still under way cannot count for the cleared key.
 */
export function afterReset(health: Health): Health {
  return { ...healthy, cooldowns: health.cooldowns + 1, failuresSeen: health.failuresSeen + 1 };
}

/**
 * One health out of what is known here and what is told by those who share the key: no failure is forgotten, no deadline
 * moves back. With as many failures seen on both sides the word of the others counts.
 */
export function joinHealths(own: Health, told: Health): Health {
  const later = told.coolUntil > own.coolUntil ? told : own;
  return {
    failures: own.failuresSeen > told.failuresSeen ? own.failures : told.failures,
    cooldowns: Math.max(own.cooldowns, told.cooldowns),
    failuresSeen: Math.max(own.failuresSeen, told.failuresSeen),
    cooledAt: later.cooledAt,
    coolUntil: later.coolUntil,
    wait: later.wait,
  };
}

/** Limits that an owner's keys share; an overload is the provider's own. @see reference "Who owns a limit" */
const sharedLimits: ReadonlySet<string> = new Set(["rate_limited", "quota_exhausted"]);

/** Whether what rested a key rests the other keys of its group as well. @param reason a `ReasonCode` */
export function isSharedLimit(reason: string): boolean {
  return sharedLimits.has(reason);
}

/**
 * The health of a key that rests because another key of its group has met a limit that they share.
 *
 * It has not failed itself: its count stays. Answers to requests that were sent before count to the same burst, so that they
 * are no step of its ladder either. A deadline never moves back.
 *
 * @param until the end of the other key's rest
 * @returns the same object if it rests as long already
 */
export function restAlong(health: Health, until: EpochMs, now: EpochMs): Health {
  if (until <= health.coolUntil || until <= now) return health;
  if (isCooling(health, now)) return { ...health, coolUntil: until, wait: "shared" };
  return { ...health, cooldowns: health.cooldowns + 1, cooledAt: now, coolUntil: until, wait: "shared" };
}

export function isCooling(health: Health, now: EpochMs): boolean {
  return now < health.coolUntil;
}

/**
 * The health as it holds at `now` when the clock may have been set.
 *
 * A clock set back behind the beginning of a cooldown would pin the key for the size of the step; the cooldown is begun
 * anew instead, so that no key stays out longer than its own rest. A clock set forward ends it early, which only makes
 * the next request the probe.
 */
export function rebaseOnClock(health: Health, now: EpochMs): Health {
  if (health.cooledAt <= now) return health;
  return { ...health, cooledAt: now, coolUntil: now + (health.coolUntil - health.cooledAt) };
}

/** The health as it is taken up after a restart: no deadline lies further ahead than the longest rest there is. */
export function restoreHealth(health: Health, longestMs: DurationMs, now: EpochMs): Health {
  const rebased = rebaseOnClock(health, now);
  return { ...rebased, coolUntil: Math.min(rebased.coolUntil, now + longestMs) };
}

function restAfter(
  failures: number,
  failure: Failure,
  policy: CooldownPolicy,
  sameBurst: boolean,
): { restMs: DurationMs; wait: WaitSource } {
  if (failure.fixedMs !== undefined) return { restMs: failure.fixedMs, wait: "fixed" };
  if (failure.rest === "at-cap") return { restMs: policy.capMs, wait: "quota" };
  // An answer that belongs to an old burst has no step of its own: only what it states can matter.
  const stepMs = sameBurst ? 0 : ladderMs(failures, policy);
  const statedMs = Math.min(failure.hintMs ?? 0, policy.capMs);
  return statedMs > stepMs ? { restMs: statedMs, wait: "stated" } : { restMs: stepMs, wait: "ladder" };
}
