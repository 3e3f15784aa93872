import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Which processor core is whose. */
export interface Cores {
  /** The contender's alone. */
  readonly contender: number;
  /** Of the load, and of this program. */
  readonly load: number;
  /** The load's as well where there are only two. */
  readonly upstream: number;
}

/**
 * Gives each side a core of those that this process may use.
 *
 * @param allowed as in `Cpus_allowed_list`: `0-3,8`
 * @throws where there is only one: load and contender would measure each other
 */
export function assignCores(allowed: string): Cores {
  const cores = allowed.split(",").flatMap((range) => {
    const [first = NaN, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
  const [contender, load, upstream = load] = cores;
  if (contender === undefined || load === undefined || upstream === undefined) {
    throw new Error(
      `Two processor cores are needed, one for the load and one for what is measured; ${allowed} is all there is.`,
    );
  }
  return { contender, load, upstream };
}

/** Moves this process, with all its threads, to the load's core, so that it takes nothing from what is measured. */
export function takeCores(): Cores {
  const allowed = /^Cpus_allowed_list:\s+(\S+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  const cores = assignCores(allowed);
  execFileSync("taskset", ["-acp", String(cores.load), String(process.pid)]);
  return cores;
}
