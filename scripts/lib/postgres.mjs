import { accessSync, constants, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { run } from "./run.mjs";
import { say } from "./say.mjs";

/** Where Debian and Homebrew keep each version apart, off the PATH. */
const versioned = ["/usr/lib/postgresql", "/usr/local/opt", "/opt/homebrew/opt"];

/**
 * The folder with `initdb` and `postgres` of a PostgreSQL on this machine, the newest if there are several.
 * `KEYWHEEL_TEST_POSTGRES` names another one.
 *
 * @returns {string | undefined}
 */
export function findPostgres() {
  const named = process.env.KEYWHEEL_TEST_POSTGRES;
  if (named) return named;
  const ofVersions = versioned.flatMap((folder) =>
    namesIn(folder)
      .filter((name) => /^(postgresql(@\d+)?|\d+)$/.test(name))
      .sort((one, other) => versionOf(other) - versionOf(one))
      .map((name) => join(folder, name, "bin")),
  );
  const onPath = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return [...ofVersions, ...onPath].find((folder) =>
    ["initdb", "postgres"].every((name) => isExecutable(join(folder, name))),
  );
}

/**
 * Installs PostgreSQL where there is none and that can be done without asking anybody: on Debian and its kin, as root.
 *
 * @throws with what a person has to do, anywhere else
 */
export async function ensurePostgres() {
  if (findPostgres() !== undefined) return;
  if (process.platform === "linux" && process.getuid?.() === 0 && isExecutable("/usr/bin/apt-get")) {
    say("Installing PostgreSQL for the tests of the store …");
    const env = { DEBIAN_FRONTEND: "noninteractive" };
    await run("apt-get", ["update"], { capture: true, env });
    const install = await run("apt-get", ["install", "-y", "--no-install-recommends", "postgresql"], {
      capture: true,
      env,
    });
    if (findPostgres() !== undefined) return;
    say(install.output.trimEnd());
  }
  throw new Error(
    "The tests of the store need PostgreSQL 15 or newer, and there is none here: install one, or name the folder of its initdb in KEYWHEEL_TEST_POSTGRES.",
  );
}

/** @param {string} folder */
function namesIn(folder) {
  try {
    return readdirSync(folder);
  } catch {
    // No such folder: nothing is installed there.
    return [];
  }
}

/** @param {string} name */
function versionOf(name) {
  return Number(/\d+/.exec(name)?.[0] ?? 0);
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not for us: either way it is none.
    return false;
  }
}
