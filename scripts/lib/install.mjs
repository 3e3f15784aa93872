import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, relative } from "node:path";
import { alone } from "./lock.mjs";
import { isNewEnough } from "./node.mjs";
import { root } from "./root.mjs";
import { run } from "./run.mjs";
import { say } from "./say.mjs";

const lockfile = join(root, "package-lock.json");
const installed = join(root, "node_modules", ".package-lock.json");
const stamp = join(root, "node_modules", ".keywheel-install");
const link = join(root, "node_modules", ".bin", "node");
const ownNodes = ["node", "node-bin"].map((prefix) =>
  join(root, "node_modules", `${prefix}-${process.platform}-${process.arch}`, "bin", "node"),
);

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
    await settleNode();
    writeFileSync(stamp, fingerprint());
  });
}

async function install() {
  say("Installing dependencies …");
  const started = Date.now();
  await cleanInstall(process.env.npm_node_execpath);
  if (!isNewEnough(process.versions.node) && passesOverWhatBelongsHere()) await installOnOwnNode();
  say(`Installed in ${Math.round((Date.now() - started) / 1000)} s.`);
}

/**
 * npm leaves out an optional package whose `engines` do not fit the Node that npm runs on, and says nothing. Native
 * halves of tools are such packages: on Node 18 they would be missing. So npm runs again, on the Node just installed.
 */
async function installOnOwnNode() {
  const found = ownNodes.find((path) => existsSync(path));
  if (found === undefined) return;
  say(`Once more, since this machine's Node ${process.versions.node} is too old for some of them …`);

  // Out of the way of npm, which removes node_modules first.
  const folder = mkdtempSync(join(root, ".setup-node-"));
  const moved = join(folder, "node");
  try {
    renameSync(found, moved);
    await cleanInstall(moved, { PATH: [folder, process.env.PATH ?? ""].join(delimiter) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string | undefined} node where npm was started by npm, the Node to run it on; else the PATH decides
 * @param {NodeJS.ProcessEnv} [env]
 */
async function cleanInstall(node, env) {
  const { npm_execpath: npm } = process.env;
  const [command, first] = npm && node ? [node, [npm]] : ["npm", []];
  // Whatever NODE_ENV says: the compiler is a development dependency, Node 24 an optional one.
  const args = ["ci", "--include=dev", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"];
  const { code, output } = await run(command, [...first, ...args], { capture: true, env });
  if (code === 0) return;

  say(output.trimEnd());
  throw new Error(`\`npm ci\` ended with exit code ${code}; its output is above.`);
}

function passesOverWhatBelongsHere() {
  const found = readPackages(installed);
  const libc = process.platform === "linux" ? libcOf(process.report.getReport()) : undefined;
  return Object.entries(readPackages(lockfile)).some(
    ([path, { optional, os, cpu, libc: libcs }]) =>
      optional &&
      !(path in found) &&
      os?.includes(process.platform) &&
      cpu?.includes(process.arch) &&
      (libcs === undefined || libc === undefined || libcs.includes(libc)),
  );
}

/** @param {object} report Node's own about itself; not typed */
function libcOf(report) {
  return "glibcVersionRuntime" in /** @type {{ header: object }} */ (report).header ? "glibc" : "musl";
}

/**
 * Settles whether `node` means the Node from the registry. npm puts `.bin` first on the PATH of every script, so a link
 * to a Node that cannot run here (it is linked against glibc, which Alpine has not) would hide the machine's own. And
 * npm 10 makes no link at all: it lets the package for another platform claim the name, and then leaves that one out.
 */
async function settleNode() {
  rmSync(link, { force: true });
  const found = ownNodes.find((path) => existsSync(path));
  if (found === undefined) return;

  const runs = await run(found, ["--version"], { capture: true }).then(
    ({ code }) => code === 0,
    () => false,
  );
  if (runs) symlinkSync(relative(dirname(link), found), link);
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
 * @typedef {object} LockedPackage
 * @property {string} [version]
 * @property {string} [integrity]
 * @property {boolean} [link]
 * @property {object} [bin]
 * @property {boolean} [optional]
 * @property {string | string[]} [os]
 * @property {string | string[]} [cpu]
 * @property {string | string[]} [libc]
 *
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
