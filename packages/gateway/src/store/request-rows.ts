import { setImmediate as nextTurn } from "node:timers/promises";
import { type Insertable, type Kysely, sql, type Transaction } from "kysely";
import { longestBlock, readBlock, type RequestBlock } from "../requests/request-blocks.ts";
import { bestMark, markOfId } from "../requests/request-marks.ts";
import { fits } from "../requests/request-filter.ts";
import { instantOfRequestId } from "../requests/request-id.ts";
import { seqOf } from "../requests/request-seq.ts";
import { parametersOf, runMany } from "./run-many.ts";
import type { Database, RequestBlockTable } from "./schema.ts";
import type { RequestFilter, StoredRequest } from "./store.ts";

/** What is saved twice is listed once. */
export async function saveBlocks(trx: Kysely<Database>, blocks: readonly RequestBlock[]): Promise<void> {
  const rows = blocks.map(toRow);
  const [first] = rows;
  if (first === undefined) return;
  const insert = trx.insertInto("request_blocks").values(first);
  await runMany(trx, insert.onConflict((conflict) => conflict.doNothing()).compile(), parametersOf(rows));
  const marks = blocks.flatMap(({ lastSeq, marks }) => marks.map((mark) => ({ mark, last_seq: lastSeq })));
  const [firstMark] = marks;
  if (firstMark === undefined) return;
  const insertMark = trx.insertInto("request_marks").values(firstMark);
  await runMany(trx, insertMark.onConflict((conflict) => conflict.doNothing()).compile(), parametersOf(marks));
}

/** Newest first. */
export async function listRequests(db: Kysely<Database>, filter: RequestFilter): Promise<readonly StoredRequest[]> {
  const { limit, beforeSeq = Infinity } = filter;
  // Several gateways write side by side: the requests of one block may lie between those of another.
  const found = new Map<number, StoredRequest>();
  for await (const block of blocksOf(db, filter)) {
    if (found.size >= limit && block.last_seq < (nthNewest(found, limit) ?? 0)) break;
    for (const request of readBlock(block.data))
      if (request.seq < beforeSeq && fits(request, filter)) found.set(request.seq, request);
  }
  return [...found.values()].sort((one, other) => other.seq - one.seq).slice(0, limit);
}

function nthNewest(found: ReadonlyMap<number, unknown>, n: number): number | undefined {
  return [...found.keys()].sort((one, other) => other - one)[n - 1];
}

interface ReadBlock {
  readonly last_seq: number;
  readonly data: Uint8Array;
}

const fewestAtOnce = 2;
const mostAtOnce = 16;

/** Those that may hold what is asked for, newest first; more at once, the further they are read. */
async function* blocksOf(db: Kysely<Database>, filter: RequestFilter): AsyncIterable<ReadBlock> {
  const { beforeSeq } = filter;
  const mark = bestMark(filter);
  const all = db.selectFrom("request_blocks").select(["request_blocks.last_seq", "request_blocks.data"]);
  let before = beforeSeq === undefined ? undefined : beforeSeq + longestBlock;
  for (let limit = fewestAtOnce; ; limit = Math.min(2 * limit, mostAtOnce)) {
    // By the index of the marks, from its end.
    let query =
      mark === undefined
        ? all.orderBy("request_blocks.last_seq", "desc")
        : all
            .innerJoin("request_marks", "request_marks.last_seq", "request_blocks.last_seq")
            .where("request_marks.mark", "=", mark)
            .orderBy("request_marks.last_seq", "desc");
    if (beforeSeq !== undefined) query = query.where("first_seq", "<", beforeSeq);
    if (before !== undefined) {
      const column = mark === undefined ? sql.ref("request_blocks.last_seq") : sql.ref("request_marks.last_seq");
      query = query.where(sql<boolean>`${column} < ${before}`);
    }
    const blocks = await query.limit(limit).execute();
    for (const block of blocks) {
      yield block;
      // Reading one takes a ms or two, in which nobody else is served.
      await nextTurn();
    }
    before = blocks.at(-1)?.last_seq;
    if (blocks.length < limit) return;
  }
}

export async function findRequest(db: Kysely<Database>, id: string): Promise<StoredRequest | undefined> {
  const marked = await db
    .selectFrom("request_marks")
    .innerJoin("request_blocks", "request_blocks.last_seq", "request_marks.last_seq")
    .select("request_blocks.data")
    .where("request_marks.mark", "=", markOfId(id))
    .executeTakeFirst();
  if (marked !== undefined) return inBlock(marked.data, id);
  const startedAt = instantOfRequestId(id);
  return startedAt === undefined ? undefined : await findByInstant(db, id, startedAt);
}

/** Among those that ended later than that and hold one that had begun by then, the first of which is mostly it. */
async function findByInstant(db: Kysely<Database>, id: string, startedAt: number): Promise<StoredRequest | undefined> {
  let from = seqOf(startedAt);
  for (let limit = fewestAtOnce; ; limit = Math.min(2 * limit, mostAtOnce)) {
    const blocks = await db
      .selectFrom("request_blocks")
      .select(["last_seq", "data"])
      .where("last_seq", ">=", from)
      .where("first_started_at", "<=", startedAt)
      // Those that were moved here from the former tables are found by their marks.
      .where("first_started_at", ">", 0)
      .orderBy("last_seq")
      .limit(limit)
      .execute();
    for (const { data } of blocks) {
      const found = inBlock(data, id);
      if (found !== undefined) return found;
      await nextTurn();
    }
    const last = blocks.at(-1);
    if (last === undefined || blocks.length < limit) return undefined;
    from = last.last_seq + 1;
  }
}

function inBlock(data: Uint8Array, id: string): StoredRequest | undefined {
  return readBlock(data).find((request) => request.id === id);
}

export async function readLastSeq(db: Kysely<Database>): Promise<number> {
  const row = await db
    .selectFrom("request_blocks")
    .select("last_seq")
    .orderBy("last_seq", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.last_seq ?? 0;
}

export async function countRequests(db: Kysely<Database>): Promise<number> {
  const { count } = await db
    .selectFrom("request_blocks")
    .select((eb) => eb.fn.sum<number | string | null>("requests").as("count"))
    .executeTakeFirstOrThrow();
  return Number(count ?? 0);
}

/** Blocks removed in one transaction. */
const blocksAtOnce = 100;

/**
 * Removes the oldest blocks, some at a time: those that are wholly older than `beforeSeq`, and as many beyond as leave no
 * more of the surplus than a part of a block.
 *
 * @returns how many requests went; 0: there are no more to remove
 */
export async function deleteOldestRequests(
  trx: Transaction<Database>,
  { beforeSeq, surplus }: { readonly beforeSeq: number; readonly surplus: number },
): Promise<number> {
  const oldest = await trx
    .selectFrom("request_blocks")
    .select(["last_seq", "requests"])
    .orderBy("last_seq")
    .limit(blocksAtOnce)
    .execute();
  let gone = 0;
  let last: number | undefined;
  for (const { last_seq, requests } of oldest) {
    if (last_seq >= beforeSeq && gone + requests > surplus) break;
    gone += requests;
    last = last_seq;
  }
  if (last === undefined) return 0;
  await trx.deleteFrom("request_blocks").where("last_seq", "<=", last).execute();
  await trx.deleteFrom("request_marks").where("last_seq", "<=", last).execute();
  return gone;
}

function toRow(block: RequestBlock): Insertable<RequestBlockTable> {
  return {
    last_seq: block.lastSeq,
    first_seq: block.firstSeq,
    first_started_at: block.firstStartedAt,
    requests: block.count,
    data: block.data,
  };
}
