import type { Health } from "../rules/cooldown.ts";
import type { EpochMs } from "../rules/time.ts";
import type { StatusReason } from "../ports/journal.ts";

/** A key in a snapshot. It holds no secret: `masked` tells whether it is still the same value. */
export interface KeyRecord {
  readonly id: string;
  readonly masked: string;
  readonly health: Health;
  readonly reason?: StatusReason;
  /** Why the provider refused it; it stays out until `reset` or a new value. */
  readonly refused?: StatusReason;
  readonly models: readonly { readonly model: string; readonly health: Health; readonly reason?: StatusReason }[];
}

/**
 * Where a pool stands: cooldowns, failure counts, refused keys, sessions. Plain data that survives `JSON.stringify`; it holds
 * no key.
 */
export interface PoolSnapshot {
  readonly version: 1;
  readonly takenAt: EpochMs;
  readonly keys: readonly KeyRecord[];
  /** Hash of the session, in two words, the id of its key, and when it was used last. */
  readonly sessions: readonly (readonly [high: number, low: number, keyId: string, usedAt: EpochMs])[];
  /** The same of conversations that nobody named, and of objects that are stored under a key. */
  readonly pins: readonly (readonly [
    kind: "object" | "conversation",
    high: number,
    low: number,
    keyId: string,
    at: EpochMs,
  ])[];
}

/**
 * Keeps snapshots somewhere: a file, a row, a key-value store, `localStorage`.
 *
 * `save` is called when a key begins to rest, is refused or recovers, before the consequence is seen, and when the pool is
 * closed; never twice at a time. Its answer is waited for 2 s at the most. If it rejects, requests go on, a `notice` with the
 * code `store_failed` is told, and the next change is saved with all that was missed.
 *
 * @example
 * ```ts
 * import { readFile, rename, writeFile } from "node:fs/promises";
 * import { createPool, type PoolStore, providers } from "@keywheel/pool";
 *
 * const store: PoolStore = {
 *   load: async () => JSON.parse(await readFile("pool.json", "utf8").catch(() => "null")),
 *   async save(snapshot) {
 *     await writeFile("pool.json.next", JSON.stringify(snapshot));
 *     await rename("pool.json.next", "pool.json");
 *   },
 * };
 * await using pool = createPool({ provider: providers.openai, keys: ["$OPENAI_KEY_1", "$OPENAI_KEY_2"], store });
 * ```
 */
export interface PoolStore {
  /** The snapshot that was saved last; undefined or null if there is none. Asked once, before the first request. */
  load(): Promise<PoolSnapshot | undefined | null> | PoolSnapshot | undefined | null;
  save(snapshot: PoolSnapshot): Promise<void> | void;
}

/** Whether a value that was stored is a snapshot that is understood here. */
export function isSnapshot(value: unknown): value is PoolSnapshot {
  if (typeof value !== "object" || value === null) return false;
  const { version, keys, sessions, pins } = value as Partial<Record<keyof PoolSnapshot, unknown>>;
  return version === 1 && [keys, sessions, pins].every(Array.isArray);
}
