import type { RequestRecord } from "../data-plane/request-record.ts";
import type { KeyTotals, UsageCounts, UsageSum } from "../store/store.ts";
import { isFailed, type LoggedRequest } from "./request-log.ts";

export interface UsageBookOptions {
  readonly labelOf: (providerId: string, keyId: string) => string;
  /** Takes every secret out of a text. */
  readonly redact: (text: string) => string;
  /** Models told apart in an hour, whose names are the clients' own; default 1,000. */
  readonly mostModels?: number;
  /** Sums with a model of their own in an hour; default 20,000. */
  readonly mostSums?: number;
}

type Counts = { -readonly [Name in keyof UsageCounts]: number };
type Sum = Counts & Omit<UsageSum, keyof UsageCounts | "label"> & { label: string };
/** Sums told apart by everything, of one hour or minute. */
interface FineSums {
  readonly span: "hour" | "detail";
  at: number;
  readonly known: Set<string>;
}
/** Where a request is counted; found by what it is told apart by, so that no name is put together for each. */
interface FineSum {
  readonly hour: Sum;
  readonly detail: Sum;
}
type ByModel = Map<string | undefined, FineSum>;
type ByToken = Map<string, ByModel>;
type ByKey = Map<string, ByToken>;
type Totals = { -readonly [Name in keyof KeyTotals]: KeyTotals[Name] };

/** Stands for the models beyond those that are told apart. */
export const otherModels = "other";
export const hourMs = 3_600_000;
export const minuteMs = 60_000;
const longestModel = 128;
// oxlint-disable-next-line no-control-regex -- these are what is meant
const unprintable = /[\u0000-\u001f\u007f]/g;

/**
 * What requests used since it was last written down: by hour, provider, key, token and model, and by minute, once as
 * finely (`detail`, kept for hours) and once by provider alone (`minute`, kept for days).
 *
 * Tokens and the request itself count where its answer came from; each attempt after which another key was asked, or none
 * was left, is a failover of its own key.
 */
export class UsageBook {
  readonly #options: UsageBookOptions;
  readonly #mostModels: number;
  readonly #mostSums: number;
  #sums = new Map<string, Sum>();
  #totals = new Map<string, Totals>();
  readonly #hours: FineSums = { span: "hour", at: 0, known: new Set() };
  readonly #details: FineSums = { span: "detail", at: 0, known: new Set() };
  /** What `#sums` holds of this hour and minute, by provider, key, token and the model as the client wrote it. */
  readonly #fine = new Map<string, ByKey>();
  /** What `#sums` holds of this minute, by provider. */
  readonly #minutes = new Map<string, Sum>();
  /** Of this hour: models as they are shown, by what clients wrote. */
  #models = new Map<string, string>();

  constructor(options: UsageBookOptions) {
    this.#options = options;
    this.#mostModels = options.mostModels ?? 1_000;
    this.#mostSums = options.mostSums ?? 20_000;
  }

  /** Takes up a request that has just ended. Runs on the request path. */
  add({ record, endedAt }: LoggedRequest): void {
    const { providerId = "", keyId = "", attempts } = record;
    if (providerId === "") return;
    this.#begin(endedAt);
    const minute = this.#minuteOf(providerId);
    const { hour, detail } = this.#fineOf(record, providerId, keyId);
    countRequest(hour, record);
    countRequest(detail, record);
    countRequest(minute, record);
    for (let index = 0; index < attempts.length; index++) {
      const attempt = attempts[index];
      if (attempt === undefined) continue;
      this.#countAttempt(attempt);
      const isLast = index === attempts.length - 1 && attempt.keyId === keyId;
      const isSentAgain = attempts[index + 1]?.keyId === attempt.keyId;
      if (isLast || isSentAgain || attempt.outcome === "client_gone") continue;
      minute.failovers++;
      const tried = this.#fineOf(record, providerId, attempt.keyId);
      tried.hour.failovers++;
      tried.detail.failovers++;
    }
  }

  /** Takes out sums to be written, `limit` at most; `giveBack` if they could not be. */
  takeSums(limit: number): readonly UsageSum[] {
    this.#forgetPlaces();
    const taken: UsageSum[] = [];
    for (const [name, sum] of this.#sums) {
      if (taken.length === limit) break;
      this.#sums.delete(name);
      taken.push(sum);
    }
    return taken;
  }

