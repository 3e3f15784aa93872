#!/usr/bin/env node
// Parsed by whatever Node the machine has, so that one that is too old is told so, not shown a syntax error.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const program = new URL("../dist/cli/main.js", import.meta.url);
const scripts = new URL("../../../scripts/lib/", import.meta.url);
const isCheckout = !import.meta.url.includes("/node_modules/") && existsSync(new URL("build.mjs", scripts));

if (isCheckout) await runFromCheckout();
else if (isNewEnough(process.versions.node)) await import(program.href);
else fail(`keywheel needs Node 22.19 or newer; this is Node ${process.versions.node}.`);

/** Sources may be newer than what is built, and the checkout brings its own Node. */
async function runFromCheckout() {
  try {
    const { ensureBuilt } = await import(new URL("build.mjs", scripts).href);
    const { findNode } = await import(new URL("node.mjs", scripts).href);
    const { run } = await import(new URL("run.mjs", scripts).href);

    await ensureBuilt();
    if (isNewEnough(process.versions.node)) {
      await import(program.href);
      return;
    }
    // Without the dashes Node looks for its own flags behind the program as well, `--env-file` among them.
    const { code } = await run(findNode(), [fileURLToPath(program), ...process.argv.slice(2)], { cwd: process.cwd() });
    process.exitCode = code;
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
}

/** @param {string} version such as `24.21.0` */
function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 19);
}

/** @param {string} message */
function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
