import { instantOfRequestId } from "../requests/request-id.ts";
import { seqsPerMs } from "../requests/request-seq.ts";
import type { RequestFilter, StoredRequest } from "./store.ts";

/** Requests that ended one behind the other, as they are stored: together, for a row of each costs thirty times as much. */
export interface RequestBlock {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** When the one that began first did, epoch ms. */
  readonly firstStartedAt: number;
  readonly count: number;
  /** A line for each, in UTF-8: what it is found by as a JSON array, a tab, its detail. */
  readonly data: Uint8Array;
  /** What its requests are found by. */
  readonly marks: readonly string[];
}

type Line = readonly [
  seq: number,
  id: string,
  providerId: string | null,
  keyId: string | null,
  otherKeyIds: readonly string[],
  sessionId: string | null,
  status: number,
  failed: 0 | 1,
  startedAt: number,
];

/** A page is read by blocks, and a block as a whole: some ms of work. */
const mostInBlock = 1_000;
/** Between the ends of its first and last request, as a difference of `seq`: who looks for those before an instant need not look far. */
export const longestBlock = 60_000 * seqsPerMs;

/** @param requests in any order */
export function toBlocks(requests: readonly StoredRequest[]): readonly RequestBlock[] {
  const sorted = [...requests].sort((one, other) => one.seq - other.seq);
  const blocks: RequestBlock[] = [];
  for (let from = 0; from < sorted.length;) {
    const end = (sorted[from]?.seq ?? 0) + longestBlock;
    let to = from + 1;
    while (to < sorted.length && to - from < mostInBlock && (sorted[to]?.seq ?? 0) <= end) to++;
    blocks.push(toBlock(sorted.slice(from, to)));
    from = to;
  }
  return blocks;
}

function toBlock(requests: readonly StoredRequest[]): RequestBlock {
  let text = "";
  let firstStartedAt = Infinity;
  const marks = new MarkSet();
  for (const request of requests) {
    const { seq, id, providerId, keyId, otherKeyIds, sessionId, status, failed, startedAt, detail } = request;
    const line: Line = [seq, id, providerId, keyId, otherKeyIds, sessionId, status, failed ? 1 : 0, startedAt];
    text += `${JSON.stringify(line)}\t${detail}\n`;
    firstStartedAt = Math.min(firstStartedAt, startedAt);
    marks.add(request);
  }
  return {
    firstSeq: requests[0]?.seq ?? 0,
    lastSeq: requests.at(-1)?.seq ?? 0,
    firstStartedAt,
    count: requests.length,
    data: Buffer.from(text),
    marks: marks.list(),
  };
}

/** In the order of their ends. Lines that a damaged disk has left unreadable are passed over. */
export function readBlock(data: Uint8Array): readonly StoredRequest[] {
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
  return text.split("\n").flatMap((line) => readLine(line) ?? []);
}

function readLine(line: string): StoredRequest | undefined {
  const tab = line.indexOf("\t");
  if (tab === -1) return undefined;
  try {
    const read = JSON.parse(line.slice(0, tab)) as Line;
    const [seq, id, providerId, keyId, otherKeyIds, sessionId, status, failed, startedAt] = read;
    const detail = line.slice(tab + 1);
    return { seq, id, providerId, keyId, otherKeyIds, sessionId, status, failed: failed === 1, startedAt, detail };
  } catch {
    return undefined;
  }
}

/** Of what requests share, each is taken up as it is: most of them bring nothing new. */
class MarkSet {
  readonly #providers = new Set<string | null>();
  readonly #keys = new Set<string | null>();
  readonly #sessions = new Set<string | null>();
  readonly #statuses = new Set<number>();
  readonly #others = new Set<string>();

  add({ id, providerId, keyId, otherKeyIds, sessionId, status, failed, startedAt }: StoredRequest): void {
    this.#providers.add(providerId);
    this.#keys.add(keyId);
    this.#sessions.add(sessionId);
    this.#statuses.add(status);
    for (const otherId of otherKeyIds) this.#keys.add(otherId);
    if (otherKeyIds.length > 0) this.#others.add(marksOf.failover);
    if (failed) this.#others.add(marksOf.failed);
    if (instantOfRequestId(id) !== startedAt) this.#others.add(marksOf.id(id));
  }

  list(): readonly string[] {
    const classes = new Set(Array.from(this.#statuses, classOf));
    return [
      ...named(this.#providers, marksOf.provider),
      ...named(this.#keys, marksOf.key),
      ...named(this.#sessions, marksOf.session),
      ...Array.from(this.#statuses, marksOf.status),
      ...Array.from(classes, marksOf.statusClass),
      ...this.#others,
    ];
  }
}

function named(ids: ReadonlySet<string | null>, markOf: (id: string) => string): readonly string[] {
  return [...ids].flatMap((id) => (id === null ? [] : [markOf(id)]));
}

function classOf(status: number): number {
  return Math.floor(status / 100);
}

const marksOf = {
  provider: (id: string) => `p:${id}`,
  key: (id: string) => `k:${id}`,
  session: (id: string) => `s:${id}`,
  /** Of a request whose id does not tell when it began. */
  id: (id: string) => `i:${id}`,
  status: (status: number) => `c:${status}`,
  statusClass: (hundreds: number) => `c:${hundreds}xx`,
  failover: "failover",
  failed: "failed",
} as const;

/** What the block of a request whose id does not tell when it began is found by. */
export const markOfId = marksOf.id;

/** The mark that leaves the fewest blocks to look through; undefined: they are all looked through. */
export function bestMark({
  providerId,
  keyId,
  sessionId,
  status,
  failed,
  failover,
}: RequestFilter): string | undefined {
  if (sessionId !== undefined) return marksOf.session(sessionId);
  if (failover === true) return marksOf.failover;
  if (status !== undefined && status.from === status.to) return marksOf.status(status.from);
  if (failed === true) return marksOf.failed;
  if (status !== undefined && classOf(status.from) === classOf(status.to))
    return marksOf.statusClass(classOf(status.from));
  if (keyId !== undefined) return marksOf.key(keyId);
  return providerId === undefined ? undefined : marksOf.provider(providerId);
}
