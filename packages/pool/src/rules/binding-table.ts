import type { Fingerprint } from "./fingerprint.ts";
import type { DurationMs, EpochMs } from "./time.ts";

const ways = 8;
const firstBuckets = 128;
/** A bucket of eight that is this full on average still has room for nearly every newcomer. */
const fullestLoad = 0.6;

/**
 * Which key a session is bound to, for very many sessions in little memory.
 *
 * A hash table of buckets of eight in typed arrays: 20 bytes a place and nothing for the garbage collector to walk, so a
 * million bindings take about 40 MB and no pause. It grows by doubling up to `maxEntries`; after that a newcomer takes the
 * place of the least recently used of its eight, which costs that session one cold prompt cache and nothing else.
 *
 * A `slot` is the number under which the owner of the table knows a key; it must not be given to another key later.
 *
 * @see contract §2 "Sessions": bindings end after `affinity.idle_ttl_ms` without use
 */
export class BindingTable {
  readonly #maxBuckets: number;
  #buckets = firstBuckets;
  #high = new Uint32Array(firstBuckets * ways);
  #low = new Uint32Array(firstBuckets * ways);
  /** 0 is an empty place; otherwise slot + 1. */
  #slots = new Uint32Array(firstBuckets * ways);
  #usedAt = new Float64Array(firstBuckets * ways);
  /** Bindings by slot. */
  #counts = new Uint32Array(64);
  #size = 0;

  /** @param maxEntries how many bindings may be held; the memory for them is taken as they come */
  constructor(maxEntries: number) {
    const wanted = Math.max(1, maxEntries) / (ways * fullestLoad);
    this.#maxBuckets = Math.max(firstBuckets, 2 ** Math.ceil(Math.log2(wanted)));
  }

  /** Bindings held, those that idled out but were not met since included. */
  get size(): number {
    return this.#size;
  }

  /** Bytes of the arrays. */
  get bytes(): number {
    return this.#buckets * ways * (4 + 4 + 4 + 8) + this.#counts.byteLength;
  }

  /** How many bindings there are to a slot, those that idled out but were not met since included. */
  countOf(slot: number): number {
    return this.#counts[slot] ?? 0;
  }

  /**
   * The slot that this fingerprint is bound to, or -1. Being asked for counts as use.
   *
   * @param idleTtlMs a binding unused for longer than this has ended
   */
  use(key: Fingerprint, now: EpochMs, idleTtlMs: DurationMs): number {
    const at = this.#find(key);
    if (at === -1) return -1;
    const idleMs = now - (this.#usedAt[at] ?? 0);
    if (idleMs > idleTtlMs) {
      this.#clear(at);
      return -1;
    }
    this.#usedAt[at] = now;
    return (this.#slots[at] ?? 0) - 1;
  }

  /** The slot without counting as use, or -1; it does not ask whether the binding idled out. */
  peek(key: Fingerprint): number {
    const at = this.#find(key);
    return at === -1 ? -1 : (this.#slots[at] ?? 0) - 1;
  }

  /** Binds, or binds anew; `now` counts as its last use. */
  bind(key: Fingerprint, slot: number, now: EpochMs): void {
    const found = this.#find(key);
    if (found === -1 && this.#size >= this.#buckets * ways * fullestLoad) this.#grow();
    const at = found === -1 ? this.#placeFor(key) : found;
    if (this.#slots[at] !== 0) this.#clear(at);
    this.#write(at, key.high, key.low, slot + 1, now);
    this.#size++;
    this.#count(slot, 1);
  }

  /** @returns whether there was such a binding */
  end(key: Fingerprint): boolean {
    const at = this.#find(key);
    if (at === -1) return false;
    this.#clear(at);
    return true;
  }

  /** All bindings, those that idled out but were not met since included; in no order. */
  *entries(): Iterable<{ readonly key: Fingerprint; readonly slot: number; readonly usedAt: EpochMs }> {
    for (let at = 0; at < this.#slots.length; at++) {
      const stored = this.#slots[at] ?? 0;
      if (stored === 0) continue;
      const key = { high: this.#high[at] ?? 0, low: this.#low[at] ?? 0 };
      yield { key, slot: stored - 1, usedAt: this.#usedAt[at] ?? 0 };
    }
  }

  /** Ends every binding for which `gone` holds. Walks the whole table: some 10 ms for a million. @returns how many */
  endWhere(gone: (slot: number, usedAt: EpochMs) => boolean): number {
    let ended = 0;
    for (let at = 0; at < this.#slots.length; at++) {
      const stored = this.#slots[at] ?? 0;
      if (stored !== 0 && gone(stored - 1, this.#usedAt[at] ?? 0)) {
        this.#clear(at);
        ended++;
      }
    }
    return ended;
  }

  #find(key: Fingerprint): number {
    const first = this.#bucketOf(key) * ways;
    for (let at = first; at < first + ways; at++) {
      if (this.#low[at] === key.low && this.#high[at] === key.high && this.#slots[at] !== 0) return at;
    }
    return -1;
  }

  #bucketOf(key: Fingerprint): number {
    return (key.low & (this.#buckets - 1)) >>> 0;
  }

  /** An empty place of the bucket, else that of its least recently used binding. */
  #placeFor(key: Fingerprint): number {
    const first = this.#bucketOf(key) * ways;
    let oldest = first;
    for (let at = first; at < first + ways; at++) {
      if (this.#slots[at] === 0) return at;
      if ((this.#usedAt[at] ?? 0) < (this.#usedAt[oldest] ?? 0)) oldest = at;
    }
    return oldest;
  }

  #write(at: number, high: number, low: number, stored: number, usedAt: EpochMs): void {
    this.#high[at] = high;
    this.#low[at] = low;
    this.#slots[at] = stored;
    this.#usedAt[at] = usedAt;
  }

  #clear(at: number): void {
    this.#count((this.#slots[at] ?? 0) - 1, -1);
    this.#slots[at] = 0;
    this.#size--;
  }

  #count(slot: number, change: 1 | -1): void {
    if (slot >= this.#counts.length) {
      const larger = new Uint32Array(2 ** Math.ceil(Math.log2(slot + 1)));
      larger.set(this.#counts);
      this.#counts = larger;
    }
    this.#counts[slot] = (this.#counts[slot] ?? 0) + change;
  }

  #grow(): void {
    if (this.#buckets >= this.#maxBuckets) return;
    const [high, low, slots, usedAt] = [this.#high, this.#low, this.#slots, this.#usedAt];
    this.#buckets *= 2;
    const places = this.#buckets * ways;
    this.#high = new Uint32Array(places);
    this.#low = new Uint32Array(places);
    this.#slots = new Uint32Array(places);
    this.#usedAt = new Float64Array(places);
    for (let at = 0; at < slots.length; at++) {
      const stored = slots[at] ?? 0;
      if (stored === 0) continue;
      const moved = { high: high[at] ?? 0, low: low[at] ?? 0 };
      // Doubling splits a bucket in two: there is always room.
      this.#write(this.#placeFor(moved), moved.high, moved.low, stored, usedAt[at] ?? 0);
    }
  }
}
