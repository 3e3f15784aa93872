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
  readonly affinity: Record<Affinity, number>;
  requestBytes: number;
  responseBytes: number;
  usage: Usage | undefined;
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

/** Whether a request of a session or conversation was served by the key that had served it before. */
export type Affinity = "hit" | "moved" | "unbound";

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
    if (record.usage !== undefined)
      tally.usage = tally.usage === undefined ? record.usage : sum(tally.usage, record.usage);
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
      affinity: { hit: 0, moved: 0, unbound: 0 },
      requestBytes: 0,
      responseBytes: 0,
      usage: undefined,
    };
    this.#tallies.set(providerId, fresh);
    return fresh;
  }
}

/** What the attempts of a request tell together. */
function countCourse(
  tally: ProviderTally,
  attempts: readonly AttemptRecord[],
  { firstByteMs, bodyMs = 0, sessionId }: ServedRequest,
): void {
  let upstreamMs = 0;
  let before: AttemptRecord | undefined;
  for (const attempt of attempts) {
    upstreamMs += attempt.durationMs;
    if (before !== undefined && before.keyId !== attempt.keyId) tally.failovers++;
    before = attempt;
  }
  const affinity = affinityOf(attempts[0], before, sessionId !== undefined);
  if (affinity !== undefined) tally.affinity[affinity]++;
  if (firstByteMs !== undefined) tally.overheads.push(Math.max(0, firstByteMs - bodyMs - upstreamMs) / 1_000);
}

/** @returns undefined where there is nothing that a key could have been kept for, or where only its maker can serve */
function affinityOf(
  first: AttemptRecord | undefined,
  last: AttemptRecord | undefined,
  hasSession: boolean,
): Affinity | undefined {
  if (first?.why === "pin") return undefined;
  if (isBound(last)) return "hit";
  if (isBound(first)) return "moved";
  return hasSession ? "unbound" : undefined;
}

function isBound(attempt: AttemptRecord | undefined): boolean {
  return attempt?.why === "session" || attempt?.why === "continuation";
}

function sum(one: Usage, other: Usage): Usage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
  };
}
