// Writes the types of the settings pages anew from the gateway's schemas.
import { join } from "node:path";
import { ensureInstalled } from "./lib/install.mjs";
import { findNode } from "./lib/node.mjs";
import { root } from "./lib/root.mjs";
import { run } from "./lib/run.mjs";
import { say } from "./lib/say.mjs";

try {
  await ensureInstalled();
  const script = join(root, "packages", "ui", "openapi", "write.ts");
  const { code } = await run(findNode(), ["--conditions=source", "--no-warnings", script]);
  process.exitCode = code;
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
