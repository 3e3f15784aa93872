import type { Fingerprint } from "@keywheel/pool";
import { bindingName } from "./wire.ts";

/** A binding that others have to know of. */
export interface Touch {
  readonly poolId: string;
  /** @see bindingName */
  readonly name: string;
  readonly keyId: string;
  readonly at: number;
}

/** What waits while the server is away; beyond it the oldest are let go, and come again with their next use. */
const mostWaiting = 100_000;

/** Bindings that are to be told: each once, with its latest use. */
export class TouchQueue {
  readonly #waiting = new Map<string, Touch>();

  get size(): number {
    return this.#waiting.size;
  }

  add(poolId: string, kind: "s" | "c" | "o", use: { fingerprint: Fingerprint; keyId: string; at: number }): void {
    const name = bindingName(kind, use.fingerprint);
    const id = `${poolId} ${name}`;
    this.#waiting.delete(id);
    this.#waiting.set(id, { poolId, name, keyId: use.keyId, at: use.at });
    if (this.#waiting.size <= mostWaiting) return;
    for (const oldest of this.#waiting.keys()) {
      this.#waiting.delete(oldest);
      break;
    }
  }

  /** Takes out those of one pool, that of the oldest, at most `limit`. */
  take(limit: number): readonly Touch[] {
    const taken: Touch[] = [];
    for (const [id, touch] of this.#waiting) {
      if (taken.length >= limit) break;
      if (taken[0] !== undefined && taken[0].poolId !== touch.poolId) continue;
      this.#waiting.delete(id);
      taken.push(touch);
    }
    return taken;
  }

  /** Those that could not be told wait again, unless they were used since. */
  giveBack(touches: readonly Touch[]): void {
    for (const touch of touches) {
      const id = `${touch.poolId} ${touch.name}`;
      if (!this.#waiting.has(id) && this.#waiting.size < mostWaiting) this.#waiting.set(id, touch);
    }
  }
}
