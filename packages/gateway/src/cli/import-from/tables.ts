import { gunzipSync } from "node:zlib";
import { failed } from "../exit.ts";
import { type Fields, maxBytes, readBytes } from "./parts.ts";
import { isSqlite, withSqliteFile } from "./sqlite.ts";
import { tablesOfDump } from "./sql-dump.ts";

/** Tables of another tool's database, to be looked at. */
export interface Tables {
  has(table: string): boolean;
  /** In the order in which they were made. */
  rows(table: string): readonly Fields[];
  count(table: string): number;
}

/**
 * Looks at the tables of a database, whichever way it came: the SQLite file, or a dump of MySQL, MariaDB or PostgreSQL as SQL,
 * which may be compressed with gzip.
 *
 * @param names the tables that are looked at; others of a dump are passed over
 * @returns undefined for what is neither
 * @throws CommandError (1) for what is damaged, or cut short
 */
export async function withTables<T>(
  file: string,
  names: readonly string[],
  look: (tables: Tables) => T,
): Promise<T | undefined> {
  const bytes = readBytes(file);
  if (isSqlite(bytes)) return withSqliteFile(file, look);
  const plain = isGzip(bytes) ? unpacked(bytes, file) : bytes;
  if (plain.subarray(0, 5).toString("latin1") === "PGDMP") {
    throw failed(`${file} is a dump in PostgreSQL's own format. Make SQL of it: pg_restore -f dump.sql ${file}`);
  }
  const tables = tablesOfDump(plain.toString("utf8"), file, names);
  return tables === undefined ? undefined : look(tables);
}

function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

function unpacked(bytes: Buffer, file: string): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    const isTooLarge = error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
    const why = isTooLarge ? `unpacked it has more than ${maxBytes} bytes` : "it cannot be unpacked";
    throw failed(`${file} is ${isTooLarge ? "too large" : "damaged"}: ${why}.`, error);
  }
}
