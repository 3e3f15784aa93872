import { existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { reasonOf } from "../../store/private-files.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const mebibyte = 1024 * 1024;
const littleSpace = 1024 * mebibyte;
/** The database's log alone may grow to 64 MiB before it is written back. */
const noSpace = 128 * mebibyte;

/** Whether the data directory is there, is this user's, and is closed to everybody else. @see contract §5 */
export function checkDataDir(dataDir: string): Check {
  const name = "data_directory";
  try {
    const folder = statSync(dataDir);
    if (!folder.isDirectory()) {
      return fail(name, `${dataDir} is no directory.`, "Name a directory of its own with --data-dir.");
    }
    const entries = [dataDir, ...readdirSync(dataDir).map((file) => join(dataDir, file))];
    const open = entries.filter((path) => (statSync(path).mode & 0o077) !== 0);
    const strange = entries.filter((path) => statSync(path).uid !== (process.getuid?.() ?? statSync(path).uid));
    if (strange.length > 0) {
      const advice = "Give them to the user that runs the gateway (chown), and run this command as that user.";
      return warn(name, `Another user owns ${strange.join(", ")}.`, advice);
    }
    if (open.length === 0) return ok(name, `${dataDir} is closed to other users.`);
    const advice = `Close them: chmod -R go= ${dataDir} (the next start does so as well).`;
    return warn(name, `Other users of this machine may get at ${open.join(", ")}.`, advice);
  } catch (error) {
    const advice = "Make it a directory that this user may read and write, or name another one with --data-dir.";
    return fail(name, `${dataDir} cannot be looked at: ${reasonOf(error)}.`, advice);
  }
}

/** Whether there is room for what is written down. @param freeBytes default: what this user may still write there */
export function checkDisk(dataDir: string, freeBytes = freeAt(dataDir)): Check {
  const free = `${Math.floor(freeBytes / mebibyte)} MiB are free for ${dataDir}`;
  const advice = "Make room, or move the data directory: what cannot be written down is lost with the process.";
  if (freeBytes < noSpace) return fail("disk", `Only ${free}.`, advice);
  return freeBytes < littleSpace ? warn("disk", `Only ${free}.`, advice) : ok("disk", `${free}.`);
}

function freeAt(path: string): number {
  let folder = path;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
