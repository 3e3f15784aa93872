import type { Frame } from "./stream-framing.ts";

/** Of one event, this much is kept and looked at. Whatever is larger is content, unless its name says otherwise. */
export const eventBytes = 65_536;

const none = new Uint8Array(0);
const leastBytes = 1_024;

/**
 * The beginning of something that comes in pieces: at most `eventBytes` of it, in memory that is used again for the next.
 */
export class StreamBuffer {
  #bytes = none;
  #length = 0;
  #isCut = false;

  get length(): number {
    return this.#length;
  }

  /** Whether something did not fit. */
  get isCut(): boolean {
    return this.#isCut;
  }

  frame(): Frame {
    return { bytes: this.#bytes, from: 0, to: this.#length, isWhole: !this.#isCut };
  }

  append(chunk: Uint8Array, from: number, to: number): void {
    const taken = Math.min(to - from, eventBytes - this.#length);
    if (taken < to - from) this.#isCut = true;
    if (taken <= 0) return;
    if (this.#length + taken > this.#bytes.length) this.#grow(this.#length + taken);
    this.#bytes.set(chunk.subarray(from, from + taken), this.#length);
    this.#length += taken;
  }

  clear(): void {
    this.#length = 0;
    this.#isCut = false;
  }

  #grow(needed: number): void {
    const grown = new Uint8Array(Math.min(eventBytes, Math.max(needed, leastBytes, this.#bytes.length * 2)));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}
