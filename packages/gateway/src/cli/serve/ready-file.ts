import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { type CommandError, failed } from "../exit.ts";

/** How a running gateway tells where it is: contract §1, and `gateway.json` in the data directory. */
export interface Running {
  readonly url: string;
  readonly pid: number;
  readonly version: string;
}

/**
 * Writes the file so that whoever waits for it never reads half of it. Only its owner may read it.
 *
 * @throws CommandError (1)
 */
export function writeRunning(path: string, running: Running): void {
  const draft = `${path}.${running.pid}.new`;
  try {
    writeFileSync(draft, `${JSON.stringify(running)}\n`, { mode: 0o600 });
    renameSync(draft, path);
  } catch (error) {
    throw unusable(path, error);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** What a running gateway wrote; undefined if there is no such file, or not one that can be understood. */
export function readRunning(path: string): Running | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isRunning(value) ? value : undefined;
  } catch {
    // None, or one that something else wrote: there is no gateway to be found by it.
    return undefined;
  }
}

/**
 * Removes what an earlier process left: it would tell those who wait for it of a gateway that is gone.
 *
 * @throws CommandError (1)
 */
export function clearRunning(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch (error) {
    throw unusable(path, error);
  }
}

/** Removes the file if it is this process's: another one may serve by now. */
export function removeRunning(path: string, pid: number): void {
  if (readRunning(path)?.pid === pid) rmSync(path, { force: true });
}

function isRunning(value: unknown): value is Running {
  if (typeof value !== "object" || value === null) return false;
  const { url, pid, version } = value as Record<string, unknown>;
  return typeof url === "string" && typeof pid === "number" && typeof version === "string";
}

function unusable(path: string, error: unknown): CommandError {
  const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
  return failed(`The file ${path} cannot be written: ${reason}.`, error);
}
