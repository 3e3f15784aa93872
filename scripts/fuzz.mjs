// Sends malformed messages to a gateway for as long as you like: `npm run fuzz -- --runs 1000000 [--seed 1]`.
import { parseArgs } from "node:util";
import { ensureBuilt } from "./lib/build.mjs";
import { runTests } from "./lib/checks.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { say } from "./lib/say.mjs";

try {
  const { values } = parseArgs({ options: { runs: { type: "string" }, seed: { type: "string" } } });
  if (values.runs !== undefined) process.env.KEYWHEEL_FUZZ_RUNS = values.runs;
  if (values.seed !== undefined) process.env.KEYWHEEL_FUZZ_SEED = values.seed;
  await ensureInstalled();
  await ensureBuilt();
  const { failed } = await runTests("program", ["test/fuzz"]);
  process.exitCode = failed > 0 ? 1 : 0;
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
