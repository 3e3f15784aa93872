import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import { dirname, parse, resolve } from "node:path";
import { KeywheelError } from "@keywheel/pool";

/** Only the owner may enter, or read. @see contract §5 */
const folderMode = 0o700;
const fileMode = 0o600;

/**
 * Makes the data directory, or takes an existing one, and keeps everybody else out of it.
 *
 * @throws KeywheelError store_unavailable
 */
export function preparePrivateFolder(path: string): void {
  const folder = resolve(path);
  // Mode 0700 on one of these would lock a whole machine out.
  if (folder === parse(folder).root || isShared(folder)) {
    throw new KeywheelError("store_unavailable", `The data directory ${folder} is shared by the whole machine`, {
      hint: "Name a directory of its own with --data-dir.",
    });
  }
  try {
    mkdirSync(folder, { recursive: true, mode: folderMode });
    tightenFolder(folder);
  } catch (error) {
    throw new KeywheelError("store_unavailable", `The data directory ${folder} cannot be used: ${reasonOf(error)}`, {
      hint: "Make it a directory that this user may write, or name another one with --data-dir.",
      cause: error,
    });
  }
}

/** Takes the rights to a file from everybody but its owner. A file that is not there is none to protect. */
export function tightenFile(path: string): void {
  try {
    takeFromOthers(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw new KeywheelError("store_unavailable", `The mode of ${path} cannot be set to 0600: ${reasonOf(error)}`, {
      hint: "Give the file to the user that runs the gateway.",
      cause: error,
    });
  }
}

/**
 * Makes a file that nobody has seen half written: all of it is there, or nothing is.
 *
 * @param fill writes the contents to a path at which an empty file of mode 0600 lies
 * @returns false if the file was there already; it is left as it is
 */
export function createPrivateFile(path: string, fill: (draft: string) => void): boolean {
  if (existsSync(path)) return false;
  const draft = `${path}.${randomUUID()}.new`;
  try {
    closeSync(openSync(draft, "wx", fileMode));
    // The umask may have taken more than it should; a mode wider than asked for cannot come of it.
    chmodSync(draft, fileMode);
    fill(draft);
    syncFile(draft);
    if (!linkUnlessTaken(draft, path)) return false;
    syncFolder(dirname(path));
    return true;
  } catch (error) {
    throw new KeywheelError("store_unavailable", `${path} cannot be made: ${reasonOf(error)}`, {
      hint: "Check that the data directory may be written and that the disk is not full.",
      cause: error,
    });
  } finally {
    rmSync(draft, { force: true });
  }
}

/** @returns false if the file was there already */
export function createPrivateText(path: string, text: string): boolean {
  return createPrivateFile(path, (draft) => writeFileSync(draft, text));
}

/** The operating system's word for what went wrong (`EACCES`, `ENOSPC`), or the error's own message. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  // Node's own codes (`ERR_…`) say less than the message.
  if (code !== undefined && !code.startsWith("ERR_")) return code;
  return error instanceof Error ? error.message : String(error);
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** File systems without hard links (FAT, some network shares) answer one of these. */
const noLinks: ReadonlySet<string | undefined> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/** Gives a draft its name. @returns false if that name is taken */
export function linkUnlessTaken(draft: string, path: string): boolean {
  try {
    // Unlike a rename, a link fails if another process was first.
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    if (!noLinks.has(codeOf(error))) throw error;
  }
  if (existsSync(path)) return false;
  renameSync(draft, path);
  return true;
}

function tightenFolder(folder: string): void {
  try {
    takeFromOthers(folder);
  } catch (error) {
    // A mounted volume often belongs to root while its group may write. Its files are still closed to others.
    if (codeOf(error) !== "EPERM") throw error;
  }
}

function isShared(folder: string): boolean {
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats !== undefined && (stats.mode & 0o1000) !== 0;
}

function takeFromOthers(path: string): void {
  const mode = statSync(path).mode & 0o7777;
  // Nothing is given: an owner who made the master key read-only had a reason.
  if ((mode & 0o077) !== 0) chmodSync(path, mode & 0o700);
}

/** Makes sure that what was written to a file outlives a power cut. */
export function syncFile(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes sure that names that came and went in a folder do so for good. */
export function syncFolder(path: string): void {
  syncFile(path);
}
