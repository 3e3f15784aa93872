import { type Expression, type Insertable, type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import { inLockOrder, parametersOf, runMany } from "./run-many.ts";
import type { Database, KeyTotalTable, UsageTable } from "./schema.ts";
import type { KeyTotals, UsageCounts, UsageGroup, UsageQuery, UsageSum } from "./store.ts";

const countColumns = {
  requests: "requests",
  errors: "errors",
  failovers: "failovers",
  inputTokens: "input_tokens",
  cacheReadTokens: "cache_read_tokens",
  cacheWriteTokens: "cache_write_tokens",
  outputTokens: "output_tokens",
  reasoningTokens: "reasoning_tokens",
} as const satisfies Record<keyof UsageCounts, keyof UsageTable>;
const countNames = Object.keys(countColumns) as (keyof UsageCounts)[];

/** Adds to what is there; the label is the last one told. */
export async function addUsage(trx: Transaction<Database>, sums: readonly UsageSum[]): Promise<void> {
  const rows = inLockOrder(sums.map(toRow), ["span", "at", "provider_id", "key_id", "token_id", "model"]);
  const [first] = rows;
  if (first === undefined) return;
  const query = trx
    .insertInto("usage_sums")
    .values(first)
    .onConflict((conflict) =>
      conflict.columns(["span", "at", "provider_id", "key_id", "token_id", "model"]).doUpdateSet((eb) => ({
        label: eb.ref("excluded.label"),
        ...Object.fromEntries(
          countNames.map((name) => {
            const column = countColumns[name];
            return [column, eb(`usage_sums.${column}`, "+", eb.ref(`excluded.${column}`))];
          }),
        ),
      })),
    )
    .compile();
  await runMany(trx, query, parametersOf(rows));
}

export async function addKeyTotals(trx: Transaction<Database>, totals: readonly KeyTotals[]): Promise<void> {
  const all = totals.map(({ keyId, requests, successes, failures, lastUsedAt }): Insertable<KeyTotalTable> => ({
    key_id: keyId,
    requests,
    successes,
    failures,
    last_used_at: lastUsedAt,
  }));
  const rows = inLockOrder(all, ["key_id"]);
  const [first] = rows;
  if (first === undefined) return;
  const query = trx
    .insertInto("key_totals")
    .values(first)
    .onConflict((conflict) =>
      conflict.column("key_id").doUpdateSet((eb) => ({
        requests: eb("key_totals.requests", "+", eb.ref("excluded.requests")),
        successes: eb("key_totals.successes", "+", eb.ref("excluded.successes")),
        failures: eb("key_totals.failures", "+", eb.ref("excluded.failures")),
        last_used_at: eb.ref("excluded.last_used_at"),
      })),
    )
    .compile();
  await runMany(trx, query, parametersOf(rows));
}

/** Of the keys that there are. */
export async function readKeyTotals(db: Kysely<Database>): Promise<readonly KeyTotals[]> {
  const rows = await db
    .selectFrom("key_totals")
    .innerJoin("keys", "keys.id", "key_totals.key_id")
    .selectAll("key_totals")
    .execute();
  return rows.map((row) => ({
    keyId: row.key_id,
    requests: row.requests,
    successes: row.successes,
    failures: row.failures,
    lastUsedAt: row.last_used_at,
  }));
}

const dayMs = 86_400_000;

const groupColumns: Readonly<Record<UsageGroup, RawBuilder<unknown>>> = {
  time: sql.ref("at"),
  // Whole days in UTC; both databases divide integers to integers.
  day: sql`at / ${sql.lit(dayMs)} * ${sql.lit(dayMs)}`,
  provider: sql.ref("provider_id"),
  key: sql.ref("key_id"),
  label: sql.ref("label"),
  token: sql.ref("token_id"),
  model: sql.ref("model"),
};

interface SummedRow extends Record<keyof UsageCounts, number | string | null> {
  readonly time: number;
  readonly day: number;
  readonly provider: string;
  readonly key: string;
  readonly label: string;
  readonly token: string;
  readonly model: string;
  readonly last_label: string | null;
}

/** In the order of the groups. */
export async function readUsage(db: Kysely<Database>, query: UsageQuery): Promise<readonly UsageSum[]> {
  const groups = query.by.map((group) => sql`${groupColumns[group]} as ${sql.ref(group)}`);
  const sums = countNames.map((name) => sql`sum(${sql.ref(countColumns[name])}) as ${sql.ref(name)}`);
  const order = query.by.map((_, index) => sql.lit(index + 1));
  const grouping: RawBuilder<unknown> =
    order.length === 0 ? sql`` : sql`group by ${sql.join(order)} order by ${sql.join(order)}`;
  const { rows } = await sql<SummedRow>`
    select ${sql.join([...groups, ...sums, sql`max(label) as last_label`])} from usage_sums
    where span = ${query.span} and at >= ${query.from} and at < ${query.to} ${narrowing(query)}
    ${grouping} limit ${query.limit}`.execute(db);
  return rows.filter((row) => row.requests !== null).map((row) => toSum(row, query));
}

function narrowing({ providerId, keyId }: UsageQuery): RawBuilder<unknown> {
  const conditions: Expression<unknown>[] = [sql``];
  if (providerId !== undefined) conditions.push(sql`provider_id = ${providerId}`);
  if (keyId !== undefined) conditions.push(sql`key_id = ${keyId}`);
  return sql.join(conditions, sql` and `);
}

function toSum(row: SummedRow, { by, span }: UsageQuery): UsageSum {
  const textOf = (group: Exclude<UsageGroup, "time" | "day">): string => (by.includes(group) ? row[group] : "");
  const at = by.includes("time") ? row.time : by.includes("day") ? row.day : 0;
  // A sum of `bigint` may come as text.
  const counts = Object.fromEntries(countNames.map((name) => [name, Number(row[name])]));
  return {
    span,
    at,
    providerId: textOf("provider"),
    keyId: textOf("key"),
    label: by.includes("key") && !by.includes("label") ? (row.last_label ?? "") : textOf("label"),
    tokenId: textOf("token"),
    model: textOf("model"),
    ...(counts as unknown as UsageCounts),
  };
}

/** Removes sums from before an instant, `limit` at most. @returns how many */
export async function deleteUsageBefore(
  trx: Transaction<Database>,
  { span, before, limit }: { readonly span: UsageSum["span"]; readonly before: number; readonly limit: number },
): Promise<number> {
  const doomed = await trx
    .selectFrom("usage_sums")
    .select(["span", "at", "provider_id", "key_id", "token_id", "model"])
    .where("span", "=", span)
    .where("at", "<", before)
    .orderBy("at")
    .limit(limit)
    .execute();
  const query = trx
    .deleteFrom("usage_sums")
    .where("span", "=", "hour")
    .where("at", "=", 0)
    .where("provider_id", "=", "")
    .where("key_id", "=", "")
    .where("token_id", "=", "")
    .where("model", "=", "")
    .compile();
  return await runMany(trx, query, parametersOf(doomed));
}

/** Totals of keys that are gone and were last used before an instant. */
export async function deleteKeyTotalsBefore(trx: Transaction<Database>, before: number): Promise<void> {
  await trx
    .deleteFrom("key_totals")
    .where("last_used_at", "<", before)
    .where("key_id", "not in", trx.selectFrom("keys").select("id"))
    .execute();
}

function toRow({ span, at, providerId, keyId, label, tokenId, model, ...counts }: UsageSum): Insertable<UsageTable> {
  return {
    span,
    at,
    provider_id: providerId,
    key_id: keyId,
    token_id: tokenId,
    model,
    label,
    requests: counts.requests,
    errors: counts.errors,
    failovers: counts.failovers,
    input_tokens: counts.inputTokens,
    cache_read_tokens: counts.cacheReadTokens,
    cache_write_tokens: counts.cacheWriteTokens,
    output_tokens: counts.outputTokens,
    reasoning_tokens: counts.reasoningTokens,
  };
}
