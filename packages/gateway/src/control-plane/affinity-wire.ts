import type { SessionSteps } from "../activity/activity.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { CachedInput, PoolAffinity, SessionAffinity } from "../contract/affinity.ts";
import { toTime } from "../contract/wire.ts";
import type { AffinitySum } from "../store/store.ts";

type Counts = Pick<AffinitySum, "requests" | "inputTokens" | "cacheReadTokens" | "cacheWriteTokens">;
type Step = SessionSteps["steps"][number];
type Names = Pick<Catalog, "labelOfKey" | "maskedOfKey">;

/** What a request's answer told of its input. */
interface Told extends Counts {
  readonly fate: string;
}

const stepsShown = 100;

/** What became of the affinity of one pool. */
export function poolAffinityToWire(
  { id, slug }: { readonly id: string; readonly slug: string | null },
  sums: readonly AffinitySum[],
): PoolAffinity {
  const fates = byFate(sums);
  const tied = fates.kept.requests + fates.left.requests;
  const total = cachedInputOf(sums);
  return {
    provider_id: id,
    provider: slug,
    total,
    ...fates,
    untied: cachedInputOf(sums.filter(({ source }) => source === "none")),
    kept_share: shareOf(fates.kept.requests, tied),
    left_share: shareOf(fates.left.requests, total.requests),
    sources: [...groupBy(sums, ({ source }) => source)]
      .map(([source, ofSource]) => {
        const { kept, new: fresh, left } = byFate(ofSource);
        const counts = { kept: kept.requests, new: fresh.requests, left: left.requests };
        return { source, ...counts, ...cachedInputOf(ofSource) };
      })
      .sort(mostFirst),
    reasons: [...groupBy(sums.filter(hasLeft), ({ fate }) => fate)]
      .map(([reason, ofReason]) => ({ reason, ...cachedInputOf(ofReason) }))
      .sort(mostFirst),
  };
}

/** What keeping its key was worth to a session. */
export function sessionAffinityToWire(id: string, { steps, isWhole }: SessionSteps, names: Names): SessionAffinity {
  const told = steps.map(toldOf);
  const served = groupBy(steps, ({ record }) => record.keyId ?? "");
  served.delete("");
  return {
    id,
    total: cachedInputOf(told),
    ...byFate(told),
    is_whole: isWhole,
    keys: [...served].map(([keyId, ofKey]) => ({ ...named(keyId, names), ...cachedInputOf(ofKey.map(toldOf)) })),
    steps: steps.slice(0, stepsShown).map((step) => stepToWire(step, names)),
  };
}

function stepToWire({ record, endedAt, affinity }: Step, names: Names): SessionAffinity["steps"][number] {
  const { keyId, usage } = record;
  const { fate, leftKeyId } = affinity;
  return {
    request_id: record.requestId,
    ended_at: toTime(endedAt),
    model: record.model ?? null,
    ...(keyId === undefined ? { key_id: null, label: null, api_key: null } : named(keyId, names)),
    fate,
    left: leftKeyId === undefined ? null : named(leftKeyId, names),
    input_tokens: usage?.inputTokens ?? null,
    cache_read_tokens: usage?.cacheReadTokens ?? null,
    cache_write_tokens: usage?.cacheWriteTokens ?? null,
  };
}

function toldOf({ record: { usage }, affinity: { fate } }: Step): Told {
  const { inputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage ?? {};
  return { fate, requests: 1, inputTokens, cacheReadTokens, cacheWriteTokens };
}

/** All of them together. */
export function cachedInputOf(sums: readonly Counts[]): CachedInput {
  const total = (name: keyof Counts): number => sums.reduce((sum, counts) => sum + counts[name], 0);
  const [input, read, write] = [total("inputTokens"), total("cacheReadTokens"), total("cacheWriteTokens")];
  return {
    requests: total("requests"),
    input_tokens: input,
    cache_read_tokens: read,
    cache_write_tokens: write,
    cached_share: shareOf(read, input + read + write),
  };
}

function byFate(sums: readonly Told[]): Pick<PoolAffinity, "kept" | "new" | "left"> {
  return {
    kept: cachedInputOf(sums.filter(({ fate }) => fate === "kept")),
    new: cachedInputOf(sums.filter(({ fate }) => fate === "new")),
    left: cachedInputOf(sums.filter(hasLeft)),
  };
}

function hasLeft({ fate }: { readonly fate: string }): boolean {
  return fate !== "kept" && fate !== "new" && fate !== "none";
}

function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

function named(keyId: string, names: Names) {
  return { key_id: keyId, label: names.labelOfKey(keyId) ?? null, api_key: names.maskedOfKey(keyId) ?? null };
}

function groupBy<Item, Name extends string>(items: readonly Item[], nameOf: (item: Item) => Name): Map<Name, Item[]> {
  const groups = new Map<Name, Item[]>();
  for (const item of items) {
    const name = nameOf(item);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [item]);
    else group.push(item);
  }
  return groups;
}

function mostFirst(one: CachedInput, other: CachedInput): number {
  return other.requests - one.requests;
}
