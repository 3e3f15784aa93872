import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./root.mjs";

/** Where npm, and `run`, look first for every command, `node` among them. */
const link = join(root, "node_modules", ".bin", "node");

/**
 * The Node that everything here runs on: the one among the dependencies, else the one that runs this, if it is new
 * enough. Ask after the install.
 *
 * @returns {string} the path of its executable
 */
export function findNode() {
  if (existsSync(link)) return link;
  if (isNewEnough(process.versions.node)) return process.execPath;
  throw new Error(
    `Keywheel needs Node 22.19 or newer, this is ${process.versions.node}, and none came with the dependencies.`,
  );
}

/** @param {string} version such as `24.21.0` */
export function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 19);
}
