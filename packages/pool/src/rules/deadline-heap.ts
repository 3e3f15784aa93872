import type { EpochMs } from "./time.ts";

/** Things to look at again at given instants, soonest first. A binary heap: adding and taking cost a few comparisons. */
export class DeadlineHeap<T> {
  readonly #entries: { readonly at: EpochMs; readonly item: T }[] = [];

  get size(): number {
    return this.#entries.length;
  }

  add(at: EpochMs, item: T): void {
    const entries = this.#entries;
    let index = entries.push({ at, item }) - 1;
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      if (this.#at(parent) <= at) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** Takes the soonest entry that is due at `now`; undefined when none is. */
  takeDue(now: EpochMs): T | undefined {
    const first = this.#entries[0];
    if (first === undefined || first.at > now) return undefined;
    const last = this.#entries.pop();
    if (last !== undefined && this.#entries.length > 0) {
      this.#entries[0] = last;
      this.#sink(0);
    }
    return first.item;
  }

  clear(): void {
    this.#entries.length = 0;
  }

  #sink(from: number): void {
    let index = from;
    for (;;) {
      const left = 2 * index + 1;
      const smaller = this.#at(left + 1) < this.#at(left) ? left + 1 : left;
      if (this.#at(index) <= this.#at(smaller)) return;
      this.#swap(index, smaller);
      index = smaller;
    }
  }

  #at(index: number): EpochMs {
    return this.#entries[index]?.at ?? Number.POSITIVE_INFINITY;
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#entries[a], this.#entries[b]];
    if (first === undefined || second === undefined) throw new Error(`heap has no entry ${a} or ${b}`);
    this.#entries[a] = second;
    this.#entries[b] = first;
  }
}
