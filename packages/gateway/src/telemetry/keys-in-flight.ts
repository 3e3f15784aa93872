/** Which key each request under way is with. One entry a request: it counts for the key that it was sent with last. */
export class KeysInFlight {
  readonly #keyOf = new Map<string, string>();

  /** A request is sent with a key; it has left the one before. */
  asks(requestId: string, keyId: string): void {
    this.#keyOf.set(requestId, keyId);
  }

  /** A request has ended, its answer delivered or not. */
  ended(requestId: string): void {
    this.#keyOf.delete(requestId);
  }

  /** Requests by key; keys without any are not in it. */
  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const keyId of this.#keyOf.values()) counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
    return counts;
  }
}

/** The counts of several processes as one. */
export function sumCounts(all: Iterable<ReadonlyMap<string, number>>): Map<string, number> {
  const sums = new Map<string, number>();
  for (const counts of all) {
    for (const [keyId, count] of counts) sums.set(keyId, (sums.get(keyId) ?? 0) + count);
  }
  return sums;
}
