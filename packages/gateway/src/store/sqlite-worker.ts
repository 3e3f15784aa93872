import { statSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { parentPort } from "node:worker_threads";
import {
  ownFaults,
  type SqliteCommand,
  type SqliteFault,
  type SqliteReply,
  type SqliteRequest,
  type SqliteResult,
  type SqliteTransaction,
} from "./sqlite-protocol.ts";

// The thread that owns one connection. It may wait for a lock or a slow disk as long as it must: nobody else waits.

interface Prepared {
  readonly statement: StatementSync;
  readonly answersRows: boolean;
}

interface OpenedFile {
  readonly file: string;
  readonly readOnly: boolean;
  readonly inode: number;
  /** It only grows: nothing here ever makes it smaller. */
  size: number;
  /** Of its log, once there is one; it keeps its name for as long as the database is open. */
  logInode: number;
}

const nothing: SqliteResult = { rows: [], changes: 0 };
const maxPrepared = 200;

// A thread reports for itself, and has no use for the environment either. @see cli/main.ts
process.report.excludeEnv = true;

let database: DatabaseSync | undefined;
/** The file as it was opened. */
let opened: OpenedFile | undefined;
const prepared = new Map<string, Prepared>();

parentPort?.on("message", ({ id, command }: SqliteRequest) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin, a window would
  parentPort?.postMessage(answer(id, command));
  if (command.kind === "close") parentPort?.close();
});

function answer(id: number, command: SqliteCommand): SqliteReply {
  try {
    return { id, result: execute(command) };
  } catch (error) {
    return { id, fault: faultOf(error) };
  }
}

function execute(command: SqliteCommand): SqliteResult {
  switch (command.kind) {
    case "open":
      close();
      database = open(command);
      opened = { ...command, ...fileOf(command.file), logInode: 0 };
      return nothing;
    case "begin":
      refuseForeignFiles();
      database?.exec(`PRAGMA busy_timeout = ${command.waitMs}`);
      return query(prepare(command.sql), []);
    case "query":
      if (database?.isTransaction !== true) refuseForeignFiles();
      return query(prepare(command.sql), command.parameters as never);
    case "batch": {
      const { statement } = prepare(command.sql);
      let changes = 0;
      for (const row of command.rows) changes += Number(statement.run(...(row as never[])).changes);
      return { rows: [], changes };
    }
    case "transaction":
      return transact(command);
    case "rollback":
      if (database?.isTransaction === true) database.exec("rollback");
      return nothing;
    case "close":
      close();
      return nothing;
  }
}

/** For one journey between the threads: each takes longer than a statement does. */
function transact({ parts, waitMs, outlivesPower }: SqliteTransaction): SqliteResult {
  refuseForeignFiles();
  if (database === undefined) throw new Error("the database is not open");
  database.exec(`PRAGMA busy_timeout = ${waitMs}`);
  // The log is written, and not waited for; the next transaction that waits has it synced as well.
  if (!outlivesPower) database.exec("PRAGMA synchronous = NORMAL");
  try {
    prepare("begin immediate").statement.run();
    const changesOf = parts.map(({ sql, rows }) => {
      const { statement } = prepare(sql);
      return rows.map((row) => Number(statement.run(...(row as never[])).changes));
    });
    prepare("commit").statement.run();
    return { rows: [], changes: 0, changesOf };
  } finally {
    if (database.isTransaction) database.exec("rollback");
    if (!outlivesPower) database.exec("PRAGMA synchronous = FULL");
  }
}

function open({ file, readOnly, busyTimeoutMs }: SqliteCommand & { kind: "open" }): DatabaseSync {
  // SQLite would take it for an empty database, and throw its log away.
  if (statSync(file, { throwIfNoEntry: false })?.size === 0) throw fault(ownFaults.cutShort, "it has no contents");
  const url = pathToFileURL(file);
  // Never creates the file: one that has gone (a disk not mounted) must not come back as an empty database.
  url.searchParams.set("mode", readOnly ? "ro" : "rw");
  const fresh = new DatabaseSync(url, { readOnly, enableForeignKeyConstraints: true });
  try {
    fresh.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    if (!readOnly) fresh.exec("PRAGMA journal_mode = WAL");
    // FULL: a commit that was acknowledged outlives a power cut, not only the process.
    fresh.exec("PRAGMA synchronous = FULL");
    fresh.exec("PRAGMA secure_delete = ON");
    // 64 MB at most, taken as it is used: a million sessions are changed all over the file.
    fresh.exec(`PRAGMA cache_size = ${readOnly ? -8000 : -64_000}`);
    // What one very large transaction made of the write-ahead log is given back at the next checkpoint.
    fresh.exec(`PRAGMA journal_size_limit = ${64 * 1024 * 1024}`);
    return fresh;
  } catch (error) {
    fresh.close();
    throw error;
  }
}

/**
 * A file that was moved away or replaced takes writes without a word, and they are gone with the handle. What the log held
 * is saved then, as long as somebody still has it open.
 */
function refuseForeignFiles(): void {
  if (opened === undefined) return;
  const { inode, size } = fileOf(opened.file);
  if (inode !== opened.inode) throw fault(ownFaults.replaced, "the file was moved away or replaced");
  if (size < opened.size) throw fault(ownFaults.cutShort, "the file was cut short while it was in use");
  opened.size = size;
  const logInode = fileOf(`${opened.file}-wal`).inode;
  if (opened.logInode !== 0 && logInode !== opened.logInode) {
    if (!opened.readOnly) database?.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    throw fault(ownFaults.logReplaced, "its log (-wal) was moved away or replaced while it was in use");
  }
  opened.logInode = logInode;
}

function fault(errcode: number, message: string): Error {
  return Object.assign(new Error(message), { errcode });
}

function fileOf(path: string): { readonly inode: number; readonly size: number } {
  const { ino: inode, size } = statSync(path, { throwIfNoEntry: false }) ?? { ino: 0, size: 0 };
  return { inode, size };
}

function close(): void {
  prepared.clear();
  database?.close();
  database = undefined;
}

function prepare(sql: string): Prepared {
  const known = prepared.get(sql);
  if (known !== undefined) return known;
  if (database === undefined) throw new Error("the database is not open");
  const statement = database.prepare(sql);
  const fresh = { statement, answersRows: statement.columns().length > 0 };
  const oldest = prepared.keys().next();
  if (prepared.size >= maxPrepared && oldest.done !== true) prepared.delete(oldest.value);
  prepared.set(sql, fresh);
  return fresh;
}

function query({ statement, answersRows }: Prepared, parameters: readonly never[]): SqliteResult {
  if (!answersRows) return { rows: [], changes: Number(statement.run(...parameters).changes) };
  const rows = statement.all(...parameters);
  return { rows, changes: rows.length };
}

function faultOf(error: unknown): SqliteFault {
  if (!(error instanceof Error)) return { message: String(error), code: undefined };
  const code = "errcode" in error && typeof error.errcode === "number" ? error.errcode : undefined;
  return { message: error.message, code };
}
