import { closeSync, openSync, statSync, truncateSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const pageBytes = 4096;

/** Overwrites, in place, as a broken disk would. */
export function overwrite(file: string, at: number, bytes: number): void {
  const descriptor = openSync(file, "r+");
  try {
    writeSync(descriptor, Buffer.alloc(bytes, 0xa5), 0, bytes, at);
  } finally {
    closeSync(descriptor);
  }
}

/** Overwrites the page in which a table begins. */
export function overwriteTable(file: string, table: string): void {
  const database = new DatabaseSync(file, { readOnly: true });
  const row = database.prepare("select rootpage from sqlite_schema where name = ?").get(table);
  database.close();
  overwrite(file, (Number(row?.["rootpage"]) - 1) * pageBytes, pageBytes);
}

/** Cuts off the second half. */
export const halve = (file: string): void =>
  truncateSync(file, Math.floor(statSync(file).size / 2 / pageBytes) * pageBytes);
