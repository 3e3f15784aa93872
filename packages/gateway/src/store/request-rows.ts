import type { Insertable, Kysely, SelectQueryBuilder, Selectable, Transaction } from "kysely";
import { chunksOf } from "./chunks.ts";
import { parametersOf, runMany } from "./run-many.ts";
import type { Database, RequestTable } from "./schema.ts";
import type { RequestFilter, StoredRequest } from "./store.ts";

type Requests = SelectQueryBuilder<Database, "requests", Selectable<RequestTable>>;

/** Saved twice is saved once. */
export async function saveRequests(trx: Transaction<Database>, requests: readonly StoredRequest[]): Promise<void> {
  const rows = requests.map(toRow);
  const [first] = rows;
  if (first === undefined) return;
  const insert = trx.insertInto("requests").values(first);
  await runMany(trx, insert.onConflict((conflict) => conflict.doNothing()).compile(), parametersOf(rows));
  const tries = requests.flatMap(({ seq, otherKeyIds }) => otherKeyIds.map((key_id) => ({ key_id, seq })));
  const [firstTry] = tries;
  if (firstTry === undefined) return;
  const insertTry = trx.insertInto("request_tries").values(firstTry);
  await runMany(trx, insertTry.onConflict((conflict) => conflict.doNothing()).compile(), parametersOf(tries));
}

/** Newest first. */
export async function listRequests(db: Kysely<Database>, filter: RequestFilter): Promise<readonly StoredRequest[]> {
  const { keyId, limit } = filter;
  const query = narrowed(db.selectFrom("requests").selectAll("requests"), filter);
  if (filter.failover === true) return await listFailovers(db, filter);
  if (keyId === undefined) return (await newest(query, limit)).map(toRequest);
  // Two short searches by index, not one through all rows.
  const served = await newest(query.where("requests.key_id", "=", keyId), limit);
  let tries = db.selectFrom("request_tries").select("seq").where("key_id", "=", keyId);
  if (filter.beforeSeq !== undefined) tries = tries.where("seq", "<", filter.beforeSeq);
  const passed = await readTried(
    db,
    (await newest(tries, mostTries)).map(({ seq }) => seq),
    filter,
  );
  return [...served, ...passed]
    .sort((one, other) => other.seq - one.seq)
    .slice(0, limit)
    .map(toRequest);
}

/** By the tries, which are few, not by looking at every request. */
async function listFailovers(db: Kysely<Database>, filter: RequestFilter): Promise<readonly StoredRequest[]> {
  const { keyId, beforeSeq, limit } = filter;
  let tries = db.selectFrom("request_tries").select("seq").distinct();
  if (beforeSeq !== undefined) tries = tries.where("seq", "<", beforeSeq);
  const seqs = (await newest(tries, mostTries)).map(({ seq }) => seq);
  const ofKey = (query: Requests): Requests =>
    keyId === undefined
      ? query
      : query.where((eb) =>
          eb.or([
            eb("requests.key_id", "=", keyId),
            eb("requests.seq", "in", eb.selectFrom("request_tries").select("seq").where("key_id", "=", keyId)),
          ]),
        );
  return (await readTried(db, seqs, filter, ofKey)).slice(0, limit).map(toRequest);
}

/** How many failovers of one key are looked through for those that a filter of something else leaves. */
const mostTries = 10_000;

async function readTried(
  db: Kysely<Database>,
  seqs: readonly number[],
  filter: RequestFilter,
  narrower: (query: Requests) => Requests = (query) => query,
): Promise<readonly Selectable<RequestTable>[]> {
  const rows: Selectable<RequestTable>[] = [];
  for (const chunk of chunksOf(seqs, 500)) {
    const query = db.selectFrom("requests").selectAll("requests").where("seq", "in", chunk);
    rows.push(...(await newest(narrower(narrowed(query, filter)), filter.limit)));
    if (rows.length >= filter.limit) break;
  }
  return rows;
}

function narrowed(all: Requests, { providerId, sessionId, status, failed, beforeSeq }: RequestFilter): Requests {
  let query = all;
  if (providerId !== undefined) query = query.where("requests.provider_id", "=", providerId);
  if (sessionId !== undefined) query = query.where("requests.session_id", "=", sessionId);
  if (status !== undefined) query = query.where("status", ">=", status.from).where("status", "<=", status.to);
  if (failed !== undefined) query = query.where("failed", "=", failed ? 1 : 0);
  if (beforeSeq !== undefined) query = query.where("seq", "<", beforeSeq);
  return query;
}

async function newest<Table extends "requests" | "request_tries", Row>(
  query: SelectQueryBuilder<Database, Table, Row>,
  limit: number,
): Promise<Row[]> {
  return await query.orderBy("seq", "desc").limit(limit).execute();
}

export async function findRequest(db: Kysely<Database>, id: string): Promise<StoredRequest | undefined> {
  const row = await db.selectFrom("requests").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? undefined : toRequest(row);
}

export async function readLastSeq(db: Kysely<Database>): Promise<number> {
  const row = await db.selectFrom("requests").select("seq").orderBy("seq", "desc").limit(1).executeTakeFirst();
  return row?.seq ?? 0;
}

export async function countRequests(db: Kysely<Database>): Promise<number> {
  const { count } = await db
    .selectFrom("requests")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return count;
}

/** Removes the oldest, `limit` at most, and of those only what is older than `beforeSeq`. @returns how many */
export async function deleteOldestRequests(
  trx: Transaction<Database>,
  { beforeSeq, limit }: { readonly beforeSeq: number; readonly limit: number },
): Promise<number> {
  const doomed = await trx
    .selectFrom("requests")
    .select("seq")
    .where("seq", "<", beforeSeq)
    .orderBy("seq")
    .limit(limit)
    .execute();
  const last = doomed.at(-1);
  if (last === undefined) return 0;
  await trx.deleteFrom("requests").where("seq", "<=", last.seq).execute();
  await trx.deleteFrom("request_tries").where("seq", "<=", last.seq).execute();
  return doomed.length;
}

function toRow(request: StoredRequest): Insertable<RequestTable> {
  return {
    seq: request.seq,
    id: request.id,
    provider_id: request.providerId,
    key_id: request.keyId,
    session_id: request.sessionId,
    status: request.status,
    failed: request.failed ? 1 : 0,
    detail: request.detail,
  };
}

function toRequest(row: Selectable<RequestTable>): StoredRequest {
  return {
    seq: row.seq,
    id: row.id,
    providerId: row.provider_id,
    keyId: row.key_id,
    // What it is found by; what it tells of them is in the detail.
    otherKeyIds: [],
    sessionId: row.session_id,
    status: row.status,
    failed: row.failed === 1,
    detail: row.detail,
  };
}
