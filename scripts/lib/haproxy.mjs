import { join } from "node:path";
import { ensureProgram, foldersOnPath, isExecutable } from "./debian.mjs";

/**
 * An HAProxy on this machine. `KEYWHEEL_TEST_HAPROXY` names another one.
 *
 * @returns {string | undefined} the path of its executable
 */
export function findHaproxy() {
  const named = process.env.KEYWHEEL_TEST_HAPROXY;
  if (named) return named;
  // Debian keeps services where only root looks.
  return [...foldersOnPath(), "/usr/sbin"].map((folder) => join(folder, "haproxy")).find(isExecutable);
}

/** Installs HAProxy where there is none. @throws with what a person has to do where that cannot be done */
export function ensureHaproxy() {
  return ensureProgram({
    name: "HAProxy",
    use: "the tests of the balancer",
    debianPackage: "haproxy",
    find: findHaproxy,
    otherwise:
      "The tests of the balancer need HAProxy 2.6 or newer, and there is none here: install one, or name its executable in KEYWHEEL_TEST_HAPROXY.",
  });
}
