import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { alone } from "./lock.mjs";
import { root } from "./root.mjs";
import { run } from "./run.mjs";
import { say } from "./say.mjs";

const lockfile = join(root, "package-lock.json");
const installed = join(root, "node_modules", ".package-lock.json");
const stamp = join(root, "node_modules", ".keywheel-install");
const ownNode = join(root, "node_modules", ".bin", "node");

/**
 * Makes `node_modules` what `package-lock.json` says. Costs a hash where that is so already.
 *
 * @throws where npm fails; what it printed has been shown by then
 */
export async function ensureInstalled() {
  if (isCurrent()) return;
  await alone(async () => {
    if (isCurrent()) return;
    if (!holdsWhatTheLockfileLists()) await install();
    await dropForeignNode();
    writeFileSync(stamp, fingerprint());
  });
}

async function install() {
  say("Installing dependencies …");
  const started = Date.now();

  // The npm that runs us, on the Node that runs it: the one in node_modules is about to be removed.
  const { npm_execpath: npm, npm_node_execpath: node } = process.env;
  const [command, first] = npm && node ? [node, [npm]] : ["npm", []];
  // Whatever NODE_ENV says: the compiler is a development dependency, Node 24 an optional one.
  const args = ["ci", "--include=dev", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"];
  const { code, output } = await run(command, [...first, ...args], { capture: true });

  if (code !== 0) {
    say(output.trimEnd());
    throw new Error(`\`npm ci\` ended with exit code ${code}; its output is above.`);
  }
  say(`Installed in ${Math.round((Date.now() - started) / 1000)} s.`);
}

/**
 * The Node from the registry is linked against glibc. Where it cannot run (Alpine, say), its link in `.bin` must go:
 * npm puts that folder first on the PATH of every script, and the machine's own Node would be hidden behind it.
 */
async function dropForeignNode() {
  if (!existsSync(ownNode)) return;
  const runs = await run(ownNode, ["--version"], { capture: true }).then(
    ({ code }) => code === 0,
    () => false,
  );
  if (!runs) rmSync(ownNode);
}

function isCurrent() {
  return existsSync(installed) && existsSync(stamp) && readFileSync(stamp, "utf8") === fingerprint();
}

function fingerprint() {
  const digest = createHash("sha256").update(readFileSync(lockfile)).digest("hex");
  return `${digest} ${process.platform} ${process.arch}\n`;
}

/**
 * Whether npm itself notes that it has installed this very lockfile: true after `npm install <package>` by hand, when
 * only our stamp is behind and a fresh install would be wasted.
 */
function holdsWhatTheLockfileLists() {
  if (!existsSync(installed)) return false;
  const wanted = readPackages(lockfile);
  const found = readPackages(installed);
  delete wanted[""];

  const missing = Object.keys(wanted).filter((path) => !(path in found) && !wanted[path]?.optional);
  const different = Object.keys(found).filter((path) => identity(found[path]) !== identity(wanted[path]));
  return missing.length === 0 && different.length === 0;
}

/**
 * @typedef {{ version?: string, integrity?: string, link?: boolean, bin?: object, optional?: boolean }} LockedPackage
 * @param {string} file
 * @returns {Record<string, LockedPackage>}
 */
function readPackages(file) {
  return JSON.parse(readFileSync(file, "utf8")).packages;
}

/** @param {LockedPackage | undefined} entry */
function identity(entry) {
  return JSON.stringify([entry?.version, entry?.integrity, entry?.link, entry?.bin]);
}
