import type { Pin } from "@keywheel/pool";
import type { Kysely, Transaction } from "kysely";
import { readVersions } from "./outcome-rows.ts";
import { inLockOrder, parametersOf, runMany } from "./run-many.ts";
import type { Database, PinTable } from "./schema.ts";

type Row = { readonly [Column in keyof PinTable]: PinTable[Column] };

/** A later pin of the same fingerprint takes its place. */
export async function savePins(trx: Transaction<Database>, pins: readonly Pin[]): Promise<void> {
  const living = await readVersions(trx, [...new Set(pins.map(({ keyId }) => keyId))]);
  const kept = pins.filter(({ keyId }) => living.has(keyId)).map(toRow);
  const rows = inLockOrder(kept, ["provider_id", "kind", "fingerprint_high", "fingerprint_low"]);
  const [first] = rows;
  if (first === undefined) return;
  const query = trx
    .insertInto("pins")
    .values(first)
    .onConflict((conflict) =>
      conflict
        .columns(["provider_id", "kind", "fingerprint_high", "fingerprint_low"])
        .doUpdateSet((eb) => ({ key_id: eb.ref("excluded.key_id"), at: eb.ref("excluded.at") })),
    )
    .compile();
  await runMany(trx, query, parametersOf(rows));
}

/** The newest `limit` of a kind. A conversation whose key has ended all its bindings since is not among them. */
export async function readPins(db: Kysely<Database>, kind: Pin["kind"], limit: number): Promise<readonly Pin[]> {
  let query = db
    .selectFrom("pins")
    .innerJoin("keys", "keys.id", "pins.key_id")
    .selectAll("pins")
    .where("pins.kind", "=", kind);
  if (kind === "conversation") {
    query = query.where((eb) =>
      eb.or([eb("keys.bindings_ended_at", "is", null), eb("pins.at", ">", eb.ref("keys.bindings_ended_at"))]),
    );
  }
  const rows = await query.orderBy("pins.at", "desc").limit(limit).execute();
  // Oldest first: who takes them up in this order keeps the newest if there are too many.
  return rows.reverse().map(toPin);
}

/** When the n-th newest of a kind was pinned; undefined if there are not so many. */
export async function ageOfNth(db: Kysely<Database>, kind: Pin["kind"], n: number): Promise<number | undefined> {
  const row = await db
    .selectFrom("pins")
    .select("at")
    .where("kind", "=", kind)
    .orderBy("at", "desc")
    .offset(n)
    .limit(1)
    .executeTakeFirst();
  return row?.at;
}

/** Removes what was pinned before an instant, `limit` at most. @returns how many */
export async function deletePinsBefore(
  trx: Transaction<Database>,
  { kind, before, limit }: { readonly kind: Pin["kind"]; readonly before: number; readonly limit: number },
): Promise<number> {
  const oldest = await trx
    .selectFrom("pins")
    .select(["provider_id", "kind", "fingerprint_high", "fingerprint_low"])
    .where("kind", "=", kind)
    .where("at", "<", before)
    .orderBy("at")
    .limit(limit)
    .execute();
  const query = trx
    .deleteFrom("pins")
    .where("provider_id", "=", "")
    .where("kind", "=", kind)
    .where("fingerprint_high", "=", 0)
    .where("fingerprint_low", "=", 0)
    .compile();
  return await runMany(trx, query, parametersOf(oldest));
}

function toRow({ poolId, kind, fingerprint, keyId, at }: Pin): Row {
  return {
    provider_id: poolId,
    kind,
    fingerprint_high: fingerprint.high,
    fingerprint_low: fingerprint.low,
    key_id: keyId,
    at,
  };
}

function toPin(row: Row): Pin {
  const fingerprint = { high: row.fingerprint_high, low: row.fingerprint_low };
  return { poolId: row.provider_id, kind: row.kind, fingerprint, keyId: row.key_id, at: row.at };
}