  takeTotals(limit: number): readonly KeyTotals[] {
    const taken = [...this.#totals.values()].slice(0, limit);
    for (const { keyId } of taken) this.#totals.delete(keyId);
    return taken;
  }

  /** Adds up again what was taken out. */
  giveBack(sums: readonly UsageSum[], totals: readonly KeyTotals[]): void {
    for (const sum of sums) addCounts(this.#sum(sum), sum);
    for (const total of totals) {
      const now = this.#totalsOf(total.keyId);
      now.requests += total.requests;
      now.successes += total.successes;
      now.failures += total.failures;
      now.lastUsedAt = Math.max(now.lastUsedAt, total.lastUsedAt);
    }
  }

  /** What is not written down yet. */
  pending(): Iterable<UsageSum> {
    return this.#sums.values();
  }

  #begin(now: number): void {
    const hour = now - (now % hourMs);
    const minute = now - (now % minuteMs);
    if (hour === this.#hours.at && minute === this.#details.at) return;
    this.#forgetPlaces();
    if (hour !== this.#hours.at) this.#models = new Map();
    beginAt(this.#hours, hour);
    beginAt(this.#details, minute);
  }

  /** What was found of `#sums` must not be counted on once it is taken out, or its time is over. */
  #forgetPlaces(): void {
    this.#fine.clear();
    this.#minutes.clear();
  }

  /** The sums of the hour and the minute that are told apart by everything. */
  #fineOf({ tokenId = "", model }: RequestRecord, providerId: string, keyId: string): FineSum {
    // Now, since the key may be gone when it is written.
    const label = keyId === "" ? "" : this.#options.labelOf(providerId, keyId);
    const byKey = within(this.#fine, providerId);
    const byToken = within(byKey, keyId);
    const byModel = within(byToken, tokenId);
    const known = byModel.get(model);
    if (known !== undefined) {
      known.hour.label = label;
      known.detail.label = label;
      return known;
    }
    const place = { providerId, keyId, tokenId, label, model: this.#modelOf(model) } as const;
    const fresh = { hour: this.#fineSum(this.#hours, place), detail: this.#fineSum(this.#details, place) };
    // Clients may name any number of models beyond those that are told apart.
    if (model === undefined || this.#models.has(model)) byModel.set(model, fresh);
    return fresh;
  }

  #fineSum({ span, at, known }: FineSums, place: Omit<Sum, keyof Counts | "span" | "at">): Sum {
    const name = nameOf({ ...place, span, at });
    if (!known.has(name)) {
      if (known.size >= this.#mostSums) return this.#sum({ ...place, span, at, model: otherModels });
      known.add(name);
    }
    return this.#sum({ ...place, span, at });
  }

  #minuteOf(providerId: string): Sum {
    const known = this.#minutes.get(providerId);
    if (known !== undefined) return known;
    const { at } = this.#details;
    const fresh = this.#sum({ span: "minute", at, providerId, keyId: "", label: "", tokenId: "", model: "" });
    this.#minutes.set(providerId, fresh);
    return fresh;
  }

  #modelOf(model: string | undefined): string {
    if (model === undefined) return "";
    const known = this.#models.get(model);
    if (known !== undefined) return known;
    if (this.#models.size >= this.#mostModels) return otherModels;
    // Not every database takes every character, and no model has such a name.
    const shown = this.#options.redact(model).slice(0, longestModel).replace(unprintable, "?");
    this.#models.set(model, shown);
    return shown;
  }

  #sum(place: Omit<Sum, keyof Counts>): Sum {
    const name = nameOf(place);
    const known = this.#sums.get(name);
    if (known !== undefined) {
      known.label = place.label;
      return known;
    }
    const { span, at, providerId, keyId, label, tokenId, model } = place;
    const fresh = { span, at, providerId, keyId, label, tokenId, model, ...noCounts };
    this.#sums.set(name, fresh);
    return fresh;
  }

  #countAttempt({ keyId, startedAt, status, outcome }: RequestRecord["attempts"][number]): void {
    const totals = this.#totalsOf(keyId);
    totals.requests++;
    totals.lastUsedAt = Math.max(totals.lastUsedAt, startedAt);
    if (outcome === "client_gone") return;
    if (status !== undefined && status < 400) totals.successes++;
    else totals.failures++;
  }

  #totalsOf(keyId: string): Totals {
    const known = this.#totals.get(keyId);
    if (known !== undefined) return known;
    const fresh = { keyId, requests: 0, successes: 0, failures: 0, lastUsedAt: 0 };
    this.#totals.set(keyId, fresh);
    return fresh;
  }
}

export const noCounts: UsageCounts = {
  requests: 0,
  errors: 0,
  failovers: 0,
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

/** The map of that name in another, made when it is asked for first. */
function within<Key, Value>(outer: Map<string, Map<Key, Value>>, name: string): Map<Key, Value> {
  const known = outer.get(name);
  if (known !== undefined) return known;
  const fresh = new Map<Key, Value>();
  outer.set(name, fresh);
  return fresh;
}

function beginAt(sums: FineSums, at: number): void {
  if (sums.at === at) return;
  sums.at = at;
  sums.known.clear();
}

function countRequest(sum: Counts, record: RequestRecord): void {
  sum.requests++;
  if (isFailed(record)) sum.errors++;
  const { usage } = record;
  if (usage === undefined) return;
  sum.inputTokens += usage.inputTokens;
  sum.cacheReadTokens += usage.cacheReadTokens;
  sum.cacheWriteTokens += usage.cacheWriteTokens;
  sum.outputTokens += usage.outputTokens;
  sum.reasoningTokens += usage.reasoningTokens;
}

/** Adds the counts of `other` to those of `sum`. */
export function addCounts(sum: Counts, other: UsageCounts): void {
  for (const name of Object.keys(noCounts) as (keyof UsageCounts)[]) sum[name] += other[name];
}

function nameOf({ span, at, providerId, keyId, tokenId, model }: Omit<Sum, keyof Counts | "label">): string {
  return `${span} ${at} ${providerId} ${keyId} ${tokenId} ${model}`;
}
