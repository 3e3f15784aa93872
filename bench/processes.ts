import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** A program on a core of its own. */
export interface Pinned extends AsyncDisposable {
  readonly pid: number;
  readonly child: ChildProcess;
  /** Asks it to end, and makes it after ten seconds. */
  stop(): Promise<void>;
}

export interface PinnedOptions {
  readonly core: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What it says on either stream goes there. */
  readonly log: string;
  /** What it says on standard output comes to us instead. */
  readonly piped?: boolean;
}

/** Starts a program on one core, all of its threads; nothing of our environment is handed on but PATH and HOME. */
export function startPinned(command: readonly string[], options: PinnedOptions): Pinned {
  const log = openSync(options.log, "a");
  const child = spawn("taskset", ["-c", String(options.core), ...command], {
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdio: ["ignore", options.piped === true ? "pipe" : log, log],
  });
  closeSync(log);
  const ended = once(child, "close");
  const endWithUs = (): void => {
    for (const member of child.pid === undefined ? [] : familyOf(child.pid)) process.kill(member, "SIGKILL");
  };
  process.on("exit", endWithUs);
  const stop = async (): Promise<void> => {
    process.off("exit", endWithUs);
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    const patience = new AbortController();
    const late = sleep(10_000, "late", { signal: patience.signal }).catch(() => "ended");
    if ((await Promise.race([ended, late])) === "late") child.kill("SIGKILL");
    patience.abort();
    await ended;
  };
  if (child.pid === undefined) throw new Error(`${command[0]} could not be started: is taskset (util-linux) there?`);
  return { pid: child.pid, child, stop, [Symbol.asyncDispose]: stop };
}

/** A process and all that it started, as they are now. */
export function familyOf(pid: number): number[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number),
    );
    return [pid, ...children.flatMap(familyOf)];
  } catch {
    // It ended meanwhile.
    return [];
  }
}

/** Processor time that a process and its children have used so far, all threads, µs. */
export function processorUs(pid: number): number {
  let ns = 0;
  for (const member of familyOf(pid)) {
    try {
      for (const task of readdirSync(`/proc/${member}/task`)) {
        ns += Number(readFileSync(`/proc/${member}/task/${task}/schedstat`, "utf8").split(" ")[0]);
      }
    } catch {
      // A thread, or the process, ended while its files were read.
    }
  }
  return ns / 1_000;
}

/** Resident memory of a process and its children, bytes. */
export function memoryBytes(pid: number): number {
  const kib = familyOf(pid).map((member) => {
    try {
      return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${member}/status`, "utf8"))?.[1] ?? 0);
    } catch {
      // It ended meanwhile.
      return 0;
    }
  });
  return kib.reduce((sum, each) => sum + each, 0) * 1_024;
}

/** Processor time that anybody used on this machine since it started, µs. */
export function machineUs(): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = (
    readFileSync("/proc/stat", "utf8").split("\n", 1)[0] ?? ""
  )
    .split(/\s+/)
    .slice(1)
    .map(Number);
  const ticksPerSecond = 100;
  return ((user + nice + system + irq + softirq) / ticksPerSecond) * 1e6;
}
