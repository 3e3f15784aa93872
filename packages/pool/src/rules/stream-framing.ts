import { eventBytes, StreamBuffer } from "./stream-buffer.ts";
import type { AnyFrame, Framer } from "./stream-opening.ts";

/** A frame as the bytes that it lies in. */
export interface Frame extends AnyFrame {
  readonly bytes: Uint8Array;
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Blocks of server-sent events, each with its blank line. Lines end in LF, in CRLF or in CR, the same in all of a stream: the
 * first one tells. A block that lies in one chunk is not copied.
 */
export class SseFramer implements Framer {
  readonly #onFrame: (frame: Frame) => void;
  readonly #kept = new StreamBuffer();
  #isHandedOn = false;
  #lineLength = 0;
  #lineStart = 0;
  #lineEnd = lineFeed;
  #isLineEndKnown = false;
  /** The first line ends in a CR that was the last byte so far. */
  #endsInReturn = false;

  /** @param onFrame called for a block as it closes, or as it grows too large */
  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame;
  }

  push(chunk: Uint8Array): void {
    if (!this.#isLineEndKnown && chunk.length > 0) this.#findLineEnd(chunk);
    const lineEnd = this.#lineEnd;
    let from = 0;
    let lineFrom = 0;
    for (let at = chunk.indexOf(lineEnd); at !== -1; at = chunk.indexOf(lineEnd, lineFrom)) {
      const length = this.#lineLength + at - lineFrom;
      const first = this.#lineLength > 0 ? this.#lineStart : chunk[lineFrom];
      this.#lineLength = 0;
      lineFrom = at + 1;
      if (length > 1 || (length === 1 && first !== carriageReturn)) continue;
      this.#close(chunk, from, lineFrom);
      from = lineFrom;
    }
    if (lineFrom < chunk.length) {
      if (this.#lineLength === 0) this.#lineStart = chunk[lineFrom] ?? 0;
      this.#lineLength += chunk.length - lineFrom;
    }
    if (from < chunk.length) this.#keep(chunk, from);
  }

  end(): void {
    this.#close(new Uint8Array(0), 0, 0);
  }

  #findLineEnd(chunk: Uint8Array): void {
    const returnAt = this.#endsInReturn ? -1 : chunk.indexOf(carriageReturn);
    const feedAt = chunk.indexOf(lineFeed);
    if (!this.#endsInReturn && returnAt === -1 && feedAt === -1) return;
    const isFeed = feedAt !== -1 && (this.#endsInReturn ? feedAt === 0 : returnAt === -1 || feedAt <= returnAt + 1);
    if (!isFeed && returnAt === chunk.length - 1 && !this.#endsInReturn) {
      this.#endsInReturn = true;
      return;
    }
    this.#isLineEndKnown = true;
    if (isFeed) return;
    this.#lineEnd = carriageReturn;
    // The line that ended with the last chunk was taken for one that goes on.
    if (this.#endsInReturn) this.#lineLength = 0;
  }

  #close(chunk: Uint8Array, from: number, to: number): void {
    if (this.#kept.length > 0) {
      this.#kept.append(chunk, from, to);
      if (!this.#isHandedOn) this.#onFrame(this.#kept.frame());
    } else if (to - from > 2) {
      this.#onFrame({ bytes: chunk, from, to: Math.min(to, from + eventBytes), isWhole: to - from <= eventBytes });
    }
    this.#kept.clear();
    this.#isHandedOn = false;
  }

  #keep(chunk: Uint8Array, from: number): void {
    this.#kept.append(chunk, from, chunk.length);
    if (!this.#kept.isCut || this.#isHandedOn) return;
    this.#isHandedOn = true;
    this.#onFrame(this.#kept.frame());
  }
}
