import type { KeyRecord, KeySecret, ProviderRecord, StoredState } from "../store/store.ts";
import type { CatalogCore } from "./core.ts";
import type { ProviderEntry } from "./provider-entry.ts";

/**
 * Makes providers and keys in memory what is stored, after another gateway has changed that. What is the same stays as it
 * is: places on the wheel, cooldowns, sessions.
 *
 * @param isRefusedSince keys that this process has disabled since the stored state was read: that stays
 */
export async function followStored(
  core: CatalogCore,
  stored: StoredState,
  isRefusedSince: (keyId: string) => boolean,
): Promise<void> {
  const at = core.now();
  const keysOf = Map.groupBy(stored.keys, ({ providerId }) => providerId);
  const ids = new Set(stored.providers.map(({ id }) => id));
  for (const entry of core.entries()) {
    if (ids.has(entry.record.id)) continue;
    core.drop(entry);
    await entry.pool.remove();
    core.tell({ type: "provider-deleted", providerId: entry.record.id, at });
  }
  const before = new Map(stored.providers.map(({ id }) => [id, core.find(id)]));
  const changed = stored.providers.filter((record) => {
    const entry = before.get(record.id);
    return entry !== undefined && !isSameProvider(entry.record, record);
  });
  // All at once: slugs may have been exchanged.
  core.renameAll(changed);
  const changedIds = new Set(changed.map(({ id }) => id));
  for (const record of stored.providers) {
    const entry = before.get(record.id) ?? core.take(record);
    const isChanged = changedIds.has(record.id);
    if (!before.get(record.id)) core.tell({ type: "provider-created", providerId: record.id, at });
    await followKeys(core, { entry, records: keysOf.get(record.id) ?? [], isChanged, isRefusedSince });
    if (isChanged) core.tell({ type: "provider-changed", providerId: record.id, at });
  }
}

interface KeysCall {
  readonly entry: ProviderEntry;
  /** In wheel order, those of one order by their creation. */
  readonly records: readonly KeyRecord[];
  /** Whether the provider itself has changed: its pool is to be told as well. */
  readonly isChanged: boolean;
  readonly isRefusedSince: (keyId: string) => boolean;
}

async function followKeys(core: CatalogCore, { entry, records, isChanged, isRefusedSince }: KeysCall): Promise<void> {
  const stored = new Set(records.map(({ id }) => id));
  const removed = entry.cells().flatMap(({ record }) => (stored.has(record.id) ? [] : [record.id]));
  for (const id of removed) {
    entry.remove(id);
    core.own(id, undefined);
  }
  const [added, changed, revived]: [string[], string[], string[]] = [[], [], []];
  for (const record of records) {
    const held = entry.cell(record.id)?.record;
    if (held === undefined) {
      entry.add(record);
      core.own(record.id, entry);
      added.push(record.id);
      continue;
    }
    const patch = changesOf(held, record, isRefusedSince(record.id));
    if (Object.keys(patch).length === 0) continue;
    entry.change(record.id, patch);
    changed.push(record.id);
    if (!held.enabled && patch.enabled === true) revived.push(record.id);
  }
  const isNew = added.length + removed.length + changed.length > 0;
  if (isNew) core.deps.environment.check();
  // Begun together: no request may find a key that is on again and still refused.
  if (isNew || isChanged || !entry.isConfigured) {
    await Promise.all([core.configure(entry), ...revived.map((id) => entry.pool.reset(id))]);
  }
  const at = core.now();
  const providerId = entry.record.id;
  if (removed.length > 0) core.tell({ type: "key-deleted", providerId, keyIds: removed, at });
  if (added.length > 0) core.tell({ type: "key-created", providerId, keyIds: added, at });
  if (changed.length > 0) core.tell({ type: "key-changed", providerId, keyIds: changed, at });
}

/** What makes a record in memory the stored one. */
function changesOf(held: KeyRecord, stored: KeyRecord, wasRefused: boolean): Partial<KeyRecord> {
  const isNewValue = held.secretVersion !== stored.secretVersion || !isSameSecret(held.secret, stored.secret);
  const { label, weight, order, group, enabled, disabledReason, updatedAt, secret, secretVersion } = stored;
  // A refusal of the very value that is stored is on its way to the database.
  const own = wasRefused && !isNewValue ? {} : { enabled, disabledReason, updatedAt };
  const patch: Partial<KeyRecord> = {
    label,
    weight,
    order,
    group,
    ...own,
    ...(isNewValue ? { secret, secretVersion } : {}),
  };
  const differs = Object.entries(patch).some(
    ([name, value]) => JSON.stringify(held[name as keyof KeyRecord]) !== JSON.stringify(value),
  );
  return differs || isNewValue ? patch : {};
}

function isSameProvider(one: ProviderRecord, other: ProviderRecord): boolean {
  const { apiKey: oneKey, ...oneRest } = one;
  const { apiKey: otherKey, ...otherRest } = other;
  return isSameSecret(oneKey, otherKey) && sorted(oneRest) === sorted(otherRest);
}

function isSameSecret(one: KeySecret | null, other: KeySecret | null): boolean {
  if (one?.kind === "literal" && other?.kind === "literal") return one.value.reveal() === other.value.reveal();
  return sorted(one ?? {}) === sorted(other ?? {});
}

/** Two records may name the same fields in another order. */
function sorted(record: object): string {
  return JSON.stringify(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)));
}
