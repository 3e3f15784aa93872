import type { Clock } from "@keywheel/pool";

interface Window {
  readonly endsAt: number;
  failures: number;
}

export interface ThrottleLimits {
  readonly windowMs: number;
  readonly perPeer: number;
  readonly overall: number;
}

const defaultLimits: ThrottleLimits = { windowMs: 60_000, perPeer: 10, overall: 100 };
const mostPeers = 10_000;

/**
 * Counts wrong tokens, by peer and overall.
 *
 * A right token is never kept waiting: it is compared first, and only a wrong one comes here. Tokens are long enough that
 * guessing is hopeless; what this prevents is that somebody tries for years unnoticed.
 */
export class Throttle {
  readonly #clock: Clock;
  readonly #limits: ThrottleLimits;
  readonly #peers = new Map<string, Window>();
  #overall: Window = { endsAt: 0, failures: 0 };

  constructor(clock: Clock, limits: ThrottleLimits = defaultLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Notes a wrong token. @returns how long the peer should wait, ms; undefined while it is below the limits */
  failed(peer: string): number | undefined {
    const now = this.#clock.monotonic();
    const name = networkOf(peer);
    const own = this.#count(this.#peers.get(name), now);
    this.#peers.delete(name);
    this.#peers.set(name, own);
    if (this.#peers.size > mostPeers) this.#forgetOldest();
    this.#overall = this.#count(this.#overall, now);
    const ends = [
      ...(own.failures > this.#limits.perPeer ? [own.endsAt] : []),
      ...(this.#overall.failures > this.#limits.overall ? [this.#overall.endsAt] : []),
    ];
    return ends.length === 0 ? undefined : Math.max(...ends) - now;
  }

  #count(window: Window | undefined, now: number): Window {
    if (window === undefined || window.endsAt <= now) return { endsAt: now + this.#limits.windowMs, failures: 1 };
    return { endsAt: window.endsAt, failures: window.failures + 1 };
  }

  #forgetOldest(): void {
    for (const name of this.#peers.keys()) {
      this.#peers.delete(name);
      return;
    }
  }
}

/** One subscriber has a whole /64 of IPv6 addresses. */
function networkOf(peer: string): string {
  const address = peer.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "");
  return address.includes(":") ? address.split(":").slice(0, 4).join(":") : address;
}
