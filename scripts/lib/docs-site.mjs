import { existsSync } from "node:fs";
import { join } from "node:path";
import { findNode } from "./node.mjs";
import { run } from "./run.mjs";
import { apiReference, docsSite } from "./side-install.mjs";

/** Where the pages are laid out, and where the site is built to, unless something else is asked for. */
export const stagedPages = join(docsSite, ".pages");
export const builtSite = join(docsSite, "dist");

/**
 * Lays out the pages.
 *
 * @param {string} [folder]
 * @throws with the links that lead nowhere
 */
export async function stagePages(folder = stagedPages) {
  const script = join(docsSite, "stage.ts");
  const { code, output } = await run(findNode(), ["--conditions=source", "--no-warnings", script, folder], {
    capture: true,
  });
  if (code !== 0) throw new Error(output.trimEnd());
}

/**
 * Builds the site, with the API reference of the library in it.
 *
 * @param {{ pages?: string, out?: string, cache?: string, reference?: boolean }} [options] `reference` false leaves that one out, which
 *   takes longest
 * @throws with what VitePress or TypeDoc said
 */
export async function buildSite({ pages = stagedPages, out = builtSite, cache, reference = true } = {}) {
  await stagePages(pages);
  await runTool(vitepress, ["build", docsSite], { pages, out, cache });
  if (!reference) return;
  const typedoc = join(apiReference, "node_modules", "typedoc", "bin", "typedoc");
  await runTool(typedoc, ["--options", join(apiReference, "typedoc.json"), "--out", join(out, "reference", "library")]);
}

export const vitepress = join(docsSite, "node_modules", "vitepress", "bin", "vitepress.js");

/**
 * @param {string} tool
 * @param {readonly string[]} args
 * @param {{ pages?: string, out?: string, cache?: string | undefined }} [places]
 */
async function runTool(tool, args, { pages, out, cache } = {}) {
  if (!existsSync(tool)) throw new Error(`${tool} is not installed.`);
  const env = {
    ...(pages === undefined ? {} : { KEYWHEEL_DOCS_PAGES: pages }),
    ...(out === undefined ? {} : { KEYWHEEL_DOCS_OUT: out }),
    ...(cache === undefined ? {} : { KEYWHEEL_DOCS_CACHE: cache }),
  };
  const { code, output } = await run(findNode(), [tool, ...args], { capture: true, env });
  if (code !== 0) throw new Error(output.trimEnd());
}
