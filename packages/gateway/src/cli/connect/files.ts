import { randomUUID } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { failed } from "../exit.ts";
import type { FileSetup } from "./client.ts";
import { change, Unreadable } from "./format.ts";

/** A file as it is and as it is to be. */
export interface Plan {
  readonly setup: FileSetup;
  /** Where it really lies: people keep such files in other folders and link to them. */
  readonly path: string;
  /** Undefined: it is not there. */
  readonly before: string | undefined;
  readonly after: string;
}

/** @throws CommandError (1) that says why the file cannot be changed */
export function planFile(setup: FileSetup): Plan {
  const path = realPath(setup.path);
  const before = readText(path);
  try {
    return { setup, path, before, after: change(setup.format, before ?? "", setup.changes) };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    throw failed(
      `${setup.path} cannot be changed: ${error.message}. Nothing was changed. Mend it, or make the change yourself: the same call without --write shows it.`,
      error,
    );
  }
}

/**
 * Writes what is planned, all of it or nothing of a file, readable by its owner alone. What was there before is kept beside it.
 *
 * @returns the path of the copy; undefined if there was nothing to keep or to do
 * @throws CommandError (1)
 */
export function writePlan({ setup, path, before, after }: Plan, now: Date): string | undefined {
  if (before === after) return undefined;
  if (readText(path) !== before) throw failed(`${setup.path} was changed by another program just now. Try again.`);
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const backup = before === undefined ? undefined : `${path}.${stampOf(now)}-${randomUUID().slice(0, 4)}.bak`;
    if (backup !== undefined && before !== undefined) writeWhole(backup, before);
    writeWhole(path, after);
    return backup;
  } catch (error) {
    throw unusable(setup.path, "written", error);
  }
}

function writeWhole(path: string, text: string): void {
  const draft = `${path}.${randomUUID()}.new`;
  try {
    const descriptor = openSync(draft, "wx", 0o600);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}

function realPath(path: string): string {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return path;
  try {
    return realpathSync(path);
  } catch (error) {
    throw failed(`${path} is a link to a file that is not there. Mend the link or remove it.`, error);
  }
}

function readText(path: string): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    if (error instanceof TypeError) throw failed(`${path} cannot be changed: it is not text in UTF-8.`, error);
    throw unusable(path, "read", error);
  }
}

function unusable(path: string, done: string, error: unknown): Error {
  const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
  return failed(`${path} cannot be ${done}: ${reason}.`, error);
}

/** `20261130-184100`, in UTC. */
function stampOf(now: Date): string {
  return now.toISOString().replace(/\..*$/, "").replaceAll(/[-:]/g, "").replace("T", "-");
}
