import { chmodSync, closeSync, existsSync, openSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { basename, dirname, join, resolve } from "node:path";
import { KeywheelError } from "@keywheel/pool";
import { lockFile, runningFile } from "./data-dir-lock.ts";
import { masterKeyFile } from "./master-key.ts";
import { codeOf, linkUnlessTaken, reasonOf, syncFile, syncFolder } from "./private-files.ts";
import { databaseFile } from "./sqlite-engine.ts";
import { SqliteThread } from "./sqlite-thread.ts";

export interface BackupOptions {
  readonly dataDir: string;
  /** The file to be made, of mode 0600. */
  readonly file: string;
  /** Whether a file that is there already is replaced. */
  readonly replaces: boolean;
  /** Ends it early; nothing is left behind then. */
  readonly signal?: AbortSignal;
}

export interface BackupOutcome {
  readonly file: string;
  readonly bytes: number;
  readonly providers: number;
  readonly keys: number;
}

/**
 * Copies the database of a data directory as it is at this instant, whether or not a gateway writes to it.
 *
 * `VACUUM INTO` reads in one transaction, which holds up no writer, and takes along neither the log nor what was deleted.
 * SQLite's backup API would begin again with every write of the gateway. What was made is opened and checked before it
 * gets its name. For a process that has not opened the store: closing a handle here would end that one's locks.
 *
 * @throws KeywheelError conflict for a file that is there or that the gateway needs, not_found where there is no database,
 *   store_unavailable for whatever cannot be read or written, or is damaged
 */
export async function backUp({ dataDir, file, replaces, signal }: BackupOptions): Promise<BackupOutcome> {
  const path = resolve(file);
  const source = join(dataDir, databaseFile);
  if (!existsSync(source)) throw noDatabase(dataDir);
  refuseOwnFiles(dataDir, path);
  if (existsSync(path) && !replaces) throw taken(path);
  const draft = `${path}.${randomUUID()}.new`;
  try {
    makeDraft(draft);
    await copyInto(source, draft, signal);
    const counts = await examine(draft);
    syncFile(draft);
    if (replaces) renameSync(draft, path);
    else if (!linkUnlessTaken(draft, path)) throw taken(path);
    syncFolder(dirname(path));
    return { file: path, bytes: statSync(path).size, ...counts };
  } finally {
    for (const side of ["", "-journal"]) rmSync(`${draft}${side}`, { force: true });
  }
}

function refuseOwnFiles(dataDir: string, path: string): void {
  const own: ReadonlySet<string> = new Set([
    ...["", "-wal", "-shm", "-journal"].map((side) => databaseFile + side),
    masterKeyFile,
    lockFile,
    runningFile,
  ]);
  const isInside = existsSync(dirname(path)) && realpathSync(dirname(path)) === realpathSync(dataDir);
  if (!isInside || !own.has(basename(path))) return;
  throw new KeywheelError("conflict", `${path} is a file that the gateway needs`, {
    hint: "Name another file, best on another disk.",
  });
}

function makeDraft(draft: string): void {
  try {
    closeSync(openSync(draft, "wx", 0o600));
    chmodSync(draft, 0o600);
  } catch (error) {
    const why = codeOf(error) === "ENOENT" ? "there is no such folder" : reasonOf(error);
    throw new KeywheelError("store_unavailable", `A backup cannot be made in ${dirname(draft)}: ${why}`, {
      hint: "Name a file in a folder that is there and that you may write to.",
      cause: error,
    });
  }
}

async function copyInto(source: string, draft: string, signal: AbortSignal | undefined): Promise<void> {
  const thread = new SqliteThread();
  const cut = (): void => thread.cut();
  signal?.addEventListener("abort", cut);
  try {
    signal?.throwIfAborted();
    await thread.send({ kind: "open", file: source, readOnly: true, busyTimeoutMs: 10_000 });
    await thread.send({ kind: "query", sql: "VACUUM INTO ?", parameters: [draft] });
  } catch (error) {
    if (signal?.aborted) throw new KeywheelError("store_unavailable", "The backup was ended early", { hint: "" });
    throw new KeywheelError("store_unavailable", `${source} cannot be copied: ${reasonOf(error)}`, {
      hint: "Check the disk of the data directory, and that the backup's disk has room. No file was made.",
      cause: error,
    });
  } finally {
    signal?.removeEventListener("abort", cut);
    await thread.close();
  }
}

/** @throws KeywheelError store_unavailable if it is not whole */
async function examine(draft: string): Promise<{ readonly providers: number; readonly keys: number }> {
  const thread = new SqliteThread();
  const ask = async (sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    (await thread.send({ kind: "query", sql, parameters: [] })).rows;
  try {
    await thread.send({ kind: "open", file: draft, readOnly: true, busyTimeoutMs: 0 });
    const [verdict] = await ask("PRAGMA integrity_check(1)");
    if (verdict?.["integrity_check"] !== "ok") throw new Error(String(verdict?.["integrity_check"]));
    const [counts] = await ask(
      "SELECT (SELECT count(*) FROM providers) AS providers, (SELECT count(*) FROM keys) AS keys",
    );
    return { providers: Number(counts?.["providers"]), keys: Number(counts?.["keys"]) };
  } catch (error) {
    throw new KeywheelError("store_unavailable", `The copy is not whole: ${reasonOf(error)}`, {
      hint: "The database may be damaged; keep the backups that you have. No file was made.",
      cause: error,
    });
  } finally {
    await thread.close();
  }
}

function taken(path: string): KeywheelError {
  return new KeywheelError("conflict", `The file ${path} is there already`, {
    hint: "Name another one, or say --force to replace it.",
  });
}

function noDatabase(dataDir: string): KeywheelError {
  return new KeywheelError("not_found", `There is no database in ${dataDir}`, {
    hint: "Say which data directory you mean with --data-dir.",
  });
}
