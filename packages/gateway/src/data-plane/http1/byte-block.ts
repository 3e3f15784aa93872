import { badAnswer } from "./http1-error.ts";

const blockEnd = "\r\n\r\n";
const nothing = Buffer.alloc(0);
/** As much memory as an idle connection may hold for its next head. */
const keptBytes = 4_096;
const cr = 0x0d;
const lf = 0x0a;

/**
 * Gathers lines up to an empty one, in however small pieces they come: each byte is looked at and copied a bounded number of
 * times.
 */
export class ByteBlock {
  /** One character a byte, without the empty line; undefined until that has come. */
  text: string | undefined;
  readonly #maxBytes: number;
  /** Of all blocks since `reset`. */
  #takenBytes = 0;
  #held: Buffer = nothing;
  #heldBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @param beginning is counted as having come already */
  reset(beginning = ""): void {
    this.#takenBytes = 0;
    this.next();
    if (beginning !== "") this.#hold(Buffer.from(beginning, "latin1"), 0);
  }

  /** Goes on to the next block, which counts towards the same bound. */
  next(): void {
    this.text = undefined;
    this.#heldBytes = 0;
    if (this.#held.length > keptBytes) this.#held = nothing;
  }

  /**
   * Takes bytes up to the end of the block.
   *
   * @returns where they end
   * @throws Http1Error for a block that is too large; and, so that it is not waited for, for one that is not whole and has
   *   line ends that are none. Who reads the lines has to look for such in the rest
   */
  take(chunk: Buffer, from: number): number {
    const end = this.#heldBytes === 0 ? chunk.indexOf(blockEnd, from, "latin1") : -1;
    // What mostly comes: a whole block in one piece.
    if (end !== -1) {
      this.#count(end + blockEnd.length - from);
      this.text = chunk.toString("latin1", from, end);
      return end + blockEnd.length;
    }
    return this.#append(chunk, from);
  }

  /** Whether what came so far is the beginning of this, or begins with it. */
  mayBegin(expected: string): boolean {
    const length = Math.min(expected.length, this.#heldBytes);
    return this.#held.toString("latin1", 0, length) === expected.slice(0, length);
  }

  #append(chunk: Buffer, from: number): number {
    const before = this.#heldBytes;
    this.#hold(chunk, from);
    const held = this.#held.subarray(0, this.#heldBytes);
    const searchFrom = Math.max(0, before - blockEnd.length + 1);
    const found = held.indexOf(blockEnd, searchFrom, "latin1");
    const end = found === -1 ? held.length : found;
    // A line end may be cut between two pieces: its first byte is looked at again.
    expectLines(held, Math.max(0, before - 1), end);
    const takenBytes = found === -1 ? chunk.length - from : found + blockEnd.length - before;
    this.#count(takenBytes);
    if (found !== -1) this.text = held.toString("latin1", 0, found);
    return from + takenBytes;
  }

  #hold(chunk: Buffer, from: number): void {
    const needed = this.#heldBytes + chunk.length - from;
    if (needed > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(1_024, this.#held.length * 2, needed));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    chunk.copy(this.#held, this.#heldBytes, from);
    this.#heldBytes = needed;
  }

  #count(bytes: number): void {
    this.#takenBytes += bytes;
    if (this.#takenBytes > this.#maxBytes) throw badAnswer("a head that is too large");
  }
}

/** Every CR is followed by an LF, every LF comes behind a CR; one at the very end may still be completed. */
function expectLines(bytes: Buffer, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    const byte = bytes[at];
    if (byte === cr && at + 1 < to && bytes[at + 1] !== lf) throw badAnswer("a CR without an LF");
    if (byte === lf && (at === 0 || bytes[at - 1] !== cr)) throw badAnswer("an LF without a CR");
  }
}
