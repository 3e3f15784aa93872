import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { failed } from "../exit.ts";
import type { Fields } from "./parts.ts";

/** Tables of another tool's database, to be looked at. */
export interface Tables {
  has(table: string): boolean;
  rows(table: string): readonly Fields[];
  count(table: string): number;
}

/**
 * Looks at a copy of a SQLite file, its log (`-wal`) with it: the tool may be running, and nothing of it is changed.
 *
 * @throws CommandError (1) for what is no database
 */
export async function withTables<T>(file: string, look: (tables: Tables) => T): Promise<T> {
  const { DatabaseSync } = await import("node:sqlite");
  const folder = mkdtempSync(join(tmpdir(), "keywheel-import-"));
  try {
    const copy = join(folder, basename(file));
    for (const end of ["", "-wal"]) if (existsSync(file + end)) copyFileSync(file + end, copy + end);
    const database = new DatabaseSync(copy);
    try {
      const has = (table: string): boolean =>
        database.prepare("select 1 from sqlite_master where type = 'table' and name = ?").get(table) !== undefined;
      return look({
        has,
        // Names of our own, never from outside.
        rows: (table) => database.prepare(`select * from "${table}" order by id`).all(),
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
export function isSqlite(bytes: Buffer): boolean {
  return bytes.subarray(0, 16).toString("latin1") === "SQLite format 3\u0000";
}
