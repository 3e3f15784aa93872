import type { Insertable, Kysely, Selectable, Transaction, Updateable } from "kysely";
import { type FieldError, KeywheelError } from "@keywheel/pool";
import { chunksOf } from "./chunks.ts";
import { fromReasonValues, toReasonValues } from "./reason-columns.ts";
import { inLockOrder, parametersOf, runMany } from "./run-many.ts";
import type { Database, KeyTable } from "./schema.ts";
import { type SealedSecrets, unreadableValue } from "./sealed-secrets.ts";
import type { KeyPatch, KeyRecord, KeySecret } from "./store.ts";

export interface IdentifiedPatch {
  readonly id: string;
  readonly patch: KeyPatch;
}

/** Keys sealed between two turns of the event loop: a few milliseconds of work. */
const sealedAtOnce = 250;

/**
 * Beyond so many values all of the provider are read instead. A database that has not counted its rows yet, as after an import,
 * compares each row with each value: a minute for forty thousand of both in PostgreSQL, and a second for the rows alone.
 */
const mostAskedFor = 500;

/** In wheel order. */
export async function readKeys(db: Kysely<Database>, secrets: SealedSecrets): Promise<readonly KeyRecord[]> {
  const rows = await db.selectFrom("keys").selectAll().orderBy("order").orderBy("seq").execute();
  return rows.map((row) => toRecord(row, secrets));
}

/** @throws KeywheelError conflict */
export async function insertKeys(
  trx: Transaction<Database>,
  secrets: SealedSecrets,
  keys: readonly KeyRecord[],
): Promise<void> {
  await refuseHeld(trx, secrets, keys);
  for (const chunk of chunksOf(keys, sealedAtOnce)) {
    const rows = chunk.map((key) => toRow(key, secrets));
    const [first] = rows;
    if (first === undefined) continue;
    const query = trx.insertInto("keys").values(first).compile();
    await runMany(trx, query, parametersOf(rows));
  }
}

/** @throws KeywheelError not_found, conflict */
export async function updateKeys(
  trx: Transaction<Database>,
  secrets: SealedSecrets,
  patches: readonly IdentifiedPatch[],
): Promise<void> {
  for (const chunk of chunksOf(inLockOrder(patches, ["id"]), sealedAtOnce)) {
    for (const [first, ...others] of byShape(chunk.map(({ id, patch }) => ({ id, set: toSet(id, patch, secrets) })))) {
      const query = trx.updateTable("keys").set(first.set).where("id", "=", first.id).compile();
      const rows = [first, ...others].map(({ id, set }) => [...Object.values(set), id]);
      const changed = await runMany(trx, query, rows);
      if (changed < rows.length) throw new KeywheelError("not_found", "One of these keys is gone");
    }
  }
  const replaced = patches.filter(({ patch }) => patch.secret !== undefined).map(({ id }) => id);
  await clearHealth(trx, replaced);
}

export async function deleteKeys(trx: Transaction<Database>, ids: readonly string[]): Promise<void> {
  const query = trx.deleteFrom("keys").where("id", "=", "").compile();
  await runMany(trx, query, ids.toSorted().map(asRow));
}

export async function clearHealth(trx: Transaction<Database>, keyIds: readonly string[]): Promise<void> {
  const query = trx.deleteFrom("key_healths").where("key_id", "=", "").compile();
  await runMany(trx, query, keyIds.toSorted().map(asRow));
}

/**
 * Seals every value with another master key. @returns how many
 *
 * @throws KeywheelError store_unavailable for a value that cannot be opened
 */
export async function resealKeys(trx: Transaction<Database>, from: SealedSecrets, to: SealedSecrets): Promise<number> {
  const sealed = (await readKeys(trx, from)).filter(({ secret }) => secret.kind !== "reference");
  const unreadable = sealed.find(({ secret }) => secret.kind === "undecryptable");
  if (unreadable !== undefined) throw unreadableValue(`key ${unreadable.id}`);
  for (const chunk of chunksOf(sealed, sealedAtOnce)) {
    const sets = chunk.map((key) => ({ id: key.id, set: toValueColumns(key.id, key, to) }));
    const [first] = sets;
    if (first === undefined) continue;
    const query = trx.updateTable("keys").set(first.set).where("id", "=", first.id).compile();
    await runMany(
      trx,
      query,
      sets.map(({ id, set }) => [...Object.values(set), id]),
    );
  }
  return sealed.length;
}

export async function findHeld(
  db: Kysely<Database>,
  secrets: SealedSecrets,
  { providerId, values }: { readonly providerId: string; readonly values: readonly KeySecret[] },
): Promise<readonly (string | undefined)[]> {
  const fingerprints = values.map((value) => secrets.fingerprint(value));
  const wanted = fingerprints.filter((text) => text !== undefined);
  if (wanted.length === 0) return fingerprints.map(() => undefined);
  const ofProvider = db.selectFrom("keys").select(["id", "fingerprint"]).where("provider_id", "=", providerId);
  const rows = await (
    wanted.length > mostAskedFor ? ofProvider : ofProvider.where("fingerprint", "in", wanted)
  ).execute();
  const holders = new Map(rows.map(({ id, fingerprint }) => [fingerprint, id]));
  return fingerprints.map((text) => (text === undefined ? undefined : holders.get(text)));
}

