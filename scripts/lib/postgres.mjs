import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ensureProgram, foldersOnPath, isExecutable } from "./debian.mjs";

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
  return [...ofVersions, ...foldersOnPath()].find((folder) =>
    ["initdb", "postgres"].every((name) => isExecutable(join(folder, name))),
  );
}

/** Installs PostgreSQL where there is none. @throws with what a person has to do where that cannot be done */
export function ensurePostgres() {
  return ensureProgram({
    name: "PostgreSQL",
    use: "the tests of the store",
    debianPackage: "postgresql",
    find: findPostgres,
    otherwise:
      "The tests of the store need PostgreSQL 15 or newer, and there is none here: install one, or name the folder of its initdb in KEYWHEEL_TEST_POSTGRES.",
  });
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
