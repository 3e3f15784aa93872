/** Smaller pieces than this, on average, are joined: each takes some hundred bytes beside its own. */
const leastPieceBytes = 4_096;

/**
 * Bytes in the pieces in which they came. A large body is not joined for its own sake: that is a copy of it, and memory that
 * only the collector gives back.
 */
export class Pieces {
  readonly list: readonly Buffer[];
  readonly length: number;

  constructor(list: readonly Buffer[]) {
    const length = list.reduce((sum, { length: bytes }) => sum + bytes, 0);
    this.list = list.length > 1 && length < list.length * leastPieceBytes ? [Buffer.concat(list, length)] : list;
    this.length = length;
  }

  /** All of them as one; a copy where there are several. */
  joined(): Buffer {
    const [only] = this.list;
    return only !== undefined && this.list.length === 1 ? only : Buffer.concat(this.list, this.length);
  }

  /**
   * Calls `read` with all of them as one, to be looked at while it runs and not kept: what is looked at next may be written over
   * it.
   */
  lookThrough<Found>(read: (bytes: Buffer) => Found): Found {
    if (this.list.length === 1 || this.length > desk.length) return read(this.joined());
    let at = 0;
    for (const piece of this.list) at += piece.copy(desk, at);
    return read(desk.subarray(0, at));
  }
}

/** Where pieces are laid beside each other; larger ones are rare. */
const desk = Buffer.allocUnsafeSlow(1_048_576);
