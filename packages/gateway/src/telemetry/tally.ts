import type { AttemptRecord, Usage } from "@keywheel/pool";
import type { ServedRequest } from "./metrics.ts";

/** What was counted of one provider and not yet handed over. */
export interface ProviderTally {
  /** Its slug as it was when the count began: by the time of the handover it may be gone. */
  readonly provider: string;
  /** By status, error and ending. */
  readonly requests: Map<string, RequestCount>;
  /** By key, outcome and why that key. */
  readonly attempts: Map<string, AttemptCount>;
  readonly durations: number[];
  readonly firstBytes: number[];
  /** What neither the provider nor the client took, seconds. */
  readonly overheads: number[];
  /** How often a request went on with another key. */
  failovers: number;
  requestBytes: number;
  responseBytes: number;
  /** What answers cost, by the key that they came from; "" where there was none. */
  readonly usages: Map<string, Tokens>;
}

interface RequestCount {
  readonly status: number;
  readonly error: string;
  readonly ending: string;
  count: number;
}

interface AttemptCount {
  readonly key: string;
  readonly outcome: string;
  readonly why: AttemptRecord["why"];
  count: number;
}

/** Sums that are added to. */
export type Tokens = { -readonly [Name in keyof Usage]: number };

/** Handed over when a provider has so many durations, or somebody asks. */
const mostWaiting = 1_000;

/**
 * Counts up what comes with every request, to hand it over in bulk: whoever keeps the counters looks up each by its labels, and
 * that a dozen times for a request would be the dearest thing done for it.
 */
export class Tally {
  readonly #slugOf: (providerId: string | undefined) => string;
  readonly #handOver: (tally: ProviderTally) => void;
  readonly #tallies = new Map<string | undefined, ProviderTally>();

  constructor(slugOf: (providerId: string | undefined) => string, handOver: (tally: ProviderTally) => void) {
    this.#slugOf = slugOf;
    this.#handOver = handOver;
  }

  attempt(providerId: string, { keyId: key, outcome, why }: AttemptRecord): void {
    const { attempts } = this.#of(providerId);
    const name = `${key} ${outcome} ${why}`;
    const known = attempts.get(name);
    if (known === undefined) attempts.set(name, { key, outcome, why, count: 1 });
    else known.count++;
  }

  request(record: ServedRequest): void {
    const { providerId, status, error = "", ending } = record;
    const tally = this.#of(providerId);
    const name = `${status} ${ending} ${error}`;
    const known = tally.requests.get(name);
    if (known === undefined) tally.requests.set(name, { status, error, ending, count: 1 });
    else known.count++;
    tally.requestBytes += record.requestBytes;
    tally.responseBytes += record.responseBytes ?? 0;
    if (record.usage !== undefined) addTokens(tally.usages, record.keyId ?? "", record.usage);
    tally.durations.push(record.durationMs / 1_000);
    if (record.firstByteMs !== undefined) tally.firstBytes.push(record.firstByteMs / 1_000);
    if (record.attempts !== undefined && record.attempts.length > 0) countCourse(tally, record.attempts, record);
    if (tally.durations.length < mostWaiting) return;
    this.#tallies.delete(providerId);
    this.#handOver(tally);
  }

  /** Hands everything over. */
  handOver(): void {
    const all = [...this.#tallies.values()];
    this.#tallies.clear();
    for (const tally of all) this.#handOver(tally);
  }

  #of(providerId: string | undefined): ProviderTally {
    const known = this.#tallies.get(providerId);
    if (known !== undefined) return known;
    const fresh: ProviderTally = {
      provider: this.#slugOf(providerId),
      requests: new Map(),
      attempts: new Map(),
      durations: [],
      firstBytes: [],
      overheads: [],
      failovers: 0,
      requestBytes: 0,
      responseBytes: 0,
      usages: new Map(),
    };
    this.#tallies.set(providerId, fresh);
    return fresh;
  }
}

/** What the attempts of a request tell together. */
function countCourse(
  tally: ProviderTally,
  attempts: readonly AttemptRecord[],
  { firstByteMs, bodyMs = 0 }: ServedRequest,
): void {
  let upstreamMs = 0;
  let before: AttemptRecord | undefined;
  for (const attempt of attempts) {
    upstreamMs += attempt.durationMs;
    if (before !== undefined && before.keyId !== attempt.keyId) tally.failovers++;
    before = attempt;
  }
  if (firstByteMs !== undefined) tally.overheads.push(Math.max(0, firstByteMs - bodyMs - upstreamMs) / 1_000);
}

/** Adds to what is known under the name. */
export function addTokens(sums: Map<string, Tokens>, name: string, usage: Usage): void {
  const sum = sums.get(name);
  if (sum === undefined) return void sums.set(name, { ...usage });
  sum.inputTokens += usage.inputTokens;
  sum.cacheReadTokens += usage.cacheReadTokens;
  sum.cacheWriteTokens += usage.cacheWriteTokens;
  sum.outputTokens += usage.outputTokens;
  sum.reasoningTokens += usage.reasoningTokens;
}
