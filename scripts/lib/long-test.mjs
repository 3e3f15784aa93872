import { parseArgs } from "node:util";
import { ensureBuilt } from "./build.mjs";
import { runTests } from "./checks.mjs";
import { ensureInstalled } from "./install.mjs";
import { say } from "./say.mjs";

/**
 * Runs tests of the program that take as long as they are told, by variables that they read.
 *
 * @param {string} path of the tests
 * @param {Readonly<Record<string, string>>} variables by the name of the option that sets them
 * @param {Readonly<Record<string, string>>} [others] set as they are, unless they are set already
 * @param {readonly (() => Promise<void>)[]} [needs] install what else the tests need
 */
export async function runLongTest(path, variables, others = {}, needs = []) {
  try {
    const names = Object.keys(variables);
    const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: "string" }])) });
    for (const [name, variable] of Object.entries(variables)) {
      const value = values[name];
      if (typeof value === "string") process.env[variable] = value;
    }
    for (const [variable, value] of Object.entries(others)) process.env[variable] ??= value;
    await ensureInstalled();
    for (const ensure of needs) await ensure();
    await ensureBuilt();
    const { failed } = await runTests(path.startsWith("test/faults/") ? "faults" : "program", [path]);
    process.exitCode = failed > 0 ? 1 : 0;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
