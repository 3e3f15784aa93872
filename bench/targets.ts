import type { Setup } from "./contender.ts";
import { byRound, type Metric, type Results } from "./results.ts";
import { paired, type Summary, summaryOf } from "./statistics.ts";

type Unit = "%" | "times" | "µs" | "ms" | "KB" | "MB" | "bytes" | "streams";

/** What a release must come to (floor), and what is aimed at. */
export interface Target {
  readonly name: string;
  readonly unit: Unit;
  readonly isHigherBetter: boolean;
  readonly floor: number;
  readonly goal?: number;
  /** What each round came to; of none if a side was not measured. */
  measured(results: Results): readonly number[];
}

export interface Judged {
  readonly target: Target;
  /** undefined: not measured in this run. */
  readonly summary: Summary | undefined;
  readonly isMet: boolean;
}

export function judge(target: Target, results: Results): Judged {
  const summary = summaryOf(target.measured(results));
  const { floor, isHigherBetter } = target;
  const isMet = summary !== undefined && (isHigherBetter ? summary.median >= floor : summary.median <= floor);
  return { target, summary, isMet };
}

interface Side {
  readonly workload: string;
  readonly contender?: string;
  readonly metric: Metric;
  readonly setup?: Setup;
}

const valuesOf = (results: Results, { workload, contender = "keywheel", metric, setup = "plain" }: Side) =>
  byRound(results, workload, contender, metric, setup);

const joined =
  (ours: Side, theirs: Side, join: (ours: number, theirs: number) => number) =>
  (results: Results): number[] =>
    paired(valuesOf(results, ours), valuesOf(results, theirs), join);

const percent = (ours: Side, theirs: Side) => joined(ours, theirs, (a, b) => (a / b) * 100);
const times = (ours: Side, theirs: Side) => joined(ours, theirs, (a, b) => a / b);
const more = (ours: Side, theirs: Side) => joined(ours, theirs, (a, b) => a - b);
const plain =
  (side: Side, per = 1) =>
  (results: Results): number[] =>
    [...valuesOf(results, side).values()].map((value) => value / per);

const rate = (workload: string, contender = "keywheel", setup: Setup = "plain"): Side => ({
  workload,
  contender,
  metric: "rate",
  setup,
});

const higher = (name: string, unit: Unit, floor: number, measured: Target["measured"], goal?: number): Target => ({
  name,
  unit,
  isHigherBetter: true,
  floor,
  measured,
  ...(goal === undefined ? {} : { goal }),
});
const lower = (name: string, unit: Unit, floor: number, measured: Target["measured"], goal?: number): Target => ({
  ...higher(name, unit, floor, measured, goal),
  isHigherBetter: false,
});

const latency = (contender: string, metric: Metric): Side => ({ workload: "latency", contender, metric });
const streams = (contender: string, metric: Metric): Side => ({ workload: "streams200", contender, metric });

export const targets: readonly Target[] = [
  higher("1 KB, 64 connections, of nginx", "%", 35, percent(rate("1k64"), rate("1k64", "nginx")), 50),
  higher("1 KB, 64 connections, of the bare pass-through", "%", 90, percent(rate("1k64"), rate("1k64", "undici"))),
  higher("1 KB, 64 connections, against Portkey", "times", 10, times(rate("1k64"), rate("1k64", "portkey")), 15),
  higher("100 KB with a session header, of nginx", "%", 75, percent(rate("100k"), rate("100k", "nginx")), 150),
  higher("100 KB with a session field, of those with a header", "%", 85, percent(rate("100k-field"), rate("100k"))),
  higher("100 KB, a chat that goes on, of those with a header", "%", 35, percent(rate("100k-content"), rate("100k"))),
  lower(
    "added latency, one connection, p50",
    "µs",
    120,
    more(latency("keywheel", "p50"), latency("direct", "p50")),
    70,
  ),
  lower(
    "added latency, one connection, p99",
    "µs",
    600,
    more(latency("keywheel", "p99"), latency("direct", "p99")),
    200,
  ),
  lower(
    "a failover, p50 more than none",
    "µs",
    100,
    more({ workload: "failover", metric: "p50", setup: "failover" }, { workload: "failover", metric: "p50" }),
    45,
  ),
  lower(
    "processor time of an event, 200 paced streams, against nginx",
    "times",
    2.5,
    times(streams("keywheel", "eventCpuUs"), streams("nginx", "eventCpuUs")),
    2,
  ),
  lower("delay of an event, 200 paced streams, p50", "ms", 0.5, plain(streams("keywheel", "delayP50"), 1_000), 0.2),
  lower(
    "memory of an open stream, of 1,000",
    "KB",
    60,
    plain({ workload: "idle1000", metric: "streamBytes" }, 1_024),
    40,
  ),
  lower(
    "memory of an open stream, of 5,000",
    "KB",
    60,
    plain({ workload: "idle5000", metric: "streamBytes" }, 1_024),
    40,
  ),
  lower("stalled streams, of 5,000", "streams", 0, plain({ workload: "idle5000", metric: "stalled" })),
  lower("start to the first answer", "ms", 700, plain({ workload: "start", metric: "startMs" }), 200),
  lower("memory at rest", "MB", 110, plain({ workload: "start", metric: "idleBytes" }, 1_048_576), 60),
  higher("10,000 keys, of 3", "%", 95, percent(rate("keys", "keywheel", "many-keys"), rate("keys"))),
  higher(
    "many sessions bound, of few",
    "%",
    95,
    percent(rate("sessions", "keywheel", "many-sessions"), rate("sessions")),
  ),
  lower(
    "memory of a bound session",
    "bytes",
    130,
    plain({ workload: "sessions", metric: "sessionBytes", setup: "many-sessions" }),
  ),
];

const cpu = (workload: string, contender: string): Side => ({ workload, contender, metric: "cpuUs" });

/**
 * For a machine that does other work as well, where a few seconds are all there is. Processor time is compared, not rates: others
 * take turns at a core from whoever is measured, but their time is not counted as his. Far enough below what is usual that no noise
 * gets there, and near enough that half the speed does. Seen on a machine with nothing else to do: 25 %, 50 % and 1.2 times, and
 * down to 20 %, 25 % and 1.8 times on a busy one; raise them as the gateway gets faster.
 */
export const shortTargets: readonly Target[] = [
  higher(
    "1 KB, speed by processor time, of the bare pass-through",
    "%",
    11,
    percent(cpu("1k64", "undici"), cpu("1k64", "keywheel")),
  ),
  higher(
    "100 KB, speed by processor time, of the bare pass-through",
    "%",
    11,
    percent(cpu("100k", "undici"), cpu("100k", "keywheel")),
  ),
  lower(
    "processor time of an event, 200 paced streams, against the bare pass-through",
    "times",
    3.6,
    times(streams("keywheel", "eventCpuUs"), streams("undici", "eventCpuUs")),
  ),
];
