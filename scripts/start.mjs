// Called with `--`: Node takes `--env-file` for its own, also behind the script's name.
// Runs on whatever Node the machine has, 18 and up, with nothing installed: built-in modules only.
import { ensureBuilt, program } from "./lib/build.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { findNode } from "./lib/node.mjs";
import { run } from "./lib/run.mjs";
import { say } from "./lib/say.mjs";

try {
  await ensureInstalled();
  await ensureBuilt();
  const { code } = await run(findNode(), ["--", program, "start", ...process.argv.slice(2)]);
  process.exitCode = code;
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
