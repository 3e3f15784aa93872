// What to run before every commit: under a minute, nothing built.
import { quickChecks, runChecks, runTests } from "./lib/checks.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { say } from "./lib/say.mjs";

try {
  await ensureInstalled();
  const faults = await runChecks(quickChecks);
  const { failed } = await runTests("unit", process.argv.slice(2));
  if (faults.length > 0) say(`✗ ${faults.join(", ")}`);
  process.exitCode = faults.length > 0 || failed > 0 ? 1 : 0;
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
