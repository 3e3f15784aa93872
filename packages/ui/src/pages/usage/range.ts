import type { BucketUnit } from "../../parts/chart/time-buckets.ts";

export const rangeNames = ["hour", "day", "7days", "30days", "custom"] as const;
export type RangeName = (typeof rangeNames)[number];

export interface Range {
  readonly name: RangeName;
  /** Days of the person at the page, `2026-01-31`, both included; for `custom` only. */
  readonly from: string;
  readonly to: string;
}

/** A range as the API is asked for it. Epoch ms. */
export interface Span {
  readonly from: number;
  readonly to: number | undefined;
  readonly unit: BucketUnit;
}

const hourMs = 3_600_000;
const dayMs = 86_400_000;
const longestMs = 400 * dayMs;
/** Up to here, hours are told apart; they make too many bars beyond. */
const mostHoursMs = 3 * dayMs;

/** @param now by the gateway's clock */
export function spanOf({ name, from, to }: Range, now: number): Span {
  switch (name) {
    case "hour":
      return { from: now - hourMs, to: undefined, unit: "minute" };
    case "day":
      return { from: now - dayMs, to: undefined, unit: "hour" };
    case "7days":
      return { from: now - 7 * dayMs, to: undefined, unit: "day" };
    case "30days":
      return { from: now - 30 * dayMs, to: undefined, unit: "day" };
    case "custom": {
      const [start, end] = [startOfDay(from), endOfDay(to)];
      return { from: start, to: end, unit: end - start <= mostHoursMs ? "hour" : "day" };
    }
  }
}

/** What is wrong with a range of one's own. */
export function rangeProblem({ name, from, to }: Range): "missing" | "wrong" | "too-long" | undefined {
  if (name !== "custom") return undefined;
  if (Number.isNaN(startOfDay(from)) || Number.isNaN(startOfDay(to))) return "missing";
  if (endOfDay(to) <= startOfDay(from)) return "wrong";
  return endOfDay(to) - startOfDay(from) > longestMs ? "too-long" : undefined;
}

/** The day of an instant, as a field for days writes it. */
export function dayOf(at: number): string {
  const date = new Date(at);
  const two = (part: number): string => String(part).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function startOfDay(day: string): number {
  return new Date(`${day}T00:00:00`).getTime();
}

/** The beginning of the next one: days may have 23 or 25 hours. */
function endOfDay(day: string): number {
  const date = new Date(`${day}T00:00:00`);
  date.setDate(date.getDate() + 1);
  return date.getTime();
}
