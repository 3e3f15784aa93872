import { type Insertable, type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import { inLockOrder, parametersOf, runMany } from "./run-many.ts";
import type { AffinityTable, Database } from "./schema.ts";
import type { AffinityQuery, AffinitySource, AffinitySum } from "./store.ts";

const counted = ["requests", "input_tokens", "cache_read_tokens", "cache_write_tokens"] as const;

/** Adds to what is there. */
export async function addAffinity(trx: Transaction<Database>, sums: readonly AffinitySum[]): Promise<void> {
  const rows = inLockOrder(sums.map(toRow), ["at", "provider_id", "source", "fate"]);
  const [first] = rows;
  if (first === undefined) return;
  const query = trx
    .insertInto("affinity_sums")
    .values(first)
    .onConflict((conflict) =>
      conflict
        .columns(["at", "provider_id", "source", "fate"])
        .doUpdateSet((eb) =>
          Object.fromEntries(
            counted.map((column) => [column, eb(`affinity_sums.${column}`, "+", eb.ref(`excluded.${column}`))]),
          ),
        ),
    )
    .compile();
  await runMany(trx, query, parametersOf(rows));
}

interface SummedRow {
  readonly provider_id: string;
  readonly source: AffinitySource;
  readonly fate: string;
  // PostgreSQL sums up to a type that is read as a text.
  readonly requests: number | string;
  readonly input_tokens: number | string;
  readonly cache_read_tokens: number | string;
  readonly cache_write_tokens: number | string;
}

export async function readAffinity(db: Kysely<Database>, query: AffinityQuery): Promise<readonly AffinitySum[]> {
  const { from, to, providerId } = query;
  const sums = counted.map((column) => sql`sum(${sql.ref(column)}) as ${sql.ref(column)}`);
  const narrowing: RawBuilder<unknown> = providerId === undefined ? sql`` : sql`and provider_id = ${providerId}`;
  const { rows } = await sql<SummedRow>`
    select provider_id, source, fate, ${sql.join(sums)} from affinity_sums
    where at >= ${from} and at < ${to} ${narrowing}
    group by 1, 2, 3 order by 1, 2, 3`.execute(db);
  return rows.map(toSum);
}

/** Sums of hours before an instant, `limit` at most. @returns how many went */
export async function deleteAffinityBefore(
  trx: Transaction<Database>,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<number> {
  const doomed = await trx
    .selectFrom("affinity_sums")
    .select(["at", "provider_id", "source", "fate"])
    .where("at", "<", before)
    .orderBy("at")
    .limit(limit)
    .execute();
  const query = trx
    .deleteFrom("affinity_sums")
    .where("at", "=", 0)
    .where("provider_id", "=", "")
    .where("source", "=", "")
    .where("fate", "=", "")
    .compile();
  return await runMany(trx, query, parametersOf(doomed));
}

function toRow(sum: AffinitySum): Insertable<AffinityTable> {
  return {
    at: sum.at,
    provider_id: sum.providerId,
    source: sum.source,
    fate: sum.fate,
    requests: sum.requests,
    input_tokens: sum.inputTokens,
    cache_read_tokens: sum.cacheReadTokens,
    cache_write_tokens: sum.cacheWriteTokens,
  };
}

function toSum(row: SummedRow): AffinitySum {
  return {
    at: 0,
    providerId: row.provider_id,
    source: row.source,
    fate: row.fate,
    requests: Number(row.requests),
    inputTokens: Number(row.input_tokens),
    cacheReadTokens: Number(row.cache_read_tokens),
    cacheWriteTokens: Number(row.cache_write_tokens),
  };
}
