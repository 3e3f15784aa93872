import { KeywheelError } from "@keywheel/pool";
import type { TextFault } from "../contract/field-faults.ts";
import type { UsageGroupName, UsageRequest } from "../contract/usage.ts";
import type { UsageGroup, UsageQuery } from "../store/store.ts";

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;
const longestRangeMs = 400 * dayMs;
const timeUnits: ReadonlySet<UsageGroupName> = new Set(["minute", "hour", "day"]);

/** What was asked for, with its defaults. @throws KeywheelError validation_failed */
export function usageQueryOf(
  { from: start, to: end, by = ["hour"], key }: UsageRequest,
  now: number,
): Omit<UsageQuery, "limit"> & { readonly groups: readonly UsageGroupName[] } {
  // This very moment included.
  const to = end ?? now + 1;
  const byMinute = by.includes("minute") || isRecent(start, by, now);
  const spanMs = byMinute ? minuteMs : hourMs;
  const from = start ?? to - (byMinute ? hourMs : by.includes("day") ? 30 * dayMs : dayMs);
  if (from >= to) throw refusal("from", "Expected `from` to be before `to`");
  if (to - from > longestRangeMs) throw refusal("from", "Expected `from` to be at most 400 days before `to`");
  if (by.filter((group) => timeUnits.has(group)).length > 1) {
    throw refusal("by", "Expected `by` to name one unit of time: minute, hour or day");
  }
  const isFine = key !== undefined || by.some((group) => group !== "minute" && group !== "provider");
  const span = byMinute ? (isFine ? "detail" : "minute") : "hour";
  const groups = by.map((group): UsageGroup => (group === "minute" || group === "hour" ? "time" : group));
  return { span, from: from - (from % spanMs), to, by: groups, groups: by };
}

/** Where no unit of time is asked for, sums of the last hours are those of minutes: the beginning is met more closely. */
function isRecent(start: number | undefined, by: readonly UsageGroupName[], now: number): boolean {
  return start !== undefined && now - start <= 2 * hourMs && !by.some((group) => timeUnits.has(group));
}

export function tooManyRows(limit: number): KeywheelError {
  const message = `Expected at most ${limit} sums: name a shorter time, or fewer things to tell apart`;
  return refusal("by", message, { code: "too_many_sums", params: { max: limit } });
}

function refusal(
  path: string,
  message: string,
  fault: Omit<TextFault, "message"> = { code: "refused" },
): KeywheelError {
  return new KeywheelError("validation_failed", message, { details: [{ path, message, ...fault }] });
}
