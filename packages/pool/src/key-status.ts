import type { StatusReason } from "./ports/journal.ts";
import type { KeySnapshot } from "./ports/shared-state.ts";
import { isCooling, type WaitSource } from "./rules/cooldown.ts";
import type { EpochMs } from "./rules/time.ts";

/** What people see of a key. */
export type KeyStatus = "available" | "cooling_down" | "disabled" | "unresolved";

/** A key's switch. */
export interface KeySwitch {
  readonly enabled: boolean;
  /** Why the provider's refusal disabled it; null if it is enabled or a person disabled it. */
  readonly disabledReason: StatusReason | null;
  /** When it was turned, at the latest. */
  readonly updatedAt: EpochMs;
}

/** Why a key cannot be resolved, since when it is known. */
export interface Unresolved {
  readonly code: "unresolved" | "undecryptable";
  readonly message: string;
  readonly since: EpochMs;
}

export interface ShownReason extends StatusReason {
  readonly wait: WaitSource | null;
}

export interface ShownStatus {
  readonly status: KeyStatus;
  /** Why it is not available, or its last failure until a success or a reset. */
  readonly reason: ShownReason | null;
  /** The end of a running cooldown, whatever the status. */
  readonly cooldownUntil: EpochMs | null;
}

/**
 * The one status that people see, from facts that are independent of each other.
 *
 * Disabled beats unresolved beats cooling: each is what a person would have to change first.
 *
 * @param snapshot what the pool knows of the key; undefined if it does not know it yet
 */
export function statusOf(
  key: KeySwitch,
  snapshot: KeySnapshot | undefined,
  unresolved: Unresolved | undefined,
  now: EpochMs,
): ShownStatus {
  const cooling = snapshot !== undefined && isCooling(snapshot.health, now);
  const cooldownUntil = cooling ? snapshot.health.coolUntil : null;
  if (!key.enabled) return { status: "disabled", reason: reasonOfDisabled(key), cooldownUntil };
  if (unresolved) {
    const { code, message, since: at } = unresolved;
    return { status: "unresolved", reason: { code, httpStatus: null, message, at, wait: null }, cooldownUntil };
  }
  // Of a limit that was another key's there is nothing to tell once the rest is over.
  const last = snapshot?.reason?.sharedFrom !== undefined && !cooling ? undefined : snapshot?.reason;
  const reason = last === undefined ? null : { ...last, wait: snapshot?.health.wait ?? null };
  return { status: cooling ? "cooling_down" : "available", reason, cooldownUntil };
}

function reasonOfDisabled({ disabledReason, updatedAt }: KeySwitch): ShownReason {
  const byOperator: StatusReason = { code: "disabled_by_operator", httpStatus: null, message: null, at: updatedAt };
  return { ...(disabledReason ?? byOperator), wait: null };
}
