import { accessSync, constants, existsSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { run } from "./run.mjs";
import { say } from "./say.mjs";

/** Asked by Debian's packages before they start a service. */
const servicePolicy = "/usr/sbin/policy-rc.d";

/**
 * A Redis or Valkey server on this machine. `KEYWHEEL_TEST_REDIS` names another one.
 *
 * @returns {string | undefined} the path of its executable
 */
export function findRedis() {
  const named = process.env.KEYWHEEL_TEST_REDIS;
  if (named) return named;
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders
    .flatMap((folder) => [join(folder, "redis-server"), join(folder, "valkey-server")])
    .find((path) => isExecutable(path));
}

/**
 * Installs Redis where there is none and that can be done without asking anybody: on Debian and its kin, as root. The
 * service that comes with it is not started: each test has a server of its own.
 *
 * @throws with what a person has to do, anywhere else
 */
export async function ensureRedis() {
  if (findRedis() !== undefined) return;
  if (process.platform === "linux" && process.getuid?.() === 0 && isExecutable("/usr/bin/apt-get")) {
    say("Installing Redis for the tests of the shared state …");
    const env = { DEBIAN_FRONTEND: "noninteractive" };
    await run("apt-get", ["update"], { capture: true, env });
    const install = await withoutServices(() =>
      run("apt-get", ["install", "-y", "--no-install-recommends", "redis-server"], { capture: true, env }),
    );
    if (findRedis() !== undefined) return;
    say(install.output.trimEnd());
  }
  throw new Error(
    "The tests of the shared state need redis-server or valkey-server 6.2 or newer, and there is none here: install one, or name its executable in KEYWHEEL_TEST_REDIS.",
  );
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
