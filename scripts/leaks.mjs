// Runs the tests of the program at debug level, and searches all that their gateways said and stored for parts of keys:
// `npm run leaks [-- test/cases]`. A run of other tests leaves the same behind in a folder named by KEYWHEEL_TEST_TRACES;
// `npm run leaks -- --search <folder>` looks there alone.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureBrowser } from "./lib/browser.mjs";
import { ensureBuilt } from "./lib/build.mjs";
import { runTests } from "./lib/checks.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { ensurePostgres } from "./lib/postgres.mjs";
import { ensureRedis } from "./lib/redis.mjs";
import { say } from "./lib/say.mjs";

/** Fewer characters may stand anywhere by chance, or as the mask by which people know a key. */
const partLength = 12;
/** Words of the product that keys of tests are named by, long enough to be a part. */
const words = ["-openai-compatible-", "-azure-openai-"];

const { positionals, values } = parseArgs({ allowPositionals: true, options: { search: { type: "string" } } });
const traces = values.search ?? mkdtempSync(join(tmpdir(), "keywheel-leaks-"));
process.env.KEYWHEEL_TEST_TRACES = traces;
try {
  const { passed, failed } = values.search === undefined ? await runAll() : { passed: 0, failed: 0 };
  const keys = [...new Set(readFileSync(join(traces, "keys.txt"), "utf8").split("\n"))].filter(isTelling);
  const files = filesIn(traces);
  const parts = partsOf(keys);
  const leaks = files.flatMap((file) => leaksIn(file, parts));
  for (const leak of leaks) say(`✗ ${leak}`);
  say(
    `${passed} tests passed, ${failed} failed; ${keys.length} keys, ${files.length} files, ${leaks.length} with a part of a key.`,
  );
  process.exitCode = failed > 0 || leaks.length > 0 || files.length === 0 ? 1 : 0;
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
} finally {
  if (values.search === undefined) rmSync(traces, { recursive: true, force: true });
}

/** Everything that the tests need, and the tests. */
async function runAll() {
  await ensureInstalled();
  await ensureBuilt();
  await ensureBrowser();
  await ensurePostgres();
  await ensureRedis();
  return runTests("program", positionals);
}

/** A key of a few letters cannot be told from what is no key, and `$NAME` is none. @param {string} key */
function isTelling(key) {
  return !key.startsWith("$") && key.length >= partLength && new Set(key.slice(-partLength)).size > 4;
}

/** @param {string} folder @returns {string[]} */
function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "keys.txt" && !entry.name.startsWith("master.key"))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** @param {readonly string[]} keys @returns {Map<string, string>} by part, the key */
function partsOf(keys) {
  const parts = new Map();
  for (const key of keys) {
    const base64 = [0, 1, 2].map((shift) =>
      Buffer.concat([Buffer.alloc(shift), Buffer.from(key)])
        .toString("base64")
        .slice(4, -4),
    );
    for (const form of [key, ...base64]) {
      for (let at = 0; at + partLength <= form.length; at++) {
        const part = form.slice(at, at + partLength);
        if (!words.some((word) => word.includes(part))) parts.set(part, key);
      }
    }
  }
  return parts;
}

/** @param {string} file @param {Map<string, string>} parts @returns {string[]} the first place, if there is one */
function leaksIn(file, parts) {
  const text = readFileSync(file, "latin1");
  for (let at = 0; at + partLength <= text.length; at++) {
    const part = text.slice(at, at + partLength);
    if (parts.has(part))
      return [`${file}: ${part} of ${parts.get(part)} after ${JSON.stringify(text.slice(Math.max(0, at - 60), at))}`];
  }
  return [];
}
