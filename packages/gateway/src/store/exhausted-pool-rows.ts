import type { Transaction } from "kysely";
import type { Database } from "./schema.ts";
import type { PoolTurn } from "./store.ts";

/** @returns whether the pool did not stand so already; false for one that is gone */
export async function takePoolTurn(
  trx: Transaction<Database>,
  { providerId, isExhausted, at }: PoolTurn,
): Promise<boolean> {
  if (!isExhausted) {
    const ended = await trx.deleteFrom("exhausted_pools").where("provider_id", "=", providerId).executeTakeFirst();
    return ended.numDeletedRows > 0n;
  }
  const provider = await trx.selectFrom("providers").select("id").where("id", "=", providerId).executeTakeFirst();
  if (provider === undefined) return false;
  const begun = await trx
    .insertInto("exhausted_pools")
    .values({ provider_id: providerId, at, watched_at: at })
    .onConflict((conflict) => conflict.column("provider_id").doNothing())
    .executeTakeFirst();
  return (begun.numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** Says that their recovery is watched for. */
export async function watchExhaustedPools(
  trx: Transaction<Database>,
  providerIds: readonly string[],
  now: number,
): Promise<void> {
  if (providerIds.length === 0) return;
  await trx.updateTable("exhausted_pools").set({ watched_at: now }).where("provider_id", "in", providerIds).execute();
}

/** Those for which nobody has watched since; from now on the caller does. @returns their providers */
export async function takeOverExhaustedPools(
  trx: Transaction<Database>,
  { unwatchedSince, now }: { readonly unwatchedSince: number; readonly now: number },
): Promise<readonly string[]> {
  const taken = await trx
    .updateTable("exhausted_pools")
    .set({ watched_at: now })
    .where("watched_at", "<=", unwatchedSince)
    .returning("provider_id")
    .execute();
  return taken.map(({ provider_id: id }) => id);
}
