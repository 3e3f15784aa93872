// Safe lint fixes, then the format.
import { ensureInstalled } from "./lib/install.mjs";
import { run } from "./lib/run.mjs";
import { say } from "./lib/say.mjs";

try {
  await ensureInstalled();
  const lint = await run("oxlint", ["--fix"]);
  const format = await run("oxfmt", []);
  process.exitCode = lint.code || format.code;
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
