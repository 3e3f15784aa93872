// Throughput, latency and memory beside nginx and others: `npm run bench -- --rounds 5 --only 1k64,100k`; bench/README.md.
import { ensureBuilt } from "./lib/build.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { findNode } from "./lib/node.mjs";
import { run } from "./lib/run.mjs";
import { say } from "./lib/say.mjs";

try {
  await ensureInstalled();
  await ensureBuilt();
  const { code } = await run(findNode(), ["--no-warnings", "bench/main.ts", ...process.argv.slice(2)]);
  process.exitCode = code;
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
