import type { Key } from "../../../api/openapi.ts";
import { isolated } from "../../../format/isolated.ts";

/** What a key is called: its label, else its masked value. */
export function nameOf({ label, api_key: masked }: Pick<Key, "label" | "api_key">): string {
  return label === "" ? masked : isolated(label);
}

/** The groups that keys are in, by the alphabet. */
export function groupsOf(keys: readonly Pick<Key, "group">[]): readonly string[] {
  return [...new Set(keys.map(({ group }) => group))].filter((group) => group !== "").sort();
}

/** Whose all the keys are that may serve: undefined unless there are several of one group, or without groups of one organization. */
export function ownerOf(keys: readonly Pick<Key, "group" | "organization" | "enabled">[]): string | undefined {
  const able = keys.filter(({ enabled }) => enabled);
  const isGrouped = able.some(({ group }) => group !== "");
  const owners = new Set(able.map(({ group, organization }) => (isGrouped ? group : (organization ?? ""))));
  const [owner = ""] = owners;
  return able.length > 1 && owners.size === 1 && owner !== "" ? owner : undefined;
}

export function isWeight(weight: number): boolean {
  return Number.isInteger(weight) && weight >= 1 && weight <= 100;
}

/** How the turns are shared out. */
export interface Shares {
  /** 0 to 1 of the turns that are taken now; undefined for a key that takes none. */
  readonly now: (key: Key) => number | undefined;
  /** 0 to 1 of the turns once this key is available again. */
  readonly whenBack: (key: Key) => number;
}

/** Shares follow the weights of the keys that are available now. @see contract §4 rule 1 */
export function sharesOf(keys: readonly Key[]): Shares {
  const weightOf = (status: Key["status"]): number =>
    keys.reduce((sum, key) => sum + (key.status === status ? key.weight : 0), 0);
  const total = weightOf("available");
  // Those that rest come back by themselves.
  const later = total + weightOf("cooling_down");
  return {
    now: (key) => (key.status === "available" ? key.weight / total : undefined),
    whenBack: ({ weight, status }) =>
      weight / (status === "available" || status === "cooling_down" ? later : later + weight),
  };
}

export type StatusFilter = "all" | Key["status"];

export interface KeyFilter {
  readonly status: StatusFilter;
  readonly search: string;
}

export function filterKeys(keys: readonly Key[], { status, search }: KeyFilter): readonly Key[] {
  const wanted = search.trim().toLowerCase();
  if (status === "all" && wanted === "") return keys;
  return keys.filter(
    (key) =>
      (status === "all" || key.status === status) &&
      `${key.label} ${key.api_key} ${key.group} ${key.organization ?? ""} ${key.project ?? ""}`
        .toLowerCase()
        .includes(wanted),
  );
}

export type StatusCounts = Readonly<Record<StatusFilter, number>>;

export function countByStatus(keys: readonly Key[]): StatusCounts {
  const counts = { all: keys.length, available: 0, cooling_down: 0, disabled: 0, unresolved: 0 };
  for (const { status } of keys) counts[status] += 1;
  return counts;
}

/** The moment at which the first cooling key is back. */
export function firstBack(keys: readonly Key[]): string | undefined {
  let first: string | undefined;
  for (const { status, cooldown_until: until } of keys) {
    if (status === "cooling_down" && until !== null && (first === undefined || until < first)) first = until;
  }
  return first;
}

export type Standstill = "limited" | "cooling" | "mixed";

/** Why nobody serves although some come back: all met a limit, all rest, or some are out for other reasons. */
export function standstillOf(keys: readonly Key[]): Standstill {
  if (keys.some(({ status }) => status !== "cooling_down")) return "mixed";
  const isLimited = ({ status_reason: reason }: Key): boolean =>
    reason?.code === "rate_limited" || reason?.code === "overloaded";
  return keys.every(isLimited) ? "limited" : "cooling";
}

/** So many requests give each key of a pool its turn, were they shared out evenly. */
export function enoughRequests(keys: readonly Key[]): number {
  return Math.max(10, 3 * keys.length);
}

/** Whether a key has had no turn yet, in a pool that has had requests enough for all: since when, is to be looked up. */
export function hasIdleKeys(keys: readonly Key[]): boolean {
  return sumOfRequests(keys) >= enoughRequests(keys) && keys.some(isIdle);
}

/**
 * Whether a key waits for its first turn although there were requests enough since it was added for each to have had some.
 *
 * @param enoughSince the moment since when there were enough of them; undefined where it is not known
 */
export function neverSelectedOf(keys: readonly Key[], enoughSince: string | undefined): (key: Key) => boolean {
  if (!hasIdleKeys(keys)) return () => false;
  const enough = enoughRequests(keys);
  // Keys that came with it, or after it, have served nothing before.
  const since = (at: string): number => sumOfRequests(keys.filter(({ created_at }) => created_at >= at));
  const isEnoughSince = remembered(
    (at: string) => (enoughSince !== undefined && at < enoughSince) || since(at) >= enough,
  );
  return (key) => isIdle(key) && isEnoughSince(key.created_at);
}

function isIdle({ status, stats }: Key): boolean {
  return status === "available" && stats.requests === 0;
}

function sumOfRequests(keys: readonly Key[]): number {
  return keys.reduce((sum, { stats }) => sum + stats.requests, 0);
}

/** Keys of one list were often added at one moment. */
function remembered<Value>(work: (name: string) => Value): (name: string) => Value {
  const known = new Map<string, Value>();
  return (name) => {
    const value = known.has(name) ? (known.get(name) as Value) : work(name);
    known.set(name, value);
    return value;
  };
}

/** Keys that were disabled for one reason that is not a person's wish, most first. */
export function disabledTogether(
  keys: readonly Key[],
): readonly { readonly reason: NonNullable<Key["status_reason"]>["code"]; readonly ids: readonly string[] }[] {
  const groups = new Map<NonNullable<Key["status_reason"]>["code"], string[]>();
  for (const { id, status, status_reason: reason } of keys) {
    if (status !== "disabled" || !reason || reason.code === "disabled_by_operator") continue;
    groups.set(reason.code, [...(groups.get(reason.code) ?? []), id]);
  }
  return [...groups]
    .map(([reason, ids]) => ({ reason, ids }))
    .filter(({ ids }) => ids.length > 1)
    .sort((one, other) => other.ids.length - one.ids.length);
}

/** The ids with one of them moved to another place. */
export function moved(ids: readonly string[], id: string, place: number): string[] {
  const rest = ids.filter((other) => other !== id);
  rest.splice(Math.max(0, Math.min(place, rest.length)), 0, id);
  return rest;
}
