import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./root.mjs";
import { run } from "./run.mjs";
import { say } from "./say.mjs";

/**
 * @typedef {object} Check
 * @property {string} name
 * @property {readonly (readonly string[])[]} commands binary of `node_modules/.bin` and its arguments; all must succeed
 */

/** @type {Check} */
const format = { name: "format", commands: [["oxfmt", "--check"]] };
/** @type {Check} */
const lint = { name: "lint", commands: [["oxlint", "--deny-warnings", "--report-unused-disable-directives"]] };
/**
 * Everything at once with Node's types, tests included; then the pool alone, as it is built, where Node does not exist, and
 * of it what needs nobody, where neither Node nor the browser does; then the pages, where the browser does.
 *
 * @type {Check}
 */
const types = {
  name: "types",
  commands: [
    ["tsc", "-p", "tsconfig.json"],
    ["tsc", "-p", "packages/pool", "--noEmit"],
    ["tsc", "-p", "packages/pool/tsconfig.rules.json"],
    ["tsc", "-p", "packages/ui"],
  ],
};
/** @type {Check} */
const unused = { name: "unused code and dependencies", commands: [["knip", "--no-progress"]] };

/** What takes seconds and needs nothing built. */
export const quickChecks = [format, lint, types];
export const allChecks = [...quickChecks, unused];

/**
 * Runs checks side by side and shows the words of those that find fault.
 *
 * @param {readonly Check[]} checks
 * @returns {Promise<string[]>} the names of those that failed
 */
export async function runChecks(checks) {
  const failed = await Promise.all(checks.map(async (check) => ((await passes(check)) ? [] : [check.name])));
  return failed.flat();
}

/** @param {Check} check */
async function passes({ name, commands }) {
  for (const [binary, ...args] of commands) {
    const { code, output, isInterrupted } = await run(binOf(/** @type {string} */ (binary)), args, { capture: true });
    if (isInterrupted) throw new Error("Interrupted.");
    if (code !== 0) {
      say(`✗ ${name}\n${output.trimEnd()}\n`);
      return false;
    }
  }
  say(`✓ ${name}`);
  return true;
}

/**
 * @typedef {{ passed: number, failed: number }} Tally
 * @param {string} project one of those in `vitest.config.ts`
 * @param {readonly string[]} [args] for vitest
 * @param {readonly string[]} [prefix] words before its call: a program that becomes it
 * @returns {Promise<Tally>}
 */
export async function runTests(project, args = [], prefix = []) {
  const folder = mkdtempSync(join(tmpdir(), "keywheel-tests-"));
  const report = join(folder, "report.json");
  try {
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const call = [...prefix, binOf("vitest"), "run", "--project", project, ...reporters, ...args];
    const [program, ...words] = call;
    const { code, isInterrupted } = await run(/** @type {string} */ (program), words);
    if (isInterrupted) throw new Error("Interrupted.");
    return tally(code, existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : undefined);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * What a run of vitest comes to. One that breaks outside any test, or runs none, counts as one failure.
 *
 * @param {number} code vitest's exit code
 * @param {{ numPassedTests: number, numFailedTests: number } | undefined} report
 * @returns {Tally}
 */
export function tally(code, report) {
  const { numPassedTests: passed, numFailedTests: failed } = report ?? { numPassedTests: 0, numFailedTests: 0 };
  const isBroken = code !== 0 || passed === 0;
  return { passed, failed: isBroken && failed === 0 ? 1 : failed };
}

/** @param {string} name */
function binOf(name) {
  return join(root, "node_modules", ".bin", name);
}
