/**
 * A set of small integers that answers "the next member from here" in a handful of steps at any size.
 *
 * Three levels of 32-bit words: a bit of a higher word tells whether the word below it has any bit set, so a run of
 * 10,000 absent members is passed over by looking at three words. The wheel needs that: a pool in which all keys but one
 * are cooling must not cost a walk over all of them for every request.
 */
export class BitSet {
  readonly size: number;
  readonly #levels: readonly Uint32Array[];

  /** @param size members are integers from 0 to `size - 1` */
  constructor(size: number) {
    this.size = size;
    const levels: Uint32Array[] = [];
    let bits = size;
    do {
      bits = Math.ceil(bits / 32);
      levels.push(new Uint32Array(bits));
    } while (bits > 1);
    this.#levels = levels;
  }

  has(member: number): boolean {
    return (((this.#levels[0]?.[member >>> 5] ?? 0) >>> (member & 31)) & 1) === 1;
  }

  add(member: number): void {
    let index = member;
    for (const words of this.#levels) {
      const at = index >>> 5;
      words[at] = ((words[at] ?? 0) | (1 << (index & 31))) >>> 0;
      index = at;
    }
  }

  delete(member: number): void {
    let index = member;
    for (const words of this.#levels) {
      const at = index >>> 5;
      const left = ((words[at] ?? 0) & ~(1 << (index & 31))) >>> 0;
      words[at] = left;
      if (left !== 0) return;
      index = at;
    }
  }

  set(member: number, present: boolean): void {
    if (present) this.add(member);
    else this.delete(member);
  }

  /** The smallest member that is `from` or more; -1 when there is none. */
  nextFrom(from: number): number {
    if (from >= this.size) return -1;
    let index = from;
    for (let level = 0; level < this.#levels.length; level++) {
      const word = this.#wordFrom(level, index);
      if (word !== 0) return this.#descend(level, (index & ~31) + lowestBit(word));
      // Nothing left in this word: go on behind it, one level up.
      index = (index >>> 5) + 1;
    }
    return -1;
  }

  /** As `nextFrom`, going round to the start; -1 only when the set is empty. */
  nextFromCyclic(from: number): number {
    const ahead = this.nextFrom(from);
    return ahead !== -1 || from === 0 ? ahead : this.nextFrom(0);
  }

  #wordFrom(level: number, index: number): number {
    const word = this.#levels[level]?.[index >>> 5] ?? 0;
    return (word & (0xffffffff << (index & 31))) >>> 0;
  }

  #descend(level: number, index: number): number {
    let found = index;
    for (let below = level - 1; below >= 0; below--) {
      found = found * 32 + lowestBit(this.#levels[below]?.[found] ?? 0);
    }
    return found;
  }
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}
