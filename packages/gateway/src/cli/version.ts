import { readFileSync } from "node:fs";

let known: string | undefined;

/** The version of this program, from the package that it is in. */
export function programVersion(): string {
  known ??= readVersion();
  return known;
}

function readVersion(): string {
  // As far up from `src/cli` as from `dist/cli`.
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly version?: unknown;
  };
  if (typeof version !== "string") throw new Error("package.json has no version");
  return version;
}

/** One line, with what a report of a fault should name as well. */
export function describeVersion(): string {
  return `keywheel ${programVersion()} (Node ${process.versions.node}, ${process.platform} ${process.arch})`;
}
