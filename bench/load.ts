import { once } from "node:events";
import { createInterface } from "node:readline";
import { startPinned } from "./processes.ts";

/** What the load generator says of its measured time. Times in µs. */
export interface LoadResult {
  readonly seconds: number;
  readonly finished: number;
  readonly failed: number;
  readonly wrongStatus: number;
  readonly cutShort: number;
  readonly unfinished: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
  readonly events: number;
  readonly delayP50: number;
  readonly delayP99: number;
  readonly firstP50: number;
  readonly firstP99: number;
  readonly begun: number;
  readonly stalled: number;
  readonly cpuSeconds: number;
}

/** One run of `native/load.c`; its options are told there. */
export interface LoadOptions {
  readonly port: number;
  readonly path: string;
  readonly token: string;
  readonly headers: readonly string[];
  readonly loop?: "closed" | "open" | "streams" | "held";
  readonly connections: number;
  readonly rate?: number;
  readonly seconds?: number;
  readonly warmSeconds?: number;
  readonly bodyBytes?: number;
  readonly session?: "header" | "field" | "none";
  readonly sessions?: number;
  readonly requests?: number;
  readonly isRandom?: boolean;
  readonly turns?: number;
  readonly model?: string;
}

export interface LoadProgram {
  readonly program: string;
  readonly core: number;
  readonly log: string;
}

/** Told while the load runs: at the beginning of what is measured, and at its end. */
export interface LoadMoments {
  measuring(pid: number): void;
  measured(pid: number): void;
}

/** Runs the load to its end. @throws if it could not be put on, or broke off */
export async function runLoad(load: LoadProgram, options: LoadOptions, moments?: LoadMoments): Promise<LoadResult> {
  const running = startPinned([load.program, ...wordsOf(options)], { core: load.core, log: load.log, piped: true });
  const ended = once(running.child, "close");
  let result: LoadResult | undefined;
  if (running.child.stdout === null) throw new Error("The load generator has no output.");
  for await (const line of createInterface({ input: running.child.stdout })) {
    if (line === "measuring") moments?.measuring(running.pid);
    else if (line === "measured") moments?.measured(running.pid);
    else result = JSON.parse(line) as LoadResult;
  }
  await ended;
  await running.stop();
  if (result === undefined) throw new Error(`The load broke off; what it said is in ${load.log}`);
  return result;
}

function wordsOf(options: LoadOptions): string[] {
  const { isRandom = false, headers, ...others } = options;
  const named: Readonly<Record<string, string | number | undefined>> = {
    port: others.port,
    path: others.path,
    token: others.token,
    loop: others.loop,
    connections: others.connections,
    rate: others.rate,
    seconds: others.seconds,
    warm: others.warmSeconds,
    body: others.bodyBytes,
    session: others.session,
    sessions: others.sessions,
    requests: others.requests,
    turns: others.turns,
    model: others.model,
  };
  return [
    ...Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)])),
    ...headers.flatMap((header) => ["--header", header]),
    ...(isRandom ? ["--random"] : []),
  ];
}
