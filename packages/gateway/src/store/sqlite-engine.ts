import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { KeywheelError } from "@keywheel/pool";
import { type Kysely, sql } from "kysely";
import { runningFile } from "./data-dir-lock.ts";
import { createSqliteDialect } from "./dialect-sqlite.ts";
import type { DatabaseEngine, EngineFault } from "./engine.ts";
import { createPrivateFile, tightenFile } from "./private-files.ts";
import type { Database } from "./schema.ts";
import { ownFaults } from "./sqlite-protocol.ts";
import { scrubSqlite } from "./sqlite-scrub.ts";
import { SqliteError, SqliteThread } from "./sqlite-thread.ts";

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
    bytes: "blob",
    addSequence: (table) => table.addColumn("seq", "integer", (column) => column.primaryKey().autoIncrement()),
    scrub: (db) => scrubSqlite(db, busyTimeoutMs),
    examine: (db, tables) => examineTables(db, tables),
    examineAll: () => examineFile(file, busyTimeoutMs),
    foldLog: async (db) => void (await sql`PRAGMA wal_checkpoint(PASSIVE)`.execute(db)),
    explain: (error) => explain(error, file),
  };
}

/**
 * Whether a gateway that did not end by itself has used this database, and its log is gone: with the log go the last changes,
 * and SQLite cannot tell.
 */
export function lacksLog(dataDir: string): boolean {
  const file = join(dataDir, databaseFile);
  return existsSync(join(dataDir, runningFile)) && existsSync(file) && !existsSync(`${file}-wal`);
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

/** Structure and rows, not whether every index is right: a fifth of the time of `integrity_check`. */
async function examineTables(db: Kysely<Database>, tables: readonly (keyof Database)[]): Promise<void> {
  for (const table of tables) {
    const { rows } = await sql`select name from sqlite_schema where name = ${table}`.execute(db);
    if (rows.length === 0) continue;
    const found = await sql<QuickCheck>`PRAGMA quick_check(${sql.lit(table)})`.execute(db);
    refuseFaults(found.rows);
  }
}

async function examineFile(file: string, busyTimeoutMs: number): Promise<void> {
  const thread = new SqliteThread();
  try {
    await thread.send({ kind: "open", file, readOnly: true, busyTimeoutMs });
    const { rows } = await thread.send({ kind: "query", sql: "PRAGMA quick_check(1)", parameters: [] });
    refuseFaults(rows as unknown as readonly QuickCheck[]);
  } finally {
    await thread.close();
  }
}

interface QuickCheck {
  readonly quick_check: string;
}

const sqliteCorrupt = 11;

function refuseFaults(rows: readonly QuickCheck[]): void {
  const verdict = rows[0]?.quick_check ?? "ok";
  if (verdict !== "ok") throw new SqliteError({ message: verdict.replaceAll("\n", " "), code: sqliteCorrupt });
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
      return cannotOpen(error, file);
    case 7: // SQLITE_NOMEM
    case 10: // SQLITE_IOERR
    case 15: // SQLITE_PROTOCOL
      return unavailable(`${file} cannot be used: ${error.message}`, "Check the disk of the data directory.");
    case 11: // SQLITE_CORRUPT
    case 26: // SQLITE_NOTADB
      return damaged(file, error.message);
    case 19: // SQLITE_CONSTRAINT
      return violation(error);
    case 1: // SQLITE_ERROR
      // Our statements name what the migrations have made: that it is gone is no mistake of theirs.
      return /^no such (table|column)/.test(error.message) ? damaged(file, error.message) : { kind: "unexpected" };
    default:
      return { kind: "unexpected" };
  }
}

function cannotOpen({ code, message }: SqliteError, file: string): Unavailable {
  if (code === ownFaults.replaced || code === ownFaults.logReplaced) {
    return unavailable(
      `${file} cannot be used as it is: ${message}`,
      "Leave the files of the data directory alone while the gateway runs. If it goes on, stop it and run `keywheel doctor`.",
    );
  }
  return unavailable(`${file} cannot be opened`, "Check that its disk is there and that this user may write to it.");
}

function unavailable(message: string, hint: string): Unavailable {
  return { kind: "unavailable", message, hint };
}

function damaged(file: string, why: string): EngineFault & { kind: "damaged" } {
  return {
    kind: "damaged",
    message: `${file} is damaged: ${why}`,
    hint:
      "Stop the gateway and look with `keywheel doctor`. Put a backup in its place, or move the file away to begin with " +
      "an empty database: it is never replaced by itself.",
  };
}

function violation(error: SqliteError): EngineFault {
  const columns = /^UNIQUE constraint failed: (.*)$/.exec(error.message)?.[1]?.split(", ");
  if (columns !== undefined) return { kind: "taken", columns };
  return error.message.startsWith("FOREIGN KEY") ? { kind: "orphan" } : { kind: "unexpected" };
}
