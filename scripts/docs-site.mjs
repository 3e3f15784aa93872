// The documentation site: `build` it, or look at it while it is written with `dev`.
import { watch } from "node:fs";
import { join } from "node:path";
import { buildSite, builtSite, stagePages, vitepress } from "./lib/docs-site.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { findNode } from "./lib/node.mjs";
import { root } from "./lib/root.mjs";
import { run } from "./lib/run.mjs";
import { say } from "./lib/say.mjs";
import { apiReference, docsSite, ensureSideInstall } from "./lib/side-install.mjs";

const [command = "build", ...args] = process.argv.slice(2);

try {
  await ensureInstalled();
  await ensureSideInstall(docsSite);
  if (command === "dev") await develop();
  else {
    await ensureSideInstall(apiReference);
    await buildSite();
    say(`The site lies in ${builtSite}.`);
  }
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

/** Pages are laid out again when a text changes, which VitePress then shows. */
async function develop() {
  await stagePages();
  let running = Promise.resolve();
  const again = () => {
    running = running.then(() => stagePages()).catch((/** @type {unknown} */ error) => say(String(error)));
  };
  const watchers = ["docs", "deploy", "packages/pool/README.md", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(
    (path) =>
      watch(join(root, path), { recursive: true }, (_, name) => {
        if (name?.endsWith(".md") && !name.includes(".pages")) again();
      }),
  );
  const { code } = await run(findNode(), [vitepress, "dev", docsSite, ...args]);
  for (const watcher of watchers) watcher.close();
  process.exitCode = code;
}
