// Before the gateway is packed: builds it anew, so that no part of an earlier build, which a gateway of this checkout may still run on,
// goes into the package.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt } from "./lib/build.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { root } from "./lib/root.mjs";
import { say } from "./lib/say.mjs";

try {
  await ensureInstalled();
  rmSync(join(root, "packages", "gateway", "dist"), { recursive: true, force: true });
  await ensureBuilt();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
