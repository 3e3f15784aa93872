import type { KeyOnTheWire } from "./wire.ts";

const windowMs = 60_000;

/** How many requests keys were asked with in the last minute, as far as they were looked at. */
export class Rates {
  readonly #seen = new Map<string, { readonly at: number; readonly requests: number }[]>();

  note({ at, keys }: { readonly at: number; readonly keys: ReadonlyMap<string, readonly KeyOnTheWire[]> }): void {
    for (const { id, stats } of [...keys.values()].flat()) {
      const seen = this.#seen.get(id) ?? [];
      if (seen.at(-1)?.at !== at) seen.push({ at, requests: stats.requests });
      while ((seen[1]?.at ?? at) <= at - windowMs) seen.shift();
      this.#seen.set(id, seen);
    }
  }

  of(id: string): number {
    const seen = this.#seen.get(id);
    return (seen?.at(-1)?.requests ?? 0) - (seen?.[0]?.requests ?? 0);
  }
}
