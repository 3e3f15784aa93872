import type { Kysely, Selectable, Transaction } from "kysely";
import { chunksOf } from "./chunks.ts";
import type { Database, DeliveryTable } from "./schema.ts";
import type { DeliveryOutcome, DeliveryRecord, QueuedDelivery } from "./store.ts";

const rowsAtOnce = 100;

/** Leaves out those whose webhook is gone, and of one webhook what is more than `mostWaiting`. @returns how many it took */
export async function insertDeliveries(
  trx: Transaction<Database>,
  deliveries: readonly QueuedDelivery[],
  mostWaiting: number,
): Promise<number> {
  let taken = 0;
  for (const [webhookId, ofOne] of Map.groupBy(deliveries, (delivery) => delivery.webhookId)) {
    const hook = await trx.selectFrom("webhooks").select("id").where("id", "=", webhookId).executeTakeFirst();
    if (hook === undefined) continue;
    const { waiting } = await trx
      .selectFrom("webhook_deliveries")
      .select((eb) => eb.fn.countAll<number>().as("waiting"))
      .where("webhook_id", "=", webhookId)
      .where("next_at", "is not", null)
      .executeTakeFirstOrThrow();
    const fitting = ofOne.slice(0, Math.max(0, mostWaiting - waiting));
    for (const chunk of chunksOf(fitting, rowsAtOnce)) {
      const rows = chunk.map(toRow);
      // Of gateways on one database, another one may have told of the same.
      const query = trx.insertInto("webhook_deliveries").values(rows);
      await query.onConflict((conflict) => conflict.column("id").doNothing()).execute();
    }
    taken += fitting.length;
  }
  return taken;
}

/** What is taken of what is due. */
interface DueLimits {
  readonly now: number;
  readonly leaseUntil: number;
  readonly limit: number;
  /** Webhooks whose deliveries are left where they are. */
  readonly except?: readonly string[] | undefined;
}

/** Those that are due, oldest first; nobody else is given them before `leaseUntil`. */
export async function takeDueDeliveries(
  trx: Transaction<Database>,
  { now, leaseUntil, limit, except = [] }: DueLimits,
): Promise<readonly DeliveryRecord[]> {
  let all = trx.selectFrom("webhook_deliveries").select("id").where("next_at", "<=", now);
  if (except.length > 0) all = all.where("webhook_id", "not in", except);
  const due = await all.orderBy("next_at").orderBy("seq").limit(limit).execute();
  if (due.length === 0) return [];
  const taken = await trx
    .updateTable("webhook_deliveries")
    .set({ next_at: leaseUntil })
    .where(
      "id",
      "in",
      due.map(({ id }) => id),
    )
    // Of gateways on one database, another one may have been quicker.
    .where("next_at", "<=", now)
    .returningAll()
    .execute();
  return taken.map(toRecord).sort((one, other) => one.createdAt - other.createdAt);
}

/** When the next one is due; undefined if none waits. */
export async function nextDeliveryAt(db: Kysely<Database>): Promise<number | undefined> {
  const { at } = await db
    .selectFrom("webhook_deliveries")
    .select((eb) => eb.fn.min("next_at").as("at"))
    .where("next_at", "is not", null)
    .executeTakeFirstOrThrow();
  return at ?? undefined;
}

export async function saveDeliveryOutcome(
  trx: Transaction<Database>,
  { id, ...outcome }: DeliveryOutcome,
): Promise<void> {
  await trx.updateTable("webhook_deliveries").set(outcomeColumns(outcome)).where("id", "=", id).execute();
}

/** Newest first. */
export async function listDeliveries(
  db: Kysely<Database>,
  webhookId: string,
  limit: number,
): Promise<readonly DeliveryRecord[]> {
  const rows = await db
    .selectFrom("webhook_deliveries")
    .selectAll()
    .where("webhook_id", "=", webhookId)
    .orderBy("seq", "desc")
    .limit(limit)
    .execute();
  return rows.map(toRecord);
}

/** Of each webhook keeps the newest `keep` that are settled, and what waits. */
export async function pruneDeliveries(trx: Transaction<Database>, keep: number): Promise<void> {
  const hooks = await trx.selectFrom("webhooks").select("id").execute();
  for (const { id } of hooks) {
    const last = await trx
      .selectFrom("webhook_deliveries")
      .select("seq")
      .where("webhook_id", "=", id)
      .where("next_at", "is", null)
      .orderBy("seq", "desc")
      .offset(keep)
      .limit(1)
      .executeTakeFirst();
    if (last === undefined) continue;
    await trx
      .deleteFrom("webhook_deliveries")
      .where("webhook_id", "=", id)
      .where("next_at", "is", null)
      .where("seq", "<=", last.seq)
      .execute();
  }
}

function toRow({ id, webhookId, type, body, createdAt, outcome }: QueuedDelivery) {
  const fresh = { attempts: 0, nextAt: createdAt, delivered: false, lastStatus: null, lastError: null, lastAt: null };
  return { id, webhook_id: webhookId, type, body, created_at: createdAt, ...outcomeColumns(outcome ?? fresh) };
}

function outcomeColumns({ attempts, nextAt, delivered, lastStatus, lastError, lastAt }: Omit<DeliveryOutcome, "id">) {
  return {
    attempts,
    next_at: nextAt,
    delivered: delivered ? (1 as const) : (0 as const),
    last_status: lastStatus,
    last_error: lastError,
    last_at: lastAt,
  };
}

function toRecord(row: Selectable<DeliveryTable>): DeliveryRecord {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    type: row.type,
    body: row.body,
    createdAt: row.created_at,
    attempts: row.attempts,
    nextAt: row.next_at,
    delivered: row.delivered === 1,
    lastStatus: row.last_status,
    lastError: row.last_error,
    lastAt: row.last_at,
  };
}
