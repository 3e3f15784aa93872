import type { StoredRequest } from "../store/store.ts";
import { MarkSet } from "./request-marks.ts";
import { seqsPerMs } from "./request-seq.ts";

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

/** Room for the requests of some ten ms; it grows, and is used again for the next block. */
const firstBytes = 64 * 1024;
/** More than is written of a request at once, for all its characters may take three bytes. */
const bytesPerCharacter = 3;

/**
 * A block that requests are still added to. They are bytes from the beginning: of what waits as objects or strings, the
 * collector has to move every piece.
 */
export class OpenBlock {
  #bytes: Buffer = Buffer.allocUnsafeSlow(firstBytes);
  #usedBytes = 0;
  #count = 0;
  #firstSeq = 0;
  #lastSeq = 0;
  #firstStartedAt = Infinity;
  #marks = new MarkSet();

  get count(): number {
    return this.#count;
  }

  /** Whether a request that ends now belongs into it. Those of one block come in the order of `seq`. */
  hasRoomFor(seq: number): boolean {
    return this.#count === 0 || (this.#count < mostInBlock && seq - this.#firstSeq <= longestBlock);
  }

  add(request: StoredRequest): void {
    const { seq, id, providerId, keyId, otherKeyIds, sessionId, status, failed, startedAt, detail } = request;
    const line: Line = [seq, id, providerId, keyId, otherKeyIds, sessionId, status, failed ? 1 : 0, startedAt];
    this.#write(`${JSON.stringify(line)}\t${detail}\n`);
    if (this.#count === 0) this.#firstSeq = seq;
    this.#lastSeq = seq;
    this.#count += 1;
    if (startedAt < this.#firstStartedAt) this.#firstStartedAt = startedAt;
    this.#marks.add(request);
  }

  /** What there is so far, as bytes that stay valid until more is added. */
  peek(): Buffer {
    return this.#bytes.subarray(0, this.#usedBytes);
  }

  /** The block as it is kept; this one begins anew. */
  close(): RequestBlock {
    const block = {
      firstSeq: this.#firstSeq,
      lastSeq: this.#lastSeq,
      firstStartedAt: this.#firstStartedAt,
      count: this.#count,
      data: Buffer.from(this.peek()),
      marks: this.#marks.list(),
    };
    this.#usedBytes = 0;
    this.#count = 0;
    this.#firstStartedAt = Infinity;
    this.#marks = new MarkSet();
    return block;
  }

  #write(text: string): void {
    const needed = this.#usedBytes + text.length * bytesPerCharacter;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, this.#usedBytes);
      this.#bytes = larger;
    }
    this.#usedBytes += this.#bytes.write(text, this.#usedBytes);
  }
}

/** @param requests in any order */
export function toBlocks(requests: readonly StoredRequest[]): readonly RequestBlock[] {
  const blocks: RequestBlock[] = [];
  const open = new OpenBlock();
  for (const request of [...requests].sort((one, other) => one.seq - other.seq)) {
    if (!open.hasRoomFor(request.seq)) blocks.push(open.close());
    open.add(request);
  }
  if (open.count > 0) blocks.push(open.close());
  return blocks;
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
