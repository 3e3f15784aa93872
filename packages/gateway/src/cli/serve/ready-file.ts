import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** How a running gateway tells where it is: contract §1, and `gateway.json` in the data directory. */
export interface Running {
  readonly url: string;
  readonly pid: number;
  readonly version: string;
}

/** Writes the file so that whoever waits for it never reads half of it. Only its owner may read it. */
export function writeRunning(path: string, running: Running): void {
  const draft = `${path}.${running.pid}.new`;
  try {
    writeFileSync(draft, `${JSON.stringify(running)}\n`, { mode: 0o600 });
    renameSync(draft, path);
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

/** Removes the file if it is this process's: another one may serve by now. */
export function removeRunning(path: string, pid: number): void {
  if (readRunning(path)?.pid === pid) rmSync(path, { force: true });
}

function isRunning(value: unknown): value is Running {
  if (typeof value !== "object" || value === null) return false;
  const { url, pid, version } = value as Record<string, unknown>;
  return typeof url === "string" && typeof pid === "number" && typeof version === "string";
}
