import type { Clock } from "../ports/clock.ts";
import type { Pin, SharedState, TouchedSession } from "../ports/shared-state.ts";
import { Affinity } from "./affinity.ts";
import { StateInMemory } from "./memory-state.ts";
import { PoolCells } from "./pool-cells.ts";

export interface MemoryStateOptions {
  readonly clock: Clock;
  /**
   * Sessions bound at the most, over all pools, and as many beginnings of conversations; default 1,000,000 each (some
   * 40 MB once they are there).
   */
  readonly maxBindings?: number;
  /** Objects remembered at the most, over all pools; default 500,000. */
  readonly maxPins?: number;
}

/**
 * The shared state of one process, for thousands of keys and a million sessions: a choice costs the same whatever there is
 * of them, and bindings lie in packed tables.
 */
export class MemoryState extends StateInMemory<PoolCells, Affinity> implements SharedState {
  readonly #affinity: Affinity;

  constructor({ clock, maxBindings = 1_000_000, maxPins = 500_000 }: MemoryStateOptions) {
    const affinity = new Affinity({ maxBindings, maxPins });
    super(clock, affinity, (policy, admit) => new PoolCells(policy, admit));
    this.#affinity = affinity;
  }

  drainTouchedSessions(limit: number): readonly TouchedSession[] {
    return this.#affinity.drainTouched(limit);
  }

  drainPins(limit: number): readonly Pin[] {
    return this.#affinity.drainPins(limit);
  }
}
