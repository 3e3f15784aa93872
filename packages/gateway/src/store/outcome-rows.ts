import type { HealthRecord, StatusReason, WaitSource } from "@keywheel/pool";
import { type CompiledQuery, type Insertable, type Kysely, type Selectable, sql, type Transaction } from "kysely";
import { chunksOf } from "./chunks.ts";
import { toDisabledColumns } from "./key-rows.ts";
import { fromReasonValues, toInstant, toReasonValues } from "./reason-columns.ts";
import { inLockOrder, parametersOf, runMany, runTransaction } from "./run-many.ts";
import type { Database, HealthTable } from "./schema.ts";
import type { KeyOutcome } from "./store.ts";

export async function readHealths(db: Kysely<Database>): Promise<readonly HealthRecord[]> {
  const rows = await db
    .selectFrom("key_healths")
    .innerJoin("keys", "keys.id", "key_healths.key_id")
    .selectAll("key_healths")
    .select("keys.provider_id")
    .execute();
  return rows.map(toRecord);
}

/** @returns by index, whether it took effect */
export async function saveOutcomes(
  trx: Transaction<Database>,
  outcomes: readonly KeyOutcome[],
): Promise<readonly boolean[]> {
  const versions = await readVersions(trx, [...new Set(outcomes.map(({ record }) => record.keyId))]);
  const isCurrent = outcomes.map(({ record }) => versions.get(record.keyId) === record.secretVersion);
  const healths = outcomes.flatMap((outcome, index) =>
    outcome.kind === "health" && isCurrent[index] ? [outcome.record] : [],
  );
  const refusals = outcomes.flatMap((outcome, index) =>
    outcome.kind === "disable" && isCurrent[index] ? [outcome.record] : [],
  );
  // Keys before healths, as whoever changes a key writes them, and all keys in one order before anything else is done to some.
  await endBindings(trx, [
    ...healths.filter(({ model, health }) => model === "" && health.cooledAt > 0).map(endsOfCooldown),
    ...refusals.map(({ keyId, reason }) => ({ keyId, at: reason.at })),
  ]);
  const took: boolean[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    const current = isCurrent[index] === true;
    took.push(current && (outcome.kind === "health" || (await disable(trx, outcome.record))));
  }
  await saveHealths(trx, healths);
  return took;
}

/**
 * Saves healths in a transaction of their own, in one go: those of keys that hold the value still that they are about.
 *
 * It may be lost with the machine's power, not with the process.
 *
 * @returns by index, whether it took effect; undefined if the connection cannot do that
 */
export async function saveHealthsAtOnce(
  db: Kysely<Database>,
  records: readonly HealthRecord[],
): Promise<readonly boolean[] | undefined> {
  const { end, save } = queriesOf(db);
  const ended = records.filter(({ model, health }) => model === "" && health.cooledAt > 0);
  const changes = await runTransaction(
    db,
    [
      { query: end, rows: ended.map((record) => [toInstant(record.health.cooledAt), ...ownerOf(record)]) },
      { query: save, rows: records.map((record) => [...Object.values<unknown>(toRow(record)), ...ownerOf(record)]) },
    ],
    false,
  );
  return changes?.[1]?.map((count) => count > 0);
}

function ownerOf({ keyId, secretVersion }: HealthRecord): readonly [string, number] {
  return [keyId, secretVersion];
}

interface HealthQueries {
  readonly end: CompiledQuery;
  readonly save: CompiledQuery;
}

/** Compiled once: that takes longer than the database does. */
const compiled = new WeakMap<object, HealthQueries>();

function queriesOf(db: Kysely<Database>): HealthQueries {
  const known = compiled.get(db);
  if (known !== undefined) return known;
  const end = db
    .updateTable("keys")
    .set({ bindings_ended_at: 0 })
    .where("id", "=", "")
    .where("secret_version", "=", 0)
    .compile();
  const values = sql.join(healthColumns.map(() => sql.val(null)));
  const save = sql`
    insert into key_healths (${sql.join(healthColumns.map((column) => sql.ref(column)))})
    select ${values} where exists (select 1 from keys where id = ${""} and secret_version = ${0})
    on conflict (key_id, model) do update set ${sql.join(
      valueColumns.map((column) => sql`${sql.ref(column)} = excluded.${sql.ref(column)}`),
    )}`.compile(db);
  const queries = { end, save };
  compiled.set(db, queries);
  return queries;
}

