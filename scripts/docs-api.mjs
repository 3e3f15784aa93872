// Writes the API reference of the library. Arguments pass through to TypeDoc.
import { join } from "node:path";
import { apiReference, ensureSideInstall } from "./lib/side-install.mjs";
import { run } from "./lib/run.mjs";
import { say } from "./lib/say.mjs";

try {
  await ensureSideInstall(apiReference);
  const typedoc = join(apiReference, "node_modules", "typedoc", "bin", "typedoc");
  const args = [typedoc, "--options", join(apiReference, "typedoc.json"), ...process.argv.slice(2)];
  process.exitCode = (await run("node", args)).code;
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
