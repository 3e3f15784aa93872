import type { Transaction } from "kysely";
import type { Database } from "./schema.ts";

/** @param value undefined takes it away */
export async function setMeta(trx: Transaction<Database>, name: string, value: string | undefined): Promise<void> {
  if (value === undefined) {
    await trx.deleteFrom("meta").where("name", "=", name).execute();
    return;
  }
  await trx
    .insertInto("meta")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}

/** Sets what is not set yet. @returns what is set now */
export async function setMetaOnce(trx: Transaction<Database>, name: string, value: string): Promise<string> {
  await trx
    .insertInto("meta")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
  const row = await trx.selectFrom("meta").select("value").where("name", "=", name).executeTakeFirstOrThrow();
  return row.value;
}
