import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { KeywheelError } from "@keywheel/pool";
import { reasonOf, tightenFile } from "./private-files.ts";

export const lockFile = "lock";
/** Written by the running gateway once it serves, removed when it ends. */
export const runningFile = "gateway.json";

export interface DataDirLock {
  /** Lets the next gateway in. May be called twice. */
  release(): void;
}

/**
 * Takes a data directory for this process alone.
 *
 * The lock is one of the operating system's (SQLite holds it on an empty database): it ends with the process, also
 * under `kill -9`, and no stale file is ever in the way. Because POSIX drops it when the process closes any handle to
 * the file, nothing else may open `lock`, not even to read it.
 *
 * @throws KeywheelError conflict naming who has it, store_unavailable if the file cannot be made
 */
export function lockDataDir(dataDir: string): DataDirLock {
  const path = join(dataDir, lockFile);
  const database = open(path);
  try {
    // In memory: the default journal would be one more file beside the lock.
    database.exec("PRAGMA journal_mode = MEMORY");
    // Long enough for two that start at once: one of them gets it.
    database.exec("PRAGMA busy_timeout = 250");
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    throw refusal(error, dataDir, path);
  }
  return { release: () => void (database.isOpen && database.close()) };
}

function open(path: string): DatabaseSync {
  try {
    makeIfMissing(path);
    tightenFile(path);
    return new DatabaseSync(path);
  } catch (error) {
    throw unusable(path, error);
  }
}

function makeIfMissing(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    // EEXIST is the usual case. Not opened then: see above.
    if (reasonOf(error) !== "EEXIST") throw error;
  }
}

const sqliteBusy = 5;

function refusal(error: unknown, dataDir: string, path: string): KeywheelError {
  const isBusy = error instanceof Error && "errcode" in error && error.errcode === sqliteBusy;
  if (!isBusy) return unusable(path, error);
  return new KeywheelError("conflict", `The data directory ${dataDir} is in use by ${describeHolder(dataDir)}`, {
    hint: "Stop that one, or start this one with another --data-dir.",
    cause: error,
  });
}

function describeHolder(dataDir: string): string {
  try {
    const text = readFileSync(join(dataDir, runningFile), "utf8");
    const { pid, url } = JSON.parse(text) as { readonly pid?: unknown; readonly url?: unknown };
    return `the gateway at ${String(url)} (process ${String(pid)})`;
  } catch {
    // It is written only once that gateway serves; without it there is no more to say.
    return "another gateway";
  }
}

function unusable(path: string, error: unknown): KeywheelError {
  return new KeywheelError("store_unavailable", `The lock ${path} cannot be taken: ${reasonOf(error)}`, {
    hint: "Check that the data directory may be written, and that it is on a disk with file locks.",
    cause: error,
  });
}
