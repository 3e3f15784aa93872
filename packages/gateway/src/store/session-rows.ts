import type { RestoredBinding, TouchedSession } from "@keywheel/pool";
import {
  type Expression,
  type ExpressionBuilder,
  type Insertable,
  type Kysely,
  sql,
  type SqlBool,
  type Transaction,
} from "kysely";
import { readVersions } from "./outcome-rows.ts";
import { toInstant } from "./reason-columns.ts";
import { inLockOrder, parametersOf, runMany } from "./run-many.ts";
import type { Database, SessionTable } from "./schema.ts";
import type { EndedSession } from "./store.ts";

/** All in one order, newly bound or not: of two orders gateways that write the same sessions would wait in a circle. */
export async function saveSessions(trx: Transaction<Database>, touched: readonly TouchedSession[]): Promise<void> {
  const living = await readVersions(trx, [...new Set(touched.map(({ keyId }) => keyId))]);
  const stored = touched
    .filter(({ keyId }) => living.has(keyId))
    .map((one) => ({ ...toRow(one), isNewlyBound: one.boundAt === undefined ? 0 : 1 }));
  const rows = inLockOrder(stored, ["provider_id", "fingerprint_high", "fingerprint_low"]);
  const [first] = rows;
  if (first === undefined) return;
  const { isNewlyBound, ...values } = first;
  const query = trx
    .insertInto("sessions")
    .values(values)
    .onConflict((conflict) =>
      conflict.columns(["provider_id", "fingerprint_high", "fingerprint_low"]).doUpdateSet((eb) => ({
        key_id: eb.ref("excluded.key_id"),
        last_used_at: eb.ref("excluded.last_used_at"),
        requests: eb("sessions.requests", "+", eb.ref("excluded.requests")),
        // The last of the parameters, as it is the last of a row.
        bound_at: sql<number>`case when cast(${isNewlyBound} as integer) = 1 then excluded.bound_at else sessions.bound_at end`,
      })),
    )
    .compile();
  await runMany(trx, query, parametersOf(rows));
}

export async function takeSessions(
  trx: Transaction<Database>,
  { id, valueHash }: { readonly id: string; readonly valueHash: string },
): Promise<readonly EndedSession[]> {
  const rows = await trx
    .deleteFrom("sessions")
    .where((eb) => eb.or([eb("id", "=", id), eb("value_hash", "=", valueHash)]))
    .returning(["provider_id", "fingerprint_high", "fingerprint_low"])
    .execute();
  return rows.map((row) => ({
    providerId: row.provider_id,
    fingerprint: { high: row.fingerprint_high, low: row.fingerprint_low },
  }));
}

/** Which sessions are to go: those of some keys, or of a provider, all of them or those last used before an instant. */
export type DoomedSessions =
  | { readonly keyIds: readonly string[] }
  | { readonly providerId: string; readonly before?: number };

/** Removes `limit` of them at most. @returns how many; less than `limit` when none is left */
export async function deleteSomeSessions(
  trx: Transaction<Database>,
  doomed: DoomedSessions,
  limit: number,
): Promise<number> {
  let some = trx.selectFrom("sessions").select("seq").limit(limit);
  if ("keyIds" in doomed) some = some.where("key_id", "in", doomed.keyIds);
  else some = some.where("provider_id", "=", doomed.providerId);
  if ("before" in doomed && doomed.before !== undefined) some = some.where("last_used_at", "<", doomed.before);
  const { numDeletedRows } = await trx.deleteFrom("sessions").where("seq", "in", some).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** The sessions after `seq` in the order of their rows: the one order in which a million are read without a sort. */
export async function readBindingsAfter(
  db: Kysely<Database>,
  { seq, limit }: { readonly seq: number; readonly limit: number },
): Promise<{ readonly bindings: readonly RestoredBinding[]; readonly lastSeq: number | undefined }> {
  const rows = await db
    .selectFrom("sessions")
    .innerJoin("keys", "keys.id", "sessions.key_id")
    .select(["sessions.seq", "sessions.provider_id", "sessions.key_id"])
    .select(["sessions.fingerprint_high", "sessions.fingerprint_low", "sessions.last_used_at"])
    .select((eb) => eb.case().when(isBindingAlive(eb)).then(sql.lit(1)).else(sql.lit(0)).end().as("alive"))
    .where("sessions.seq", ">", seq)
    .orderBy("sessions.seq")
    .limit(limit)
    .execute();
  const alive = rows.filter((row) => row.alive === 1);
  const bindings = alive.map((row) => ({
    poolId: row.provider_id,
    fingerprint: { high: row.fingerprint_high, low: row.fingerprint_low },
    keyId: row.key_id,
    lastUsedAt: row.last_used_at,
  }));
  return { bindings, lastSeq: rows.at(-1)?.seq };
}

/** A session is bound for as long as its key has not ended all bindings since. */
export function isBindingAlive(
  eb: ExpressionBuilder<Pick<Database, "sessions" | "keys">, "sessions" | "keys">,
): Expression<SqlBool> {
  return eb.or([
    eb("keys.bindings_ended_at", "is", null),
    eb("sessions.bound_at", ">", eb.ref("keys.bindings_ended_at")),
  ]);
}

/** `like` with its wild cards taken literally, in either case. */
export function containsText(column: "sessions.id", text: string): ReturnType<typeof sql<boolean>> {
  const pattern = `%${text.toLowerCase().replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  return sql<boolean>`lower(${sql.ref(column)}) like ${pattern} escape '\\'`;
}

function toRow({ poolId, session, keyId, ...touched }: TouchedSession): Insertable<SessionTable> {
  return {
    id: session.id,
    value_hash: session.valueHash,
    carrier: session.carrier,
    provider_id: poolId,
    key_id: keyId,
    fingerprint_high: session.fingerprint.high,
    fingerprint_low: session.fingerprint.low,
    // A binding that is older than the last drain, but whose row is gone: the best that is known.
    bound_at: toInstant(touched.boundAt ?? touched.lastUsedAt),
    last_used_at: toInstant(touched.lastUsedAt),
    requests: touched.requests,
  };
}
