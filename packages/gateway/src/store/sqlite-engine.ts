import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { KeywheelError } from "@keywheel/pool";
import { createSqliteDialect } from "./dialect-sqlite.ts";
import type { DatabaseEngine, EngineFault } from "./engine.ts";
import { createPrivateFile, tightenFile } from "./private-files.ts";
import { scrubSqlite } from "./sqlite-scrub.ts";
import { SqliteError } from "./sqlite-thread.ts";

export const databaseFile = "keywheel.db";

export interface SqliteEngineOptions {
  readonly dataDir: string;
  /** How long a statement waits while another process holds the database. */
  readonly busyTimeoutMs: number;
}

/**
 * The SQLite database of a data directory; made at the first start.
 *
 * @throws KeywheelError store_unavailable
 */
export function createSqliteEngine({ dataDir, busyTimeoutMs }: SqliteEngineOptions): DatabaseEngine {
  const file = join(dataDir, databaseFile);
  prepareFile(file);
  return {
    name: file,
    writer: createSqliteDialect({ file, readOnly: false, busyTimeoutMs }),
    reader: createSqliteDialect({ file, readOnly: true, busyTimeoutMs }),
    addSequence: (table) => table.addColumn("seq", "integer", (column) => column.primaryKey().autoIncrement()),
    scrub: (db) => scrubSqlite(db, busyTimeoutMs),
    explain: (error) => explain(error, file),
  };
}

function prepareFile(file: string): void {
  // SQLite gives its side files the mode of the database itself, so that one is made first, and never under the umask.
  createPrivateFile(file, (draft) => {
    const database = new DatabaseSync(draft);
    // Writes the header: from here on a database of no bytes is a damaged one, never a new one.
    database.exec("PRAGMA journal_mode = WAL");
    database.close();
  });
  for (const path of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) tightenFile(path);
  // SQLite would take a file of no bytes for an empty database, and the loss would go unnoticed.
  if (statSync(file).size > 0) return;
  const { message, hint } = damaged(file, "it has no contents");
  throw new KeywheelError("store_unavailable", message, { hint });
}

type Unavailable = EngineFault & { kind: "unavailable" };

/** By the primary result code. @see https://sqlite.org/rescode.html */
function explain(error: unknown, file: string): EngineFault {
  if (!(error instanceof SqliteError)) return { kind: "unexpected" };
  if (error.code === undefined) return unavailable(`${file}: ${error.message}`, "See the log; it is tried again.");
  switch (error.code & 0xff) {
    case 5: // SQLITE_BUSY
    case 6: // SQLITE_LOCKED
      return unavailable(`${file} is locked by another process`, "End whatever else has the database open.");
    case 8: // SQLITE_READONLY
      return unavailable(`${file} cannot be written`, "Make the file and its directory writable for this user.");
    case 13: // SQLITE_FULL
      return unavailable(`The disk that holds ${file} is full`, "Free some space.");
    case 14: // SQLITE_CANTOPEN
      return unavailable(
        `${file} cannot be opened`,
        "Check that its disk is there and that this user may write to it.",
      );
    case 7: // SQLITE_NOMEM
    case 10: // SQLITE_IOERR
    case 15: // SQLITE_PROTOCOL
      return unavailable(`${file} cannot be used: ${error.message}`, "Check the disk of the data directory.");
    case 11: // SQLITE_CORRUPT
    case 26: // SQLITE_NOTADB
      return damaged(file, error.message);
    case 19: // SQLITE_CONSTRAINT
      return violation(error);
    default:
      return { kind: "unexpected" };
  }
}

function unavailable(message: string, hint: string): Unavailable {
  return { kind: "unavailable", message, hint };
}

function damaged(file: string, why: string): Unavailable {
  return unavailable(
    `${file} is damaged: ${why}`,
    "Put a backup in its place, or move the file away to begin with an empty database. It was not touched.",
  );
}

function violation(error: SqliteError): EngineFault {
  const columns = /^UNIQUE constraint failed: (.*)$/.exec(error.message)?.[1]?.split(", ");
  if (columns !== undefined) return { kind: "taken", columns };
  return error.message.startsWith("FOREIGN KEY") ? { kind: "orphan" } : { kind: "unexpected" };
}
