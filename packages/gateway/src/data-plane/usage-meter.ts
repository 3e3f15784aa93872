import { readUsage, type Usage } from "@keywheel/pool";

/** Of the end of a body this much is held, and up to twice as much. A stream tells it in its last events. */
const heldBytes = 128 * 1024;
const heldOfStream = 32 * 1024;
/** With nearly everybody, usage stands within this much of the end; only if not is all that is held searched. */
const usualBytes = 8 * 1024;
/** The first event of a stream lies within this. */
const headBytes = 8 * 1024;

/** Whether an answer of this type may tell what it cost. */
export function mayTellUsage(contentType: string | undefined): boolean {
  return /^(?:$|text\/event-stream|text\/plain|application\/(?:[\w.-]+[+-])?json)/i.test(contentType ?? "");
}

/**
 * Finds what an answer cost, once it has gone by.
 *
 * While it goes by, its pieces are only held on to, those of the beginning and those of the end; they are searched once. The
 * stream's events are no help: the last one of a long response may be too large to be looked at as a whole.
 */
export class UsageMeter {
  readonly #head: Uint8Array[] = [];
  #headBytes = 0;
  #older: Uint8Array[] = [];
  #newer: Uint8Array[] = [];
  #newerBytes = 0;
  readonly #heldBytes: number;

  constructor(contentType?: string) {
    this.#heldBytes = /^text\/event-stream/i.test(contentType ?? "") ? heldOfStream : heldBytes;
  }

  /** Takes the next bytes of the body, content encoding undone; they must not be written to afterwards. */
  push(chunk: Uint8Array): void {
    if (this.#headBytes < headBytes) {
      this.#head.push(chunk);
      this.#headBytes += chunk.length;
    }
    if (this.#newerBytes >= this.#heldBytes) {
      this.#older = this.#newer;
      this.#newer = [];
      this.#newerBytes = 0;
    }
    this.#newer.push(chunk);
    this.#newerBytes += chunk.length;
  }

  /** What was told so far; undefined if nothing was. */
  read(): Usage | undefined {
    const chunks = this.#older.length === 0 ? this.#newer : [...this.#older, ...this.#newer];
    const head = (): string => toText(Buffer.concat(this.#head).subarray(0, headBytes));
    const usual = endOf(chunks, usualBytes);
    const found = readUsage(toText(usual), head);
    if (found !== undefined || usual.length < usualBytes) return found;
    const held = Buffer.concat(chunks);
    // Most of those that have none end here: bytes are searched faster than text, and quickest for a rare letter.
    return held.includes("usage") ? readUsage(toText(held), head) : undefined;
  }
}

/** The last pieces that make up so many bytes. */
function endOf(chunks: readonly Uint8Array[], bytes: number): Buffer {
  let from = chunks.length;
  for (let left = bytes; from > 0 && left > 0; from--) left -= chunks[from - 1]?.length ?? 0;
  const joined = from === chunks.length - 1 ? asBuffer(chunks[from]) : Buffer.concat(chunks.slice(from));
  return joined.subarray(Math.max(0, joined.length - bytes));
}

function asBuffer(chunk: Uint8Array | undefined): Buffer {
  return chunk === undefined ? Buffer.alloc(0) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

/** Latin-1: only names and numbers matter, and it is the quickest. */
function toText(bytes: Buffer): string {
  return bytes.toString("latin1");
}
