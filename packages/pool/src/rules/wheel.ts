import { BitSet } from "./bit-set.ts";

/** The wheel's place: whose turn it is and how many of its turns that key has had in this round. */
export interface WheelPlace {
  readonly position: number;
  readonly used: number;
}

/**
 * Weighted round-robin over keys in their order: weights 3, 2, 1 serve A A A B B C A A A B …
 *
 * The place is a pair (key, turns used), not a number modulo a list of slots. So a key that leaves for a while gives its
 * share to all others in proportion to their weights (B B C B B C while A rests), not to its neighbour, and the change of
 * one key moves nobody's place.
 *
 * Members are positions 0 … n-1; what a position stands for is the caller's business. Usability is told to the wheel
 * (`setUsable`); it knows neither clocks nor reasons.
 *
 * @see spec "Weighted Round-Robin", contract §4 rule 1
 */
export class Wheel {
  readonly #weights: Uint8Array;
  readonly #usable: BitSet;
  #position = 0;
  #used = 0;
  /** A second place, used only to serve requests that may not have the key whose turn it is. */
  #detour: { position: number; used: number } | undefined;

  /** @param weights by position; each an integer from 0 to 100, where 0 is never served */
  constructor(weights: ArrayLike<number>, place?: WheelPlace) {
    this.#weights = Uint8Array.from(weights);
    this.#usable = new BitSet(Math.max(1, weights.length));
    if (place && place.position < weights.length) {
      this.#position = place.position;
      this.#used = place.used;
    }
  }

  get place(): WheelPlace {
    return { position: this.#position, used: this.#used };
  }

  get size(): number {
    return this.#weights.length;
  }

  setUsable(position: number, usable: boolean): void {
    this.#usable.set(position, usable && (this.#weights[position] ?? 0) > 0);
  }

  isUsable(position: number): boolean {
    return this.#usable.has(position);
  }

  /** How many usable positions there are, counted up to `limit`. */
  countUsable(limit: number): number {
    let count = 0;
    let at = this.#usable.nextFrom(0);
    while (at !== -1 && count < limit) {
      count++;
      at = this.#usable.nextFrom(at + 1);
    }
    return count;
  }

  /**
   * Takes the next turn.
   *
   * @param excluded positions that this one request may not have (it has tried them). If it is the turn of such a key, the
   *   request is served from a second place that turns for these cases alone: the key keeps its turn for the next
   *   request, and many requests turned away by the same key spread over the others by weight.
   * @returns the position, or -1 when no usable one is left
   */
  take(excluded?: ReadonlySet<number>): number {
    const position = this.#ripe(this.#position, this.#used);
    if (position === -1) return -1;
    if (excluded?.has(position)) return this.#takeDetour(excluded);
    const used = (position === this.#position ? this.#used : 0) + 1;
    if (used >= (this.#weights[position] ?? 0)) {
      this.#position = this.#after(position);
      this.#used = 0;
    } else {
      this.#position = position;
      this.#used = used;
    }
    return position;
  }

  /** The first usable position in order that is not excluded, or -1; it takes no turn. */
  first(excluded?: ReadonlySet<number>): number {
    let position = this.#usable.nextFrom(0);
    while (excluded?.has(position) === true) position = this.#usable.nextFrom(position + 1);
    return position;
  }

  /** The next `count` turns, taking none. */
  preview(count: number): number[] {
    const turns: number[] = [];
    let { position, used } = this.place;
    while (turns.length < count) {
      const next = this.#ripe(position, used);
      if (next === -1) break;
      turns.push(next);
      used = (next === position ? used : 0) + 1;
      position = next;
    }
    return turns;
  }

  /** Positions that the wheel would pass over before its next turn, in order, at most `limit`. */
  passedOver(limit: number): number[] {
    const next = this.#ripe(this.#position, this.#used);
    const passed: number[] = [];
    let at = this.#position;
    while (at !== next && passed.length < Math.min(limit, this.size)) {
      if (!this.#usable.has(at)) passed.push(at);
      at = this.#after(at);
      if (next === -1 && at === this.#position) break;
    }
    return passed;
  }

  /** The usable position whose turn it is from the given place; a key whose weight was lowered meanwhile is done. */
  #ripe(position: number, used: number): number {
    const next = this.#usable.nextFromCyclic(position);
    if (next !== position || used < (this.#weights[position] ?? 0)) return next;
    return this.#usable.nextFromCyclic(this.#after(position));
  }

  #takeDetour(excluded: ReadonlySet<number>): number {
    const start = this.#detour ?? { position: this.#after(this.#position), used: 0 };
    let next = this.#ripe(start.position, start.used);
    for (let step = 0; step <= excluded.size && excluded.has(next); step++) {
      next = this.#usable.nextFromCyclic(this.#after(next));
    }
    if (next === -1 || excluded.has(next)) return -1;
    this.#detour = { position: next, used: (next === start.position ? start.used : 0) + 1 };
    return next;
  }

  #after(position: number): number {
    return position + 1 >= this.size ? 0 : position + 1;
  }
}
