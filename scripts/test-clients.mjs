// Runs Claude Code, Codex, Gemini CLI and opencode against the built gateway and a scripted provider, all on this machine. They
// are installed at the first run, at the versions of test/clients/tools: more than a gigabyte. `npm run test:clients -- codex` runs
// the tests of one.
import { ensureBuilt } from "./lib/build.mjs";
import { runTests } from "./lib/checks.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { ensureNamespaces, withoutNetwork } from "./lib/namespaces.mjs";
import { clients, ensureSideInstall } from "./lib/side-install.mjs";
import { say } from "./lib/say.mjs";

/** What these packages do when they are installed: put the program for this machine in its place. */
const scripts = ["@anthropic-ai/claude-code/install.cjs", "opencode-ai/postinstall.mjs"];

try {
  await ensureInstalled();
  await ensureBuilt();
  try {
    await ensureSideInstall(clients, { scripts, isPartial: true });
  } catch (error) {
    throw new Error(`The clients could not be installed; is the registry of npm in reach? ${messageOf(error)}`, {
      cause: error,
    });
  }
  await ensureNamespaces();
  const prefix = await withoutNetwork();
  say(prefix.length > 0 ? "The clients get no network but loopback." : "The clients keep the network of this machine.");
  const names = process.argv.slice(2);
  const args = names.length > 0 ? ["--testNamePattern", `^(${names.join("|")}) `] : [];
  const { passed, failed } = await runTests("clients", args, prefix);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
} catch (error) {
  say(`✗ ${messageOf(error)}`);
  process.exitCode = 1;
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
