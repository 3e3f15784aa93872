import {
  defaultCooldownPolicy,
  fingerprint,
  type Health,
  healthy,
  type KeyEntry,
  type SessionRef,
  type StatePolicy,
} from "@keywheel/pool";

/**
 * A key that can serve: weight 1, enabled, resolved, first value. Its id is "A" unless given, so that picks can be joined
 * to a string and compared: `expect(picks).toBe("AAABBC")`.
 */
export function aKey(parts: Partial<KeyEntry> = {}): KeyEntry {
  return { id: "A", weight: 1, enabled: true, resolved: true, secretVersion: 1, ...parts };
}

/**
 * Keys named A, B, C … of the given weights.
 *
 * @example keysOf(3, 2, 1)
 */
export function keysOf(...weights: readonly number[]): KeyEntry[] {
  return weights.map((weight, position) => aKey({ id: letterOf(position), weight }));
}

/** The name of the n-th key in tests: A … Z, then K26, K27 … */
export function letterOf(position: number): string {
  return position < 26 ? String.fromCharCode(65 + position) : `K${position}`;
}

/** The health of a key that never failed, with changes. */
export function aHealth(parts: Partial<Health> = {}): Health {
  return { ...healthy, ...parts };
}

/** A session as the client's own `x-keywheel-session` header names it. */
export function aSession(value: string, carrier = "x-keywheel-session"): SessionRef {
  return { id: value, valueHash: `hash-of-${value}`, carrier, fingerprint: fingerprint(`${carrier}\0${value}`) };
}

/** The specification's own policy: 60 s doubling to 900 s, by key; sessions bound for a day of silence. */
export function aPolicy(parts: Partial<StatePolicy> = {}): StatePolicy {
  return {
    cooldown: defaultCooldownPolicy,
    cooldownScope: "key",
    affinity: { enabled: true, idleTtlMs: 86_400_000 },
    ...parts,
  };
}
