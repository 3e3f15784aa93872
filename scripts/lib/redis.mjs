import { join } from "node:path";
import { ensureProgram, foldersOnPath, isExecutable } from "./debian.mjs";

/**
 * A Redis or Valkey server on this machine. `KEYWHEEL_TEST_REDIS` names another one.
 *
 * @returns {string | undefined} the path of its executable
 */
export function findRedis() {
  const named = process.env.KEYWHEEL_TEST_REDIS;
  if (named) return named;
  return foldersOnPath()
    .flatMap((folder) => [join(folder, "redis-server"), join(folder, "valkey-server")])
    .find(isExecutable);
}

/** Installs Redis where there is none. @throws with what a person has to do where that cannot be done */
export function ensureRedis() {
  return ensureProgram({
    name: "Redis",
    use: "the tests of the shared state",
    debianPackage: "redis-server",
    find: findRedis,
    otherwise:
      "The tests of the shared state need redis-server or valkey-server 6.2 or newer, and there is none here: install one, or name its executable in KEYWHEEL_TEST_REDIS.",
  });
}
