import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failed } from "../exit.ts";
import type { Tables } from "./tables.ts";

/**
 * Looks at a copy of a SQLite file, its log (`-wal`) with it: the tool may be running, and nothing of it is changed.
 *
 * @throws CommandError (1) for what is no database
 */
export async function withSqliteFile<T>(file: string, look: (tables: Tables) => T): Promise<T> {
  return withCopy(file, look, (copy) => {
    for (const end of ["", "-wal"]) if (existsSync(file + end)) copyFileSync(file + end, copy + end);
  });
}

/**
 * Looks at a SQLite database that was packed into another file.
 *
 * @param file what it was in, for what is said of it
 * @throws CommandError (1) for what is no database
 */
export async function withSqliteBytes<T>(file: string, bytes: Uint8Array, look: (tables: Tables) => T): Promise<T> {
  return withCopy(file, look, (copy) => writeFileSync(copy, bytes, { mode: 0o600 }));
}

async function withCopy<T>(file: string, look: (tables: Tables) => T, make: (copy: string) => void): Promise<T> {
  const { DatabaseSync } = await import("node:sqlite");
  const folder = mkdtempSync(join(tmpdir(), "keywheel-import-"));
  try {
    const copy = join(folder, "copy.db");
    make(copy);
    const database = new DatabaseSync(copy);
    try {
      const has = (table: string): boolean =>
        database.prepare("select 1 from sqlite_master where type = 'table' and name = ?").get(table) !== undefined;
      return look({
        has,
        // Names of our own, never from outside. Its rows stand in the order in which they were made.
        rows: (table) => database.prepare(`select * from "${table}" order by rowid`).all(),
        count: (table) => Number(database.prepare(`select count(*) as n from "${table}"`).get()?.["n"] ?? 0),
      });
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR") {
      throw failed(`${file} is no SQLite database, or a damaged one: ${error.message}.`, error);
    }
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether a file begins as a SQLite database does. @see https://sqlite.org/fileformat.html#magic_header_string */
export function isSqlite(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 16)).toString("latin1") === "SQLite format 3\u0000";
}
