import { accessSync, constants, existsSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { run } from "./run.mjs";
import { say } from "./say.mjs";

/** Asked by Debian's packages before they start a service. */
const servicePolicy = "/usr/sbin/policy-rc.d";

/** Where the shell looks for programs. */
export function foldersOnPath() {
  return (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
}

/** @param {string} path */
export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not for us: either way it is none.
    return false;
  }
}

/**
 * Installs a program that the tests need where there is none and that can be done without asking anybody: on Debian and its
 * kin, as root. A service that comes with it is not started: each test has one of its own.
 *
 * @param {object} wanted
 * @param {string} wanted.name for people
 * @param {string} wanted.use what needs it: "the tests of the store"
 * @param {string | readonly string[]} wanted.debianPackage one, or several
 * @param {() => string | undefined} wanted.find
 * @param {string} wanted.otherwise what a person has to do anywhere else
 * @throws with that
 */
export async function ensureProgram({ name, use, debianPackage, find, otherwise }) {
  if (find() !== undefined) return;
  if (process.platform === "linux" && process.getuid?.() === 0 && isInstalled("apt-get")) {
    say(`Installing ${name} for ${use} …`);
    const options = { capture: true, env: { DEBIAN_FRONTEND: "noninteractive" } };
    await run("apt-get", ["update"], options);
    const install = await withoutServices(() =>
      run("apt-get", ["install", "-y", "--no-install-recommends", ...[debianPackage].flat()], options),
    );
    if (find() !== undefined) return;
    say(install.output.trimEnd());
  }
  throw new Error(otherwise);
}

/** @param {string} name */
function isInstalled(name) {
  return foldersOnPath().some((folder) => isExecutable(join(folder, name)));
}

/**
 * @template T
 * @param {() => Promise<T>} act
 * @returns {Promise<T>}
 */
async function withoutServices(act) {
  if (existsSync(servicePolicy)) return act();
  writeFileSync(servicePolicy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    return await act();
  } finally {
    rmSync(servicePolicy, { force: true });
  }
}