async function refuseHeld(
  trx: Transaction<Database>,
  secrets: SealedSecrets,
  keys: readonly KeyRecord[],
): Promise<void> {
  const details: FieldError[] = [];
  for (const [providerId, entries] of Map.groupBy(keys.entries(), ([, key]) => key.providerId)) {
    const values = entries.map(([, key]) => key.secret);
    const holders = await findHeld(trx, secrets, { providerId, values });
    const seen = new Set<string | undefined>();
    for (const [position, [index, key]] of entries.entries()) {
      const fingerprint = secrets.fingerprint(key.secret);
      const holder = holders[position] ?? (seen.has(fingerprint) ? "one of the same call" : undefined);
      seen.add(fingerprint);
      if (holder !== undefined) details.push({ path: `keys.${index}`, message: `Held already by ${holder}` });
    }
  }
  if (details.length === 0) return;
  throw new KeywheelError("conflict", "The provider holds some of these keys already", { details });
}

type SetColumns = Updateable<KeyTable>;
interface IdentifiedSet {
  readonly id: string;
  readonly set: SetColumns;
}

/** Patches that set the same columns are one statement. Those that set none are left out. */
function byShape(sets: readonly IdentifiedSet[]): Iterable<[IdentifiedSet, ...IdentifiedSet[]]> {
  const groups = Map.groupBy(sets, ({ set }) => Object.keys(set).join());
  groups.delete("");
  return groups.values() as Iterable<[IdentifiedSet, ...IdentifiedSet[]]>;
}

function toSet(id: string, patch: KeyPatch, secrets: SealedSecrets): SetColumns {
  return {
    ...(patch.label !== undefined && { label: patch.label }),
    ...(patch.weight !== undefined && { weight: patch.weight }),
    ...(patch.enabled !== undefined && { enabled: patch.enabled ? 1 : 0 }),
    ...(patch.order !== undefined && { order: patch.order }),
    ...(patch.group !== undefined && { group_name: patch.group }),
    ...(patch.updatedAt !== undefined && { updated_at: patch.updatedAt }),
    // A key that is switched off loses its sessions, as it does in memory.
    ...(patch.enabled === false && patch.updatedAt !== undefined && { bindings_ended_at: patch.updatedAt }),
    ...(patch.disabledReason !== undefined && toDisabledColumns(patch.disabledReason)),
    ...(patch.secret !== undefined && toValueColumns(id, patch, secrets)),
  };
}

type Value = Pick<KeyRecord, "secret" | "secretVersion">;
type ValueColumns = Pick<
  Insertable<KeyTable>,
  "secret_kind" | "secret_sealed" | "secret_reference" | "secret_masked" | "secret_version" | "fingerprint"
>;

function toValueColumns(id: string, { secret, secretVersion }: Value, secrets: SealedSecrets): ValueColumns {
  const columns = secrets.toColumns(secret, { table: "keys", id, version: secretVersion });
  // `toColumns` has refused the one kind that has no fingerprint.
  return { ...columns, secret_version: secretVersion, fingerprint: secrets.fingerprint(secret) ?? "" };
}

type DisabledColumns = Pick<
  Insertable<KeyTable>,
  "disabled_code" | "disabled_http_status" | "disabled_message" | "disabled_at"
>;

export function toDisabledColumns(reason: KeyRecord["disabledReason"]): Required<DisabledColumns> {
  const { code, httpStatus, message, at } = toReasonValues(reason);
  return { disabled_code: code, disabled_http_status: httpStatus, disabled_message: message, disabled_at: at };
}

function toRow(key: KeyRecord, secrets: SealedSecrets): Insertable<KeyTable> {
  return {
    id: key.id,
    provider_id: key.providerId,
    label: key.label,
    weight: key.weight,
    enabled: key.enabled ? 1 : 0,
    order: key.order,
    group_name: key.group,
    created_at: key.createdAt,
    updated_at: key.updatedAt,
    ...toDisabledColumns(key.disabledReason),
    ...toValueColumns(key.id, key, secrets),
  };
}

function toRecord(row: Selectable<KeyTable>, secrets: SealedSecrets): KeyRecord {
  return {
    id: row.id,
    providerId: row.provider_id,
    secret: secrets.fromColumns(row, { table: "keys", id: row.id, version: row.secret_version }),
    secretVersion: row.secret_version,
    label: row.label,
    weight: row.weight,
    enabled: row.enabled === 1,
    order: row.order,
    group: row.group_name,
    disabledReason: fromReasonValues({
      code: row.disabled_code,
      httpStatus: row.disabled_http_status,
      message: row.disabled_message,
      at: row.disabled_at,
    }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function asRow(value: string): readonly [string] {
  return [value];
}
