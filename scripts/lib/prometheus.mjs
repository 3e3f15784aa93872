import { join } from "node:path";
import { ensureProgram, foldersOnPath, isExecutable } from "./debian.mjs";

/**
 * The folder of a Prometheus on this machine, with `prometheus` and `promtool` in it. `KEYWHEEL_TEST_PROMETHEUS` names another
 * one.
 *
 * @returns {string | undefined}
 */
export function findPrometheus() {
  const named = process.env.KEYWHEEL_TEST_PROMETHEUS;
  if (named) return named;
  return foldersOnPath().find((folder) => ["prometheus", "promtool"].every((name) => isExecutable(join(folder, name))));
}

/** Installs Prometheus where there is none. @throws with what a person has to do where that cannot be done */
export function ensurePrometheus() {
  return ensureProgram({
    name: "Prometheus",
    use: "the tests of dashboard and alert rules",
    debianPackage: "prometheus",
    find: findPrometheus,
    otherwise:
      "The tests of dashboard and alert rules need Prometheus 2.42 or newer, and there is none here: install it, or name the folder with prometheus and promtool in KEYWHEEL_TEST_PROMETHEUS.",
  });
}
