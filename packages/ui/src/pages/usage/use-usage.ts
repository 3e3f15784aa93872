import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import type { UsageRow } from "../../api/openapi.ts";
import { isApiError } from "../../api/problem.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { serverNow } from "../../api/server-time.ts";
import type { BucketUnit } from "../../parts/chart/time-buckets.ts";
import { type Range, rangeProblem, spanOf } from "./range.ts";
import type { Group } from "./usage-sums.ts";

export interface UsageChoice {
  readonly range: Range;
  readonly group: Group;
  /** Slug or id; empty for all. */
  readonly provider: string;
}

export interface UsageData {
  readonly from: number;
  readonly to: number;
  readonly unit: BucketUnit;
  /** What was asked for: it may be another one by now, for as long as its answer is under way. */
  readonly group: Group;
  /** By time, and by group where `isWhole`. */
  readonly timeRows: readonly UsageRow[];
  /** By group; by time, too, where `isWhole`. */
  readonly groupRows: readonly UsageRow[];
  /** False where there is too much to tell groups apart over time. */
  readonly isWhole: boolean;
}

/** Sums over long times are dear to make, and one request more does not show in them. */
const longRefreshMs = 120_000;
const shortRefreshMs = 30_000;

export function useUsage(choice: UsageChoice) {
  const isShort = choice.range.name === "hour" || choice.range.name === "day";
  return useQuery({
    // Events make those out of date that are named `usage`.
    queryKey: isShort ? [...queryKeys.usage, choice] : ["long-usage", choice],
    queryFn: ({ signal }) => readUsage(choice, signal),
    enabled: rangeProblem(choice.range) === undefined,
    // Time goes on also while nothing happens.
    refetchInterval: isShort ? shortRefreshMs : longRefreshMs,
    placeholderData: keepPreviousData,
  });
}

async function readUsage(choice: UsageChoice, signal: AbortSignal): Promise<UsageData> {
  const { group } = choice;
  const { unit } = spanOf(choice.range, serverNow());
  const known = (whole: Awaited<ReturnType<typeof ask>>) => ({
    from: Date.parse(whole.from),
    to: Date.parse(whole.to),
    unit,
    group,
  });
  try {
    const whole = await ask(choice, [unit, ...groupsOf(choice)], signal);
    return { ...known(whole), timeRows: whole.data, groupRows: whole.data, isWhole: true };
  } catch (error) {
    if (!isTooMuch(error)) throw error;
    const [byTime, byGroup] = await Promise.all([ask(choice, [unit], signal), ask(choice, groupsOf(choice), signal)]);
    return { ...known(byTime), timeRows: byTime.data, groupRows: byGroup.data, isWhole: false };
  }
}

/** A key belongs to one provider: telling that as well makes no more sums, and tells keys of the same label apart. */
function groupsOf({ group }: UsageChoice): readonly Group[] {
  return group === "key" ? ["provider", "key"] : [group];
}

/** Everything that is known of a choice, to be taken away. */
export async function readForFile(choice: UsageChoice): Promise<readonly UsageRow[]> {
  const { unit } = spanOf(choice.range, serverNow());
  const also = choice.group === "provider" ? [] : (["provider"] as const);
  try {
    return (await ask(choice, [unit, ...also, choice.group])).data;
  } catch (error) {
    if (!isTooMuch(error)) throw error;
    return (await ask(choice, [...also, choice.group])).data;
  }
}

function ask({ range, provider }: UsageChoice, by: readonly (BucketUnit | Group)[], signal?: AbortSignal) {
  const { from, to } = spanOf(range, serverNow());
  const query = {
    by: by.join(","),
    from: new Date(from).toISOString(),
    ...(to === undefined ? {} : { to: new Date(to).toISOString() }),
    ...(provider === "" ? {} : { provider }),
  };
  return call("GET /api/usage", { query, ...(signal ? { signal } : {}) });
}

/** More sums than the gateway answers at a time. */
function isTooMuch(error: unknown): boolean {
  return isApiError(error) && error.status === 422 && error.errors.some(({ code }) => code === "too_many_sums");
}
