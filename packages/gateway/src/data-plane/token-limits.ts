import type { OwnError } from "@keywheel/pool";
import type { TokenRecord } from "../catalog/catalog.ts";

const windowMs = 60_000;
/** A stream may last for long or end at once: nobody knows when a place is free. */
const busyRetryMs = 1_000;

/** A request that was let in. */
export interface Entry {
  /** Gives its place back. May be called twice. */
  readonly leave: () => void;
}

/** Who lets requests in. */
export interface Limits {
  /** Lets a request of a token in, or says why not and how long to wait. */
  enter(token: TokenRecord | undefined): Entry | OwnError | Promise<Entry | OwnError>;
}

/** The place of a request that nobody counts. */
export const free: Entry = { leave: () => {} };

/** Whether anything about the token's requests is to be counted. */
export function isLimited(token: TokenRecord | undefined): token is TokenRecord {
  return token !== undefined && (token.maxRequestsPerMinute !== null || token.maxConcurrent !== null);
}

/**
 * Holds clients to the limits of their tokens: requests in any 60 seconds, and requests at a time.
 *
 * It counts what it lets in, in one synchronous step, so that any number of requests at once get in exactly as many as the
 * limit says. What is refused does not count: a client that asks too often is not kept out for asking. Nothing is kept over
 * a restart.
 */
export class TokenLimits implements Limits {
  readonly #monotonic: () => number;
  readonly #uses = new Map<string, Use>();

  constructor(clock: { readonly monotonic: () => number }) {
    this.#monotonic = clock.monotonic;
  }

  /** Tokens that are being counted. */
  get size(): number {
    return this.#uses.size;
  }

  /** Lets a request of a token in, or says why not and how long to wait. */
  enter(token: TokenRecord | undefined): Entry | OwnError {
    if (!isLimited(token)) return free;
    const now = this.#monotonic();
    const use = this.#useOf(token.id, now);
    const { name, maxRequestsPerMinute: perMinute, maxConcurrent: atOnce } = token;
    if (atOnce !== null && use.running >= atOnce) {
      const requests = atOnce === 1 ? "1 request" : `${atOnce} requests`;
      const message = `The gateway token "${name}" allows ${requests} at a time, streams until their end.`;
      return { code: "token_limited", message, retryAfterMs: busyRetryMs };
    }
    if (perMinute !== null) {
      const waitMs = use.starts.waitFor(perMinute, now);
      if (waitMs > 0) {
        const requests = perMinute === 1 ? "1 request" : `${perMinute} requests`;
        const message = `The gateway token "${name}" allows ${requests} a minute.`;
        return { code: "token_limited", message, retryAfterMs: waitMs };
      }
      use.starts.add(now);
    }
    return take(use);
  }

  #useOf(tokenId: string, now: number): Use {
    const known = this.#uses.get(tokenId);
    if (known !== undefined) return known;
    // A token comes here for the first time: the moment to forget those that have gone quiet, or are no more.
    for (const [id, use] of this.#uses) if (use.running === 0 && use.starts.isEmptyAt(now)) this.#uses.delete(id);
    const use: Use = { running: 0, starts: new Starts() };
    this.#uses.set(tokenId, use);
    return use;
  }
}

interface Use {
  running: number;
  readonly starts: Starts;
}

function take(use: Use): Entry {
  use.running++;
  let isIn = true;
  return {
    leave: () => {
      if (isIn) use.running--;
      isIn = false;
    },
  };
}

/** When the requests of the last minute were let in: a window that slides, since one that is reset lets twice as many in. */
class Starts {
  #times: number[] = [];
  #head = 0;

  /** How long until one more fits under the limit; 0 for at once. */
  waitFor(limit: number, now: number): number {
    this.#forget(now);
    const surplus = this.#times.length - this.#head - limit;
    // With a limit that was lowered, more than one must have gone by.
    return surplus < 0 ? 0 : (this.#times[this.#head + surplus] ?? now) + windowMs - now;
  }

  add(now: number): void {
    this.#times.push(now);
  }

  isEmptyAt(now: number): boolean {
    this.#forget(now);
    return this.#head === this.#times.length;
  }

  #forget(now: number): void {
    while (this.#head < this.#times.length && (this.#times[this.#head] ?? 0) + windowMs <= now) this.#head++;
    if (this.#head * 2 <= this.#times.length) return;
    // Moving the rest down now and then keeps each step cheap.
    this.#times = this.#times.slice(this.#head);
    this.#head = 0;
  }
}
