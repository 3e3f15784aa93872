import { type Kysely, sql } from "kysely";
import type { Database } from "./schema.ts";

/** The tables that hold sealed values. */
const sealedTables = ["providers", "keys"] as const;

/**
 * Takes out of `keywheel.db` and its log what deleted and replaced values have left there.
 *
 * `secure_delete` overwrites a row where it lies, and pages that are freed. It does not reach the copies that stay behind
 * in the unused middle of a page when SQLite moves rows between neighbours to balance them: one value in some thousands
 * survived so. Writing the two small tables anew frees, and so overwrites, every page that they had. Then the log is
 * emptied: it holds pages as they were before.
 *
 * @returns false if a reader of the log was in the way
 */
export async function scrubSqlite(db: Kysely<Database>, busyTimeoutMs: number): Promise<boolean> {
  return await db.connection().execute(async (own) => {
    // First: while somebody reads, nothing that is written now could leave the log.
    if (!(await emptyLog(own, busyTimeoutMs))) return false;
    // Off, or emptying a table would take sessions and healths with it. It cannot be switched inside a transaction.
    await sql`PRAGMA foreign_keys = OFF`.execute(own);
    // The copies must not go to a temporary file.
    await sql`PRAGMA temp_store = MEMORY`.execute(own);
    try {
      await own.transaction().execute(async (trx) => {
        for (const table of sealedTables) await writeAnew(trx, table);
      });
    } finally {
      await sql`PRAGMA foreign_keys = ON`.execute(own);
    }
    return await emptyLog(own, busyTimeoutMs);
  });
}

async function writeAnew(trx: Kysely<Database>, table: (typeof sealedTables)[number]): Promise<void> {
  const name = sql.ref(table);
  await sql`CREATE TEMP TABLE scrubbed AS SELECT * FROM ${name}`.execute(trx);
  await sql`DELETE FROM main.${name}`.execute(trx);
  await sql`INSERT INTO main.${name} SELECT * FROM scrubbed ORDER BY seq`.execute(trx);
  await sql`DROP TABLE scrubbed`.execute(trx);
}

async function emptyLog(db: Kysely<Database>, busyTimeoutMs: number): Promise<boolean> {
  // Without a wait: meanwhile nothing could be written.
  await sql`PRAGMA busy_timeout = 0`.execute(db);
  try {
    const { rows } = await sql<{ readonly busy: number }>`PRAGMA wal_checkpoint(TRUNCATE)`.execute(db);
    return rows[0]?.busy === 0;
  } finally {
    await sql`PRAGMA busy_timeout = ${sql.lit(busyTimeoutMs)}`.execute(db);
  }
}
