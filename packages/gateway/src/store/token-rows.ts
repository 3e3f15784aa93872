import type { Kysely, Selectable, Transaction } from "kysely";
import { runMany } from "./run-many.ts";
import type { Database, TokenTable } from "./schema.ts";
import type { TokenRecord, TokenTerms } from "./store.ts";

/** In order of creation. */
export async function readTokens(db: Kysely<Database>): Promise<readonly TokenRecord[]> {
  const rows = await db.selectFrom("tokens").selectAll().orderBy("seq").execute();
  return rows.map(toRecord);
}

export async function insertToken(trx: Transaction<Database>, token: TokenRecord): Promise<void> {
  const { id, hash, prefix, createdAt, lastUsedAt } = token;
  await trx
    .insertInto("tokens")
    .values({ id, hash, prefix, ...termColumns(token), created_at: createdAt, last_used_at: lastUsedAt })
    .execute();
}

export async function updateToken(trx: Transaction<Database>, id: string, terms: TokenTerms): Promise<void> {
  await trx.updateTable("tokens").set(termColumns(terms)).where("id", "=", id).execute();
}

function termColumns({ name, providerIds, expiresAt, maxRequestsPerMinute, maxConcurrent }: TokenTerms) {
  return {
    name,
    provider_ids: providerIds === null ? null : JSON.stringify(providerIds),
    expires_at: expiresAt,
    max_requests_per_minute: maxRequestsPerMinute,
    max_concurrent: maxConcurrent,
  };
}

export async function deleteToken(trx: Transaction<Database>, id: string): Promise<void> {
  await trx.deleteFrom("tokens").where("id", "=", id).execute();
}

export async function touchTokens(
  trx: Transaction<Database>,
  used: readonly { readonly id: string; readonly at: number }[],
): Promise<void> {
  const query = trx
    .updateTable("tokens")
    .set({ last_used_at: 0 })
    .where("id", "=", "")
    .where((eb) => eb.or([eb("last_used_at", "is", null), eb("last_used_at", "<", 0)]))
    .compile();
  await runMany(
    trx,
    query,
    used.map(({ id, at }) => [at, id, at]),
  );
}

function toRecord(row: Selectable<TokenTable>): TokenRecord {
  return {
    id: row.id,
    name: row.name,
    hash: row.hash,
    prefix: row.prefix,
    providerIds: row.provider_ids === null ? null : (JSON.parse(row.provider_ids) as readonly string[]),
    expiresAt: row.expires_at,
    maxRequestsPerMinute: row.max_requests_per_minute,
    maxConcurrent: row.max_concurrent,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}
