import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { alone } from "./lock.mjs";
import { findNode } from "./node.mjs";
import { programEntries, root } from "./root.mjs";
import { run } from "./run.mjs";
import { say } from "./say.mjs";

/** Whose sources make up what is built. */
const packages = ["pool", "gateway"];
const stamp = join(root, "packages", "gateway", "dist", ".build-stamp");

/** The settings pages lie in the gateway's own output, which is what its package ships. */
const pages = join(root, "packages", "gateway", "dist", "ui");
const pagesStamp = join(pages, ".build-stamp");

/** The built program's entry. */
export const program = join(root, "packages", "gateway", "dist", "cli", "main.js");

/**
 * Builds the program, unless what is there was built from these very sources.
 *
 * @throws where the compiler finds fault; what it printed has been shown by then
 */
export async function ensureBuilt() {
  if (isCurrent() && arePagesCurrent()) return;
  await alone(async () => {
    if (!isCurrent()) await build();
    if (!arePagesCurrent()) await buildPages();
  });
}

async function build() {
  say("Building …");
  const started = Date.now();
  // Taken before, not after: a file that changes while the compiler runs must lead to another build.
  const before = fingerprint();
  rmSync(stamp, { force: true });
  // The compiler looks at its own notes, not for its output, and would leave a hole where a file was deleted.
  if (!isLibraryComplete()) rmSync(distOf("pool"), { recursive: true, force: true });
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  const compiled = await run(findNode(), [compiler, "-b", "packages/pool"]);
  if (compiled.code !== 0) throw new Error("The build failed; the compiler's words are above.");
  removeOrphans("pool");

  const { code, output } = await run(findNode(), [join(root, "scripts", "bundle.mjs")], { capture: true });
  if (code !== 0) {
    say(output.trimEnd());
    throw new Error("The build of the program failed; its words are above.");
  }
  if (!isComplete()) throw new Error("The build is not complete.");
  writeFileSync(stamp, before);
  say(`Built in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
}

async function buildPages() {
  say("Building the settings pages …");
  const started = Date.now();
  const before = pagesFingerprint();
  rmSync(pagesStamp, { force: true });
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  const { code, output } = await run(findNode(), [vite, "build", "packages/ui", "--logLevel", "warn"], {
    capture: true,
  });
  if (code !== 0) {
    say(output.trimEnd());
    throw new Error("The build of the settings pages failed; its words are above.");
  }
  writeFileSync(pagesStamp, before);
  say(`Built in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
}

function arePagesCurrent() {
  const document = join(pages, "index.html");
  return existsSync(pagesStamp) && existsSync(document) && readFileSync(pagesStamp, "utf8") === pagesFingerprint();
}

function isCurrent() {
  return existsSync(stamp) && isComplete() && readFileSync(stamp, "utf8") === fingerprint();
}

function isComplete() {
  return isLibraryComplete() && programEntries.every((entry) => existsSync(join(distOf("gateway"), `${entry}.js`)));
}

function isLibraryComplete() {
  return sourcesOf("pool").every((source) => existsSync(outputOf("pool", source)));
}

function pagesFingerprint() {
  const sources = ["src", "public"].flatMap((folder) =>
    filesBelow(join(root, "packages", "ui", folder))
      .filter((file) => /\.\w+$/.test(file) && !/\.test\.tsx?$/.test(file))
      .sort()
      .map((file) => `packages/ui/${folder}/${file}`),
  );
  const settings = ["index.html", "vite.config.ts", "package.json"].map((file) => `packages/ui/${file}`);
  return hashOf(["package-lock.json", "tsconfig.base.json", ...settings, ...sources]);
}

function fingerprint() {
  return hashOf([
    "package-lock.json",
    "tsconfig.base.json",
    "scripts/bundle.mjs",
    ...packages.flatMap((name) => [
      `packages/${name}/package.json`,
      `packages/${name}/tsconfig.json`,
      ...sourcesOf(name).map((source) => `packages/${name}/src/${source}`),
    ]),
  ]);
}

/** @param {readonly string[]} inputs below the root */
function hashOf(inputs) {
  const hash = createHash("sha256");
  for (const input of inputs)
    hash
      .update(`${input}\0`)
      .update(readFileSync(join(root, input)))
      .update("\0");
  return `${hash.digest("hex")}\n`;
}

/**
 * Deletes output whose source is gone, which the compiler leaves where it lies.
 *
 * @param {string} name
 */
function removeOrphans(name) {
  const expected = new Set(sourcesOf(name).map((source) => source.replace(/\.tsx?$/, "")));
  for (const file of filesBelow(distOf(name))) {
    const match = /^(.+?)(?:\.js|\.d\.ts)(?:\.map)?$/.exec(file);
    if (match?.[1] !== undefined && !expected.has(match[1])) rmSync(join(distOf(name), file));
  }
}

/**
 * @param {string} name
 * @returns {string[]} paths below `src`, in a fixed order
 */
function sourcesOf(name) {
  return filesBelow(join(root, "packages", name, "src"))
    .filter((file) => /\.tsx?$/.test(file) && !/\.(test|test-d|test-bench|d)\.tsx?$/.test(file))
    .sort();
}

/** @param {string} name @param {string} source */
function outputOf(name, source) {
  return join(distOf(name), source.replace(/\.tsx?$/, ".js"));
}

/** @param {string} name */
function distOf(name) {
  return join(root, "packages", name, "dist");
}

/**
 * @param {string} folder
 * @returns {string[]} with forward slashes, whatever the system's own
 */
function filesBelow(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => path.split(sep).join("/"));
}
