import type { UsageCounts, UsageGroup, UsageQuery, UsageSum } from "../store/store.ts";
import { addCounts, noCounts } from "./usage-book.ts";

const dayMs = 86_400_000;

/** Sums summed up further by the groups of the query, in their order. Sums that were summed up before may be among them. */
export function groupUsage(sums: Iterable<UsageSum>, query: Omit<UsageQuery, "limit">): UsageSum[] {
  const groups = new Map<string, UsageSum & { -readonly [Name in keyof UsageCounts]: number }>();
  for (const sum of sums) {
    if (!isWithin(sum, query)) continue;
    const place = placeOf(sum, query.by);
    const name = JSON.stringify([
      place.at,
      place.providerId,
      place.keyId,
      place.tokenId,
      place.model,
      labelIn(place, query.by),
    ]);
    const group = groups.get(name) ?? { ...place, ...noCounts, span: query.span };
    addCounts(group, sum);
    groups.set(name, group);
  }
  return [...groups.values()].sort((one, other) => compare(one, other, query.by));
}

function isWithin({ span, at, providerId, keyId }: UsageSum, query: Omit<UsageQuery, "limit">): boolean {
  if (span !== query.span || at < query.from || at >= query.to) return false;
  if (query.providerId !== undefined && providerId !== query.providerId) return false;
  return query.keyId === undefined || keyId === query.keyId;
}

function placeOf(sum: UsageSum, by: readonly UsageGroup[]): Omit<UsageSum, keyof UsageCounts | "span"> {
  const has = (group: UsageGroup, text: string): string => (by.includes(group) ? text : "");
  const day = by.includes("day") ? sum.at - (sum.at % dayMs) : 0;
  return {
    at: by.includes("time") ? sum.at : day,
    providerId: has("provider", sum.providerId),
    keyId: has("key", sum.keyId),
    label: by.includes("key") ? sum.label : has("label", sum.label),
    tokenId: has("token", sum.tokenId),
    model: has("model", sum.model),
  };
}

/** Beside the key, its label tells nothing apart. */
function labelIn({ label }: { readonly label: string }, by: readonly UsageGroup[]): string {
  return by.includes("label") ? label : "";
}

function compare(one: UsageSum, other: UsageSum, by: readonly UsageGroup[]): number {
  for (const group of by) {
    const [a, b] = [valueOf(one, group), valueOf(other, group)];
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

function valueOf(sum: UsageSum, group: UsageGroup): string | number {
  switch (group) {
    case "time":
    case "day":
      return sum.at;
    case "provider":
      return sum.providerId;
    case "key":
      return sum.keyId;
    case "label":
      return sum.label;
    case "token":
      return sum.tokenId;
    case "model":
      return sum.model;
  }
}
