import { isCooling, type KeySnapshot, type StatusReason, type WaitSource } from "@keywheel/pool";
import type { KeyStatus } from "../contract/key.ts";
import type { KeyRecord } from "../store/store.ts";

/** Why a key cannot be resolved, since when it is known. */
export interface Unresolved {
  readonly code: "unresolved" | "undecryptable";
  readonly message: string;
  readonly since: number;
}

export interface ShownReason extends StatusReason {
  readonly wait: WaitSource | null;
}

export interface ShownStatus {
  readonly status: KeyStatus;
  /** Why it is not available, or its last failure until a success or a reset. */
  readonly reason: ShownReason | null;
  /** The end of a running cooldown, whatever the status. */
  readonly cooldownUntil: number | null;
}

/**
 * The one status that people see, from facts that are independent of each other.
 *
 * Disabled beats unresolved beats cooling: each is what a person would have to change first.
 *
 * @param snapshot what the pool knows of the key; undefined if it does not know it yet
 */
export function statusOf(
  record: KeyRecord,
  snapshot: KeySnapshot | undefined,
  unresolved: Unresolved | undefined,
  now: number,
): ShownStatus {
  const cooling = snapshot !== undefined && isCooling(snapshot.health, now);
  const cooldownUntil = cooling ? snapshot.health.coolUntil : null;
  if (!record.enabled) return { status: "disabled", reason: reasonOfDisabled(record), cooldownUntil };
  if (unresolved) {
    const { code, message, since: at } = unresolved;
    return { status: "unresolved", reason: { code, httpStatus: null, message, at, wait: null }, cooldownUntil };
  }
  const last = snapshot?.reason;
  const reason = last === undefined ? null : { ...last, wait: snapshot?.health.wait ?? null };
  return { status: cooling ? "cooling_down" : "available", reason, cooldownUntil };
}

function reasonOfDisabled({ disabledReason, updatedAt }: KeyRecord): ShownReason {
  const byOperator: StatusReason = { code: "disabled_by_operator", httpStatus: null, message: null, at: updatedAt };
  return { ...(disabledReason ?? byOperator), wait: null };
}