/** The versions of the keys' values; of a key that is gone, none. */
export async function readVersions(
  db: Kysely<Database>,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const versions = new Map<string, number>();
  for (const chunk of chunksOf(keyIds, 500)) {
    const rows = await db.selectFrom("keys").select(["id", "secret_version"]).where("id", "in", chunk).execute();
    for (const { id, secret_version } of rows) versions.set(id, secret_version);
  }
  return versions;
}

async function disable(
  trx: Transaction<Database>,
  { keyId, secretVersion, reason }: (KeyOutcome & { kind: "disable" })["record"],
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("keys")
    .set({
      enabled: 0,
      updated_at: toInstant(reason.at),
      bindings_ended_at: toInstant(reason.at),
      ...toDisabledColumns(reason),
    })
    .where("id", "=", keyId)
    .where("secret_version", "=", secretVersion)
    // A key that a person switched off stays that: the refusal is not its reason.
    .where("enabled", "=", 1)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** A cooldown of the key as a whole, or a refusal, ends the bindings that were there when it began. */
async function endBindings(
  trx: Transaction<Database>,
  ends: readonly { readonly keyId: string; readonly at: number }[],
): Promise<void> {
  const rows = inLockOrder(ends, ["keyId", "at"]).map(({ keyId, at }) => [toInstant(at), keyId]);
  const query = trx.updateTable("keys").set({ bindings_ended_at: 0 }).where("id", "=", "").compile();
  await runMany(trx, query, rows);
}

function endsOfCooldown({ keyId, health }: HealthRecord): { readonly keyId: string; readonly at: number } {
  return { keyId, at: health.cooledAt };
}

async function saveHealths(trx: Transaction<Database>, records: readonly HealthRecord[]): Promise<void> {
  const rows = inLockOrder(records.map(toRow), ["key_id", "model"]);
  const [first] = rows;
  if (first === undefined) return;
  const query = trx
    .insertInto("key_healths")
    .values(first)
    .onConflict((conflict) =>
      conflict
        .columns(["key_id", "model"])
        .doUpdateSet((eb) => Object.fromEntries(valueColumns.map((column) => [column, eb.ref(`excluded.${column}`)]))),
    )
    .compile();
  await runMany(trx, query, parametersOf(rows));
}

function toRow({ keyId, model, secretVersion, health, reason }: HealthRecord): Insertable<HealthTable> {
  const { code, httpStatus, message, at } = toReasonValues(reason);
  return {
    key_id: keyId,
    model,
    secret_version: secretVersion,
    failures: health.failures,
    cooldowns: health.cooldowns,
    failures_seen: health.failuresSeen,
    cooled_at: toInstant(health.cooledAt),
    cool_until: toInstant(health.coolUntil),
    wait: health.wait,
    reason_code: code,
    reason_http_status: httpStatus,
    reason_message: message,
    reason_at: at,
    reason_shared_from: reason?.sharedFrom ?? null,
  };
}

/** For the order of the columns, which is that of each row. */
const anyRow = toRow({
  poolId: "",
  keyId: "",
  secretVersion: 0,
  model: "",
  health: { failures: 0, cooldowns: 0, failuresSeen: 0, cooledAt: 0, coolUntil: 0, wait: "ladder" },
  reason: undefined,
});

const healthColumns = Object.keys(anyRow) as (keyof HealthTable)[];
/** Those that a newer record of the same key and model replaces. */
const valueColumns = healthColumns.filter((column) => column !== "key_id" && column !== "model");

function toRecord(row: Selectable<HealthTable> & { readonly provider_id: string }): HealthRecord {
  const reason = fromReasonValues({
    code: row.reason_code,
    httpStatus: row.reason_http_status,
    message: row.reason_message,
    at: row.reason_at,
  });
  return {
    poolId: row.provider_id,
    keyId: row.key_id,
    secretVersion: row.secret_version,
    model: row.model,
    health: {
      failures: row.failures,
      cooldowns: row.cooldowns,
      failuresSeen: row.failures_seen,
      cooledAt: row.cooled_at,
      coolUntil: row.cool_until,
      wait: row.wait as WaitSource,
    },
    reason: reason === null ? undefined : withOwner(reason, row.reason_shared_from),
  };
}

function withOwner(reason: StatusReason, sharedFrom: string | null): StatusReason {
  return sharedFrom === null ? reason : { ...reason, sharedFrom };
}
