import { createHash } from "node:crypto";
import type { Fingerprint, KeyEntry, ViewedState, StatePolicy } from "@keywheel/pool";
import { type Answer, listOf, type Push, readBindingName, readCell } from "./wire.ts";

/** One pool at the server, and how far it is known here. */
export interface SharedPool {
  readonly id: string;
  keys: readonly KeyEntry[];
  policy: StatePolicy;
  signature: string;
  /** Which pool of the server's this is: it is another one after the server was emptied. */
  born: string | undefined;
  /** The version up to which everything is known here. */
  seen: number;
  isInStep: boolean;
  /** When it was last kept from being forgotten, monotonic ms. */
  keptAt: number;
  /** Something was decided here that the server does not know. */
  hasNews: boolean;
  readonly ended: Map<string, Fingerprint>;
  /** Bindings that an answer told of, by its version: what is pushed later but happened before does not undo them. */
  readonly told: Map<string, number>;
  /** With which version each key's cell was taken up: answers and pushes come over two ways, and overtake each other. */
  readonly taken: Map<string, number>;
}

/** A pool that was never in step. */
export function newSharedPool(id: string, keys: readonly KeyEntry[], policy: StatePolicy): SharedPool {
  const parts = { born: undefined, seen: 0, isInStep: false, keptAt: Number.NEGATIVE_INFINITY, hasNews: false };
  return {
    id,
    keys,
    policy,
    signature: signatureOf(keys, policy),
    ...parts,
    ended: new Map(),
    told: new Map(),
    taken: new Map(),
  };
}

/** Takes up what an answer tells. `names` are the bindings that it decided. */
export function takeAnswer(
  pool: SharedPool,
  memory: ViewedState,
  { answer, names }: { readonly answer: Answer; readonly names: readonly string[] },
): void {
  if (answer.all !== undefined) {
    adopt(pool, memory, answer.all);
    pool.seen = Math.max(pool.seen, answer.v);
  }
  if (answer.c !== undefined) adopt(pool, memory, answer.c);
  if (answer.v > pool.seen) for (const name of names) pool.told.set(name, answer.v);
  // Otherwise a push is still on its way, with what lies between.
  if (answer.f === pool.seen) pool.seen = answer.v;
}

/** Takes up what another did. @returns whether something before it was missed */
export function takePush(
  pool: SharedPool,
  memory: ViewedState,
  { push, isOwn }: { readonly push: Push; readonly isOwn: boolean },
): boolean {
  if (push.v > pool.seen) adopt(pool, memory, push.c);
  // What was bound here was taken up with the answer, in its order.
  if (!isOwn) bind(pool, memory, push);
  for (const [name, version] of pool.told) if (version <= push.v) pool.told.delete(name);
  if (!pool.isInStep) return false;
  if (push.f > pool.seen) return true;
  pool.seen = Math.max(pool.seen, push.v);
  return false;
}

function adopt({ id, taken }: SharedPool, { view }: ViewedState, cells: Push["c"]): void {
  for (const [keyId, cell] of Object.entries(cells)) {
    const version = cell.v ?? 0;
    if (version < (taken.get(keyId) ?? 0)) continue;
    taken.set(keyId, version);
    view.adopt(id, keyId, readCell(cell));
  }
}

function bind(pool: SharedPool, memory: ViewedState, { b: bindings, v }: Push): void {
  const { id: poolId } = pool;
  for (const [name, keyId, at] of listOf<readonly [string, string | false, number]>(bindings)) {
    if ((pool.told.get(name) ?? 0) > v) continue;
    const { kind, fingerprint } = readBindingName(name);
    if (keyId === false) void memory.endSession(poolId, fingerprint);
    else if (kind === "s") memory.restoreBindings([{ poolId, fingerprint, keyId, lastUsedAt: at }]);
    else memory.restorePins([{ poolId, kind: kind === "o" ? "object" : "conversation", fingerprint, keyId, at }]);
  }
}

/** What the script takes. */
export function wireConfiguration({ keys, policy }: SharedPool): object {
  const groups = groupsOf(keys);
  return {
    ...(groups.length === 0 ? {} : { groups }),
    keys: keys.map((key) => [key.id, entryOf(key)]),
    policy: {
      base: policy.cooldown.baseMs,
      cap: policy.cooldown.capMs,
      affinity: policy.affinity.enabled,
      ttl: policy.affinity.idleTtlMs,
    },
  };
}

/** Alike for pools of the same shape, wherever they are configured. */
export function signatureOf(keys: readonly KeyEntry[], policy: StatePolicy): string {
  const rows = keys.map((key) => `${key.id} ${entryOf(key)}`);
  const { cooldown, affinity } = policy;
  const rules = [cooldown.baseMs, cooldown.capMs, affinity.enabled, affinity.idleTtlMs].join(" ");
  const groups = groupsOf(keys).map((ids) => `group ${ids.join(" ")}`);
  return createHash("sha256")
    .update([rules, ...rows, ...groups].join("\n"))
    .digest("base64url")
    .slice(0, 22);
}

/** Ids of keys that share their limits, group by group; a key by itself is in none. */
function groupsOf(keys: readonly KeyEntry[]): readonly (readonly string[])[] {
  const groups = Map.groupBy(
    keys.filter(({ group }) => group !== undefined),
    ({ group }) => group,
  );
  return [...groups.values()].filter(({ length }) => length > 1).map((members) => members.map(({ id }) => id));
}

/** As the script keeps it. */
function entryOf({ weight, enabled, resolved, secretVersion }: KeyEntry): string {
  return `${weight} ${enabled ? 1 : 0} ${resolved ? 1 : 0} ${secretVersion}`;
}
