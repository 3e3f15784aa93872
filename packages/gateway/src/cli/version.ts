import { readFileSync } from "node:fs";
import { packageRoot } from "../package-root.ts";

let known: string | undefined;

/** The version of this program, from the package that it is in. */
export function programVersion(): string {
  known ??= readVersion();
  return known;
}

function readVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("package.json", packageRoot), "utf8")) as {
    readonly version?: unknown;
  };
  if (typeof version !== "string") throw new Error("package.json has no version");
  return version;
}

/** One line, with what a report of a fault should name as well. */
export function describeVersion(): string {
  return `keywheel ${programVersion()} (Node ${process.versions.node}, ${process.platform} ${process.arch})`;
}
