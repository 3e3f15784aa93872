import { appendFileSync, cpSync, existsSync, mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * Where everything is put that a run of the tests leaves behind, for somebody to search it for keys; undefined in most
 * runs. Gateways then log at debug level. @see scripts/leaks.mjs
 */
export const traces = process.env["KEYWHEEL_TEST_TRACES"];

/** A gateway has ended: what it said, and its data directory. */
export function keepTraces(dataDir: string, output: string): void {
  if (traces === undefined) return;
  const folder = join(traces, basename(dirname(dataDir)));
  mkdirSync(folder, { recursive: true });
  appendFileSync(join(folder, "output.txt"), output);
  if (existsSync(dataDir)) cpSync(dataDir, join(folder, "data"), { recursive: true });
}

/** These are to be found nowhere. */
export function keepKeys(keys: readonly string[]): void {
  if (traces !== undefined && keys.length > 0) appendFileSync(join(traces, "keys.txt"), `${keys.join("\n")}\n`);
}
