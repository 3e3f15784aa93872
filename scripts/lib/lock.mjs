import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "./root.mjs";
import { say } from "./say.mjs";

const file = join(root, ".setup-lock");
const heartbeatMs = 1_000;
const abandonedMs = 15_000;

/**
 * Runs `work` while no other process of this checkout does the same: two first starts at once must not install into,
 * or build into, the same folders.
 *
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function alone(work) {
  await take();
  const heartbeat = setInterval(() => utimesSync(file, new Date(), new Date()), heartbeatMs);
  const release = () => rmSync(file, { force: true });
  process.once("exit", release);

  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    process.off("exit", release);
    release();
  }
}

async function take() {
  for (let told = false; ; await sleep(100)) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
    }
    if (isAbandoned()) rmSync(file, { force: true });
    else if (!told) {
      told = true;
      say("Waiting for another install or build of this checkout …");
    }
  }
}

/**
 * A holder that was killed leaves its file behind. Its process id tells at once; the heartbeat tells where the id means
 * nothing, because it was given out in another container or given to somebody else since.
 */
function isAbandoned() {
  try {
    if (Date.now() - statSync(file).mtimeMs > abandonedMs) return true;
    const pid = Number(readFileSync(file, "utf8"));
    if (pid > 0) process.kill(pid, 0);
    return false;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "ESRCH";
  }
}
