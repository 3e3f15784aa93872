// Takes the pictures of the README from the running program.
import { join } from "node:path";
import { ensureBrowser } from "./lib/browser.mjs";
import { ensureBuilt } from "./lib/build.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { findNode } from "./lib/node.mjs";
import { root } from "./lib/root.mjs";
import { run } from "./lib/run.mjs";
import { say } from "./lib/say.mjs";

try {
  await ensureInstalled();
  await ensureBuilt();
  await ensureBrowser();
  const script = join(root, "test", "screenshots", "take.ts");
  const { code } = await run(findNode(), ["--conditions=source", "--no-warnings", script, ...process.argv.slice(2)]);
  process.exitCode = code;
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
