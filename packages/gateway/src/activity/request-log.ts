import type { Clock } from "@keywheel/pool";
import type { RequestRecord } from "../data-plane/request-record.ts";
import { fromDetail, toDetail } from "./request-detail.ts";
import { fits } from "../requests/request-filter.ts";
import { seqOf, seqsPerMs } from "../requests/request-seq.ts";
import type { RequestFilter, Store, StoredRequest } from "../store/store.ts";

/** A request that has ended, with its place among all others. */
export interface LoggedRequest {
  readonly seq: number;
  readonly endedAt: number;
  /** Path and model without secrets. */
  readonly record: RequestRecord;
}

export interface RequestLogOptions {
  readonly store: Pick<Store, "listRequests" | "findRequest">;
  readonly clock: Pick<Clock, "now">;
  /** The last `seq` that a former process gave; default 0. A clock that was set back must not give one again. */
  readonly lastSeq?: number;
  /**
   * Of processes that share the store: a number for each, so that no two give the same `seq`. Lists are of all of them then.
   * Default 0: the store is this process's alone.
   */
  readonly lane?: number;
  /** Takes every secret out of a text. */
  readonly redact: (text: string) => string;
  /** How many are shown from memory; default 1,000. */
  readonly capacity?: number;
  /** How many may wait for a database that cannot be written; default 20,000 (some 20 MB). */
  readonly maxWaiting?: number;
}

export interface RequestPage {
  readonly requests: readonly LoggedRequest[];
  /** What the next page is asked for by; undefined on the last one. */
  readonly next: number | undefined;
}

/** Odd, so that two thousand lanes begin at places of their own, neighbours far apart. */
const laneStride = 797;

/**
 * The explanation of each request: the newest in memory, all of them in the store a little later.
 *
 * Memory holds whatever the store does not hold yet, so that a list is whole without anything being written for it: the
 * newest from here, what is older from there.
 */
export class RequestLog {
  readonly #options: RequestLogOptions;
  readonly #capacity: number;
  readonly #maxWaiting: number;
  /**
   * As they are stored: of a few strings each the collector makes little work, of thirty objects much. Oldest first; up to
   * twice the capacity, so that it is not moved at each request.
   */
  #newest: StoredRequest[] = [];
  /** Not yet written, oldest first. */
  #waiting: StoredRequest[] = [];
  #lastSeq: number;
  /** Where this process begins in each millisecond. */
  readonly #laneStart: number;
  #lost = 0;

  constructor(options: RequestLogOptions) {
    this.#options = options;
    this.#capacity = options.capacity ?? 1_000;
    this.#maxWaiting = options.maxWaiting ?? 20_000;
    this.#lastSeq = options.lastSeq ?? 0;
    this.#laneStart = ((options.lane ?? 0) * laneStride) % seqsPerMs;
  }

  /** How many wait to be written. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** How many were let go of unwritten, since the database could not be written for too long. */
  get lost(): number {
    return this.#lost;
  }

