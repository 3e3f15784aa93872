import type { Clock } from "@keywheel/pool";
import type { RequestRecord } from "../data-plane/request-record.ts";
import { fromDetail, toDetail } from "./request-detail.ts";
import { fits } from "../requests/request-filter.ts";
import { OpenBlock, readBlock, type RequestBlock } from "../requests/request-blocks.ts";
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
  /** How many may wait for a database that cannot be written; default 40,000 (some 20 MB). */
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
  /** The newest. */
  readonly #open = new OpenBlock();
  /** Not yet written, oldest first. */
  #waiting: RequestBlock[] = [];
  #waitingCount = 0;
  /** Written, and still shown from memory; oldest first. */
  #written: RequestBlock[] = [];
  #lastSeq: number;
  /** Where this process begins in each millisecond. */
  readonly #laneStart: number;
  #lost = 0;

  constructor(options: RequestLogOptions) {
    this.#options = options;
    this.#capacity = options.capacity ?? 1_000;
    this.#maxWaiting = options.maxWaiting ?? 40_000;
    this.#lastSeq = options.lastSeq ?? 0;
    this.#laneStart = ((options.lane ?? 0) * laneStride) % seqsPerMs;
  }

  /** How many wait to be written. */
  get waiting(): number {
    return this.#waitingCount + this.#open.count;
  }

  /** How many were let go of unwritten, since the database could not be written for too long, or did not take them. */
  get lost(): number {
    return this.#lost;
  }

  /** Takes up a request that has just ended. Runs on the request path. */
  add(record: RequestRecord): LoggedRequest {
    const endedAt = this.#options.clock.now();
    this.#lastSeq = Math.max(this.#lastSeq + 1, seqOf(endedAt) + this.#laneStart);
    if (!this.#open.hasRoomFor(this.#lastSeq)) this.#closeBlock();
    this.#open.add(this.#toStored(this.#lastSeq, endedAt, record));
    return { seq: this.#lastSeq, endedAt, record };
  }

  /** The block that waits longest, to be written; it waits on until `written` says that it is. */
  peek(): RequestBlock | undefined {
    if (this.#waiting.length === 0 && this.#open.count > 0) this.#closeBlock();
    return this.#waiting[0];
  }

  /** The database will never take it: it is not tried again. */
  refused(block: RequestBlock): void {
    if (this.#takeOut(block)) this.#lost += block.count;
  }

  written(block: RequestBlock): void {
    if (!this.#takeOut(block)) return;
    this.#written.push(block);
    let others = this.#written.reduce((sum, { count }) => sum + count, 0);
    for (const oldest of this.#written) {
      others -= oldest.count;
      if (others < this.#capacity) break;
      this.#written = this.#written.slice(1);
    }
  }

  /** Newest first. @throws KeywheelError store_unavailable */
  async list(filter: RequestFilter): Promise<RequestPage> {
    const { limit, beforeSeq = Infinity } = filter;
    if ((this.#options.lane ?? 0) > 0) return await this.#listOfAll(filter);
    const found: LoggedRequest[] = [];
    let oldest = beforeSeq;
    for await (const block of this.#blocksInMemory()) {
      if (found.length > limit) break;
      for (const stored of block.toReversed()) {
        if (stored.seq < oldest && fits(stored, filter)) found.push(...readable([stored]));
      }
      oldest = Math.min(oldest, block[0]?.seq ?? Infinity);
    }
    if (found.length <= limit) {
      const rest = { ...filter, limit: limit + 1 - found.length };
      const stored = await this.#options.store.listRequests(
        Number.isFinite(oldest) ? { ...rest, beforeSeq: oldest } : rest,
      );
      found.push(...readable(stored));
    }
    return pageOf(found, limit);
  }

  /** What is stored, by whomever, and what waits here to be. */
  async #listOfAll(filter: RequestFilter): Promise<RequestPage> {
    const { limit, beforeSeq = Infinity } = filter;
    const bySeq = new Map<number, LoggedRequest>();
    // First: what is written meanwhile is in both, rather than in none.
    for await (const block of this.#blocksInMemory()) {
      const fitting = block.filter((stored) => stored.seq < beforeSeq && fits(stored, filter));
      for (const request of readable(fitting)) bySeq.set(request.seq, request);
    }
    const stored = await this.#options.store.listRequests({ ...filter, limit: limit + 1 });
    for (const request of readable(stored)) bySeq.set(request.seq, request);
    return pageOf(
      [...bySeq.values()].sort((one, other) => other.seq - one.seq),
      limit,
    );
  }

  /** @throws KeywheelError store_unavailable */
  async find(id: string): Promise<LoggedRequest | undefined> {
    const bytes = Buffer.from(id);
    for (const data of [...this.#closed().map((block) => block.data), this.#open.peek()]) {
      if (!Buffer.from(data.buffer, data.byteOffset, data.length).includes(bytes)) continue;
      const held = readBlock(data).find((request) => request.id === id);
      if (held !== undefined) return fromStored(held);
    }
    const stored = await this.#options.store.findRequest(id);
    return stored === undefined ? undefined : fromStored(stored);
  }

  /** The requests of each block, in the order of their ends; the newest block first. */
  async *#blocksInMemory(): AsyncIterable<readonly StoredRequest[]> {
    const closed = this.#closed();
    // At once: its bytes are used again.
    yield readBlock(this.#open.peek());
    for (const { data } of closed.toReversed()) {
      yield readBlock(data);
      // Reading one takes a ms or two, in which nobody else is served.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #closed(): readonly RequestBlock[] {
    return [...this.#written, ...this.#waiting];
  }

  /** @returns false if it has been let go of meanwhile */
  #takeOut(block: RequestBlock): boolean {
    if (this.#waiting[0] !== block) return false;
    this.#waiting.shift();
    this.#waitingCount -= block.count;
    return true;
  }

  #closeBlock(): void {
    const block = this.#open.close();
    this.#waiting.push(block);
    this.#waitingCount += block.count;
    // With room for one more, which is filled meanwhile.
    while (this.#waitingCount + block.count > this.#maxWaiting && this.#waiting.length > 1) {
      const lost = this.#waiting.shift()?.count ?? 0;
      this.#waitingCount -= lost;
      this.#lost += lost;
    }
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

/** @param found newest first; one more than the page holds tells that there is another page */
function pageOf(found: readonly LoggedRequest[], limit: number): RequestPage {
  const requests = found.slice(0, limit);
  return { requests, next: found.length > limit ? requests.at(-1)?.seq : undefined };
}

/** @returns undefined for one that a damaged disk has left unreadable */
function fromStored(stored: StoredRequest): LoggedRequest | undefined {
  try {
    return { seq: stored.seq, ...fromDetail(stored) };
  } catch {
    return undefined;
  }
}

function readable(stored: readonly StoredRequest[]): readonly LoggedRequest[] {
  return stored.flatMap((request) => fromStored(request) ?? []);
}
