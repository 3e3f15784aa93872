import type { Setup } from "./contender.ts";
import { type ByRound, summaryOf, type Summary } from "./statistics.ts";

/** One number a name; which there are depends on the workload. Rates per second, times in µs (of starts: ms), sizes in bytes. */
export type Metric =
  | "rate"
  | "p50"
  | "p99"
  | "cpuUs"
  | "eventRate"
  | "eventCpuUs"
  | "delayP50"
  | "delayP99"
  | "firstP50"
  | "streamBytes"
  | "stalled"
  | "startMs"
  | "idleBytes"
  | "sessionBytes";

/** What one contender did in one round of one workload. */
export interface Measurement {
  readonly round: number;
  readonly workload: string;
  readonly contender: string;
  readonly setup: Setup;
  readonly metrics: Readonly<Partial<Record<Metric, number>>>;
  /** What went wrong; its numbers then count for nothing. */
  readonly fault?: string;
  /** Processor time that others took meanwhile, as a share of one core. */
  readonly others?: number;
}

/** In what a run was made. */
export interface Conditions {
  readonly command: string;
  readonly at: string;
  readonly commit: string;
  readonly processor: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly system: string;
  readonly node: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmSeconds: number;
  readonly manySessions: number;
  readonly placement: string;
  /** By contender. */
  readonly versions: Readonly<Record<string, string>>;
}

/** A contender or a part of the setup that could not take part, and why. */
export interface Absence {
  readonly who: string;
  readonly why: string;
}

export interface Results {
  readonly conditions: Conditions;
  readonly absences: readonly Absence[];
  readonly measurements: readonly Measurement[];
}

/** What a contender measured by round, without what went wrong. */
export function byRound(
  { measurements }: Results,
  workload: string,
  contender: string,
  metric: Metric,
  setup: Setup = "plain",
): ByRound {
  return new Map(
    measurements.flatMap((each) => {
      const value = each.metrics[metric];
      const isAsked = each.workload === workload && each.contender === contender && each.setup === setup;
      return isAsked && each.fault === undefined && value !== undefined ? [[each.round, value]] : [];
    }),
  );
}

export function summary(
  results: Results,
  workload: string,
  contender: string,
  metric: Metric,
  setup: Setup = "plain",
): Summary | undefined {
  return summaryOf([...byRound(results, workload, contender, metric, setup).values()]);
}
