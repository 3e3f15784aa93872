/** Length of what is looked up in the table. */
const windowLength = 8;
/** Distance between the windows of a pattern that are in the table: any `shortest` characters contain one of them. */
const stride = 5;
/** The shortest piece of a pattern that is found. */
const shortest = windowLength + stride - 1;

const base = 0x01000193;
/** Takes the character that leaves the window out of the rolling hash. */
const leaving = power(base, windowLength);

/** A stretch of a text, from `start` up to but without `end`. */
export type Span = readonly [start: number, end: number];

/**
 * Finds pieces of many patterns in a text, in time that grows with the text and not with the number of patterns.
 *
 * Every fifth window of eight characters of each pattern is in one hash table. A text is read once with a rolling hash;
 * a window that is in the table is compared, then followed in both directions for as long as text and pattern agree.
 * What is 12 characters long or a whole pattern is a find, so a key that was cut off somewhere is found as well.
 *
 * A window that several patterns share (`sk-proj-`) is kept for the first of them only: what tells them apart is in their
 * other windows, and from there the common part is reached. That keeps a thousand keys with one head from being compared
 * a thousand times.
 */
export class SecretIndex {
  readonly #patterns: string[] = [];
  readonly #known = new Set<string>();
  /** Hash of the window, 0 for a free slot. Open addressing, at most half full. */
  #hashes = new Int32Array(256);
  /** Index of the pattern, and where in it the window is. */
  #owners = new Int32Array(256);
  #offsets = new Int32Array(256);
  /** Four bits a slot; a window whose bit is not set is in no slot. Small enough for the processor's cache. */
  #filter = new Int32Array(32);
  #used = 0;

  /** How many patterns are known. */
  get size(): number {
    return this.#patterns.length;
  }

