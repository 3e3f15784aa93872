import type { Clock } from "@keywheel/pool";

/** In a second of each type, after a burst of twice as many: more than a person can follow, less than a page minds. */
const perSecond = 50;

interface Bucket {
  tokens: number;
  filledAt: number;
  skipped: number;
}

/**
 * Lets through so many events of a type in a second; those that come with every request would be nothing but work for pages
 * at high rates. The next one let through tells how many were skipped.
 */
export class EventGate {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** @returns how many of this type were skipped since the last one, or undefined to skip this one too */
  pass(type: string): number | undefined {
    const bucket = this.#bucketOf(type);
    const now = this.#clock.monotonic();
    bucket.tokens = Math.min(2 * perSecond, bucket.tokens + ((now - bucket.filledAt) * perSecond) / 1000);
    bucket.filledAt = now;
    if (bucket.tokens < 1) {
      bucket.skipped++;
      return undefined;
    }
    bucket.tokens--;
    const { skipped } = bucket;
    bucket.skipped = 0;
    return skipped;
  }

  #bucketOf(type: string): Bucket {
    const known = this.#buckets.get(type);
    if (known !== undefined) return known;
    const fresh = { tokens: 2 * perSecond, filledAt: this.#clock.monotonic(), skipped: 0 };
    this.#buckets.set(type, fresh);
    return fresh;
  }
}