  /** Takes up a request that has just ended. Runs on the request path. */
  add(record: RequestRecord): LoggedRequest {
    const endedAt = this.#options.clock.now();
    this.#lastSeq = Math.max(this.#lastSeq + 1, seqOf(endedAt) + this.#laneStart);
    const stored = this.#toStored(this.#lastSeq, endedAt, record);
    this.#newest.push(stored);
    if (this.#newest.length >= 2 * this.#capacity) this.#newest = this.#newest.slice(-this.#capacity);
    this.#waiting.push(stored);
    if (this.#waiting.length >= 2 * this.#maxWaiting) this.#letGo();
    return { seq: this.#lastSeq, endedAt, record };
  }

  /** Those that wait longest, to be written; they wait on until `written` says that they are. */
  peek(limit: number): readonly StoredRequest[] {
    return this.#waiting.slice(0, limit);
  }

  written(requests: readonly StoredRequest[]): void {
    const last = requests.at(-1)?.seq ?? 0;
    const next = this.#waiting.findIndex(({ seq }) => seq > last);
    this.#waiting = next === -1 ? [] : this.#waiting.slice(next);
  }

  /** Newest first. @throws KeywheelError store_unavailable */
  async list(filter: RequestFilter): Promise<RequestPage> {
    const { limit, beforeSeq = Infinity } = filter;
    if ((this.#options.lane ?? 0) > 0) return await this.#listOfAll(filter);
    const held = this.#held();
    const found: LoggedRequest[] = [];
    for (let at = held.length - 1; at >= 0 && found.length <= limit; at--) {
      const stored = held[at];
      if (stored !== undefined && stored.seq < beforeSeq && fits(stored, filter)) found.push(fromStored(stored));
    }
    if (found.length <= limit) {
      const oldest = Math.min(beforeSeq, held[0]?.seq ?? Infinity);
      const rest = { ...filter, limit: limit + 1 - found.length };
      const stored = await this.#options.store.listRequests(
        Number.isFinite(oldest) ? { ...rest, beforeSeq: oldest } : rest,
      );
      found.push(...stored.map(fromStored));
    }
    const requests = found.slice(0, limit);
    return { requests, next: found.length > limit ? requests.at(-1)?.seq : undefined };
  }

  /** What is stored, by whomever, and what waits here to be. */
  async #listOfAll(filter: RequestFilter): Promise<RequestPage> {
    const { limit, beforeSeq = Infinity } = filter;
    // First: what is written meanwhile is in both, rather than in none.
    const waiting = this.#waiting.filter((request) => request.seq < beforeSeq && fits(request, filter));
    const stored = await this.#options.store.listRequests({ ...filter, limit: limit + 1 });
    const bySeq = new Map(stored.map((request) => [request.seq, fromStored(request)]));
    for (const request of waiting) bySeq.set(request.seq, fromStored(request));
    const found = [...bySeq.values()].sort((one, other) => other.seq - one.seq);
    const requests = found.slice(0, limit);
    return { requests, next: found.length > limit ? requests.at(-1)?.seq : undefined };
  }

  /** @throws KeywheelError store_unavailable */
  async find(id: string): Promise<LoggedRequest | undefined> {
    const held = this.#held().findLast((request) => request.id === id);
    const stored = held ?? (await this.#options.store.findRequest(id));
    return stored === undefined ? undefined : fromStored(stored);
  }

  /** Everything that a list must take from memory. Both reach up to the newest; the longer one holds the other. */
  #held(): readonly StoredRequest[] {
    return this.#waiting.length > this.#newest.length ? this.#waiting : this.#newest;
  }

  #letGo(): void {
    this.#lost += this.#waiting.length - this.#maxWaiting;
    this.#waiting = this.#waiting.slice(-this.#maxWaiting);
  }

  #toStored(seq: number, endedAt: number, record: RequestRecord): StoredRequest {
    const { requestId, providerId = null, keyId = null, sessionId = null, status, startedAt } = record;
    return {
      seq,
      id: requestId,
      providerId,
      keyId,
      otherKeyIds: otherKeysOf(record),
      sessionId,
      status,
      failed: isFailed(record),
      startedAt,
      detail: toDetail(this.#safe(record), endedAt),
    };
  }

  /** Clients may put a secret anywhere. */
  #safe(record: RequestRecord): RequestRecord {
    const { redact } = this.#options;
    const slug = redact(record.slug);
    const path = shorten(redact(record.path));
    const model = record.model === undefined ? undefined : redact(record.model);
    if (slug === record.slug && path === record.path && model === record.model) return record;
    return { ...record, slug, path, ...(model === undefined ? {} : { model }) };
  }
}

const noKeys: readonly string[] = [];

/** Keys that were asked without serving it; most requests have none. */
function otherKeysOf({ attempts, keyId }: RequestRecord): readonly string[] {
  if (attempts.every((attempt) => attempt.keyId === keyId)) return noKeys;
  return [...new Set(attempts.map((attempt) => attempt.keyId))].filter((id) => id !== keyId);
}

/** Whether the client got less than a whole answer of success; one that left has no claim to it. */
export function isFailed({ status, ending }: RequestRecord): boolean {
  return status >= 400 || ending === "truncated" || ending === "failed";
}

const longestPath = 1_000;

function shorten(path: string): string {
  return path.length <= longestPath ? path : `${path.slice(0, longestPath)}…`;
}

function fromStored(stored: StoredRequest): LoggedRequest {
  return { seq: stored.seq, ...fromDetail(stored) };
}
