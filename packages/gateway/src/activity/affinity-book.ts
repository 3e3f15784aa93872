import type { RequestRecord } from "../data-plane/request-record.ts";
import type { AffinityQuery, AffinitySource, AffinitySum } from "../store/store.ts";
import type { LoggedRequest } from "./request-log.ts";
import { hourMs } from "./usage-book.ts";

type Sum = { -readonly [Name in keyof AffinitySum]: AffinitySum[Name] };

/** What tied a request to a key, and what became of that. */
export interface Affinity {
  readonly source: AffinitySource;
  /**
   * `kept`; `new`: its session's or conversation's first request here, there was no key to keep; `none`; or why the request
   * had to leave its key.
   */
  readonly fate: string;
  /** The key that it had to leave. */
  readonly leftKeyId?: string;
}

const newFate = "new";
const keptFate = "kept";
const untied: Affinity = { source: "none", fate: "none" };

export type TiedRequest = Pick<RequestRecord, "attempts" | "sessionId" | "tie">;

/**
 * Whether a request was served by the key that it belonged to.
 *
 * A request that asked no other key has kept its own, whatever came of it: the provider's answer is no matter of affinity.
 *
 * @returns undefined if it asked no key of a pool
 */
export function affinityOf(record: TiedRequest): Affinity | undefined {
  const { attempts } = record;
  const [first] = attempts;
  const last = attempts.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const source = sourceOf(first.why, record);
  if (source === "none") return untied;
  if (first.why === "turn") {
    const { left } = first;
    if (left === undefined) return { source, fate: newFate };
    // The wheel may have given it back to its key, if that has come back meanwhile.
    return left.keyId === last.keyId
      ? { source, fate: keptFate }
      : { source, fate: left.because, leftKeyId: left.keyId };
  }
  if (last.keyId === first.keyId) return { source, fate: keptFate };
  return { source, fate: leavingOf(attempts, first.keyId), leftKeyId: first.keyId };
}

/** Why a request left the key that it had begun with: why the key was out from then on, or what its answer meant. */
function leavingOf(attempts: RequestRecord["attempts"], keyId: string): string {
  const at = attempts.findLastIndex((attempt) => attempt.keyId === keyId);
  const because = attempts[at + 1]?.left?.because;
  if (because !== undefined && because !== "tried") return because;
  const outcome = attempts[at]?.outcome ?? "";
  return outcome === "model_rate_limited" ? "rate_limited" : outcome;
}

function sourceOf(why: RequestRecord["attempts"][number]["why"], { sessionId, tie }: TiedRequest): AffinitySource {
  if (tie === "first") return "none";
  if (why === "pin") return "object";
  if (sessionId !== undefined) return "session";
  return tie ?? "none";
}

/** What became of affinity since it was last written down: by hour, provider, source and fate. */
export class AffinityBook {
  #hour = 0;
  /** Of this hour, by provider and then by source and fate. */
  readonly #now = new Map<string, Map<string, Sum>>();
  /** Of hours that are over, and what could not be written. */
  #older: AffinitySum[] = [];
  /** Since this process began, without `#now`; whether it is written or not. */
  #counted: readonly AffinitySum[] = [];

  /** Takes up a request that has just ended. Runs on the request path. */
  add({ record, endedAt }: LoggedRequest): void {
    const { providerId = "", usage } = record;
    const affinity = providerId === "" ? undefined : affinityOf(record);
    if (affinity === undefined) return;
    const hour = endedAt - (endedAt % hourMs);
    if (hour !== this.#hour) this.#begin(hour);
    const sum = this.#sumOf(providerId, affinity);
    sum.requests++;
    if (usage === undefined) return;
    sum.inputTokens += usage.inputTokens;
    sum.cacheReadTokens += usage.cacheReadTokens;
    sum.cacheWriteTokens += usage.cacheWriteTokens;
  }

  /** Takes out what there is, to be written; `giveBack` if it could not be. There are a few for each provider. */
  take(): readonly AffinitySum[] {
    this.#begin(this.#hour);
    const taken = this.#older;
    this.#older = [];
    return taken;
  }

  giveBack(sums: readonly AffinitySum[]): void {
    this.#older = [...summed([...this.#older, ...sums], ({ at }) => at)];
  }

  /** What is not written down yet. */
  pending(): readonly AffinitySum[] {
    return [...this.#older, ...this.#sums()];
  }

  /** Since this process began: by provider, source and fate, of no hour. They only grow. */
  totals(): readonly AffinitySum[] {
    return addAffinity([...this.#counted, ...this.#sums()]);
  }

  #begin(hour: number): void {
    this.#counted = this.totals();
    this.#older.push(...this.#sums());
    this.#now.clear();
    this.#hour = hour;
  }

  #sums(): readonly AffinitySum[] {
    return [...this.#now.values()].flatMap((sums) => [...sums.values()]);
  }

  #sumOf(providerId: string, { source, fate }: Affinity): Sum {
    let ofProvider = this.#now.get(providerId);
    if (ofProvider === undefined) this.#now.set(providerId, (ofProvider = new Map<string, Sum>()));
    const name = `${source} ${fate}`;
    const known = ofProvider.get(name);
    if (known !== undefined) return known;
    const fresh = { at: this.#hour, providerId, source, fate, ...noTokens };
    ofProvider.set(name, fresh);
    return fresh;
  }
}

const noTokens = { requests: 0, inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** Those of the sums that the query is about, their hours summed up. */
export function groupAffinity(sums: readonly AffinitySum[], query: AffinityQuery): readonly AffinitySum[] {
  const { from, to, providerId } = query;
  const within = sums.filter((sum) => sum.at >= from && sum.at < to);
  return addAffinity(providerId === undefined ? within : within.filter((sum) => sum.providerId === providerId));
}

/** Sums of any hours as those of none, by provider, source and fate. */
export function addAffinity(sums: readonly AffinitySum[]): readonly AffinitySum[] {
  return summed(sums, () => 0);
}

function summed(sums: readonly AffinitySum[], hourOf: (sum: AffinitySum) => number): readonly AffinitySum[] {
  const groups = new Map<string, Sum>();
  for (const sum of sums) {
    const at = hourOf(sum);
    const name = `${at} ${sum.providerId} ${sum.source} ${sum.fate}`;
    const group = groups.get(name) ?? { ...sum, ...noTokens, at };
    group.requests += sum.requests;
    group.inputTokens += sum.inputTokens;
    group.cacheReadTokens += sum.cacheReadTokens;
    group.cacheWriteTokens += sum.cacheWriteTokens;
    groups.set(name, group);
  }
  return [...groups.values()];
}
