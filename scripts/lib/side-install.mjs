import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { alone } from "./lock.mjs";
import { root } from "./root.mjs";
import { run } from "./run.mjs";
import { say } from "./say.mjs";

/** Runtimes besides Node, for the tests of the library. */
export const runtimes = join(root, "test", "library", "runtimes");
/** What writes the API reference: it needs an older TypeScript beside it. */
export const apiReference = join(root, "docs", "api");
/** What makes the documentation site: it brings an older Vite. */
export const docsSite = join(root, "docs", "site");
/** Programs that people use the gateway with, for their tests. */
export const clients = join(root, "test", "clients", "tools");

/**
 * Installs what a folder's own lockfile lists, unless that is there. Such folders are no workspaces: what is in them is large,
 * or does not go together with the rest. No install script runs but those that are named.
 *
 * @param {string} folder
 * @param {{ scripts?: readonly string[], isPartial?: boolean }} [options] `scripts`: programs for Node in its `node_modules` that
 *   finish the installation, each run in its own folder. `isPartial`: the lockfile does not list the halves for every machine;
 *   those it lists are taken as they stand there.
 * @throws where npm fails; what it printed has been shown by then
 */
export async function ensureSideInstall(folder, { scripts = [], isPartial = false } = {}) {
  const stamp = join(folder, "node_modules", ".keywheel-install");
  const lockfile = readFileSync(join(folder, "package-lock.json"));
  const wanted = `${createHash("sha256").update(lockfile).digest("hex")} ${process.platform} ${process.arch}\n`;
  const isCurrent = () => existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;
  if (isCurrent()) return;
  await alone(async () => {
    if (isCurrent()) return;
    say(`Installing what ${relative(root, folder)} needs …`);
    const command = isPartial ? ["install", "--no-save"] : ["ci"];
    const args = [...command, "--ignore-scripts", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"];
    const { code, output } = await run("npm", args, { capture: true, cwd: folder });
    if (code !== 0) {
      say(output.trimEnd());
      throw new Error(
        `\`npm ${command[0]}\` in ${relative(root, folder)} ended with exit code ${code}; its output is above.`,
      );
    }
    for (const script of scripts) await finish(join(folder, "node_modules", script));
    writeFileSync(stamp, wanted);
  });
}

/** @param {string} script */
async function finish(script) {
  const { code, output } = await run("node", [script], { capture: true, cwd: dirname(script) });
  if (code === 0) return;
  say(output.trimEnd());
  throw new Error(`\`${relative(root, script)}\` ended with exit code ${code}; its output is above.`);
}