  /** Takes up a pattern of eight characters or more; twice is once. @returns whether it is new */
  add(pattern: string): boolean {
    if (this.#known.has(pattern)) return false;
    if (pattern.length < windowLength) throw new RangeError(`Expected a pattern of ${windowLength} characters or more`);
    this.#known.add(pattern);
    const owner = this.#patterns.push(pattern) - 1;
    const last = pattern.length - windowLength;
    for (let offset = 0; offset < last; offset += stride) this.#insert(owner, pattern, offset);
    this.#insert(owner, pattern, last);
    return true;
  }

  /** Where the text holds pieces of patterns; in order, not overlapping. */
  find(text: string): Span[] {
    const spans: Span[] = [];
    if (this.#patterns.length === 0 || text.length < windowLength) return spans;

    const filter = this.#filter;
    const bits = filter.length * 32 - 1;
    let hash = hashAt(text, 0);
    /** Windows that lie within the last find are passed over, or each of them would be followed through all of it. */
    let covered = 0;
    for (let start = 0; ; start++) {
      const bit = mix(hash) & bits;
      if (((filter[bit >>> 5] ?? 0) >>> (bit & 31)) & 1 && start + windowLength > covered) {
        const found = this.#follow(text, start, hash);
        if (found !== undefined) covered = append(spans, found);
      }
      const next = start + windowLength;
      if (next >= text.length) return spans;
      hash = (Math.imul(hash, base) + text.charCodeAt(next) - Math.imul(text.charCodeAt(start), leaving)) | 0;
    }
  }

  /** The stretch around this window in which the text agrees with the pattern that has it. */
  #follow(text: string, start: number, hash: number): Span | undefined {
    const slot = this.#slotOf(text, start, hash || 1);
    if (this.#hashes[slot] === 0) return undefined;
    const pattern = this.#patternIn(slot);
    const offset = this.#offsets[slot] ?? 0;

    let before = 0;
    const mostBefore = Math.min(offset, start);
    while (before < mostBefore && agree(pattern, offset - before - 1, text, start - before - 1)) before++;
    let after = windowLength;
    const mostAfter = Math.min(pattern.length - offset, text.length - start);
    while (after < mostAfter && agree(pattern, offset + after, text, start + after)) after++;

    return before + after >= Math.min(shortest, pattern.length) ? [start - before, start + after] : undefined;
  }

  /** The slot that holds this window, or the free one where it would be. */
  #slotOf(text: string, at: number, hash: number): number {
    const mask = this.#hashes.length - 1;
    let slot = mix(hash) & mask;
    for (;;) {
      const there = this.#hashes[slot];
      if (there === 0) return slot;
      if (there === hash && isWindow(this.#patternIn(slot), this.#offsets[slot] ?? 0, text, at)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #insert(owner: number, pattern: string, offset: number): void {
    if (this.#used * 2 >= this.#hashes.length) this.#grow();
    const hash = hashAt(pattern, offset) || 1;
    const slot = this.#slotOf(pattern, offset, hash);
    if (this.#hashes[slot] !== 0) return;
    this.#put(slot, hash, owner, offset);
    this.#used++;
  }

  #put(slot: number, hash: number, owner: number, offset: number): void {
    this.#hashes[slot] = hash;
    this.#owners[slot] = owner;
    this.#offsets[slot] = offset;
    const bit = mix(hash) & (this.#filter.length * 32 - 1);
    this.#filter[bit >>> 5] = (this.#filter[bit >>> 5] ?? 0) | (1 << (bit & 31));
  }

  #grow(): void {
    const hashes = this.#hashes;
    const owners = this.#owners;
    const offsets = this.#offsets;
    this.#hashes = new Int32Array(hashes.length * 2);
    this.#owners = new Int32Array(hashes.length * 2);
    this.#offsets = new Int32Array(hashes.length * 2);
    this.#filter = new Int32Array((hashes.length * 2) / 8);
    const mask = this.#hashes.length - 1;
    for (let i = 0; i < hashes.length; i++) {
      const hash = hashes[i] ?? 0;
      if (hash === 0) continue;
      let slot = mix(hash) & mask;
      while (this.#hashes[slot] !== 0) slot = (slot + 1) & mask;
      this.#put(slot, hash, owners[i] ?? 0, offsets[i] ?? 0);
    }
  }

  #patternIn(slot: number): string {
    const pattern = this.#patterns[this.#owners[slot] ?? -1];
    if (pattern === undefined) throw new Error(`slot ${slot} of the index has no pattern`);
    return pattern;
  }
}

/** Spreads a hash over all its bits: the low ones of a rolling hash are poor. Zero and one are the same, see `#hashes`. */
function mix(hash: number): number {
  const product = Math.imul(hash || 1, 0x9e3779b1);
  return product ^ (product >>> 15);
}

function hashAt(text: string, start: number): number {
  let hash = 0;
  for (let i = start; i < start + windowLength; i++) hash = (Math.imul(hash, base) + text.charCodeAt(i)) | 0;
  return hash;
}

function isWindow(pattern: string, offset: number, text: string, start: number): boolean {
  for (let i = 0; i < windowLength; i++) if (!agree(pattern, offset + i, text, start + i)) return false;
  return true;
}

function agree(pattern: string, offset: number, text: string, at: number): boolean {
  return pattern.charCodeAt(offset) === text.charCodeAt(at);
}

/** Joins a find to those before it where they touch: it may begin before the last one does. @returns where it ends */
function append(spans: Span[], [start, end]: Span): number {
  let from = start;
  let to = end;
  for (let last = spans.at(-1); last !== undefined && last[1] >= from; last = spans.at(-1)) {
    spans.pop();
    from = Math.min(from, last[0]);
    to = Math.max(to, last[1]);
  }
  spans.push([from, to]);
  return to;
}

function power(factor: number, exponent: number): number {
  let result = 1;
  for (let i = 0; i < exponent; i++) result = Math.imul(result, factor);
  return result;
}
