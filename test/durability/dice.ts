/** Chance that falls the same way in every run with the same seed. */
export interface Dice {
  /** From 0 up to, and without, 1. */
  next(): number;
  /** An integer from `least` up to, and without, `limit`. */
  between(least: number, limit: number): number;
  pick<T>(from: readonly T[]): T;
  /** Dice of their own for somebody whose throws must not depend on when others throw. */
  fork(): Dice;
}

/** Mulberry32. */
export function diceOf(seed: number): Dice {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (least: number, limit: number): number => least + Math.floor(next() * (limit - least));
  return {
    next,
    between,
    pick: <T>(from: readonly T[]): T => {
      if (from.length === 0) throw new Error("there is nothing to pick from");
      return from[between(0, from.length)] as T;
    },
    fork: () => diceOf(between(0, 2 ** 31)),
  };
}
