import type { Pin, SharedState, TouchedSession } from "@keywheel/pool";
import type { Store } from "../../store/store.ts";

export interface SessionWriterDeps {
  readonly state: Pick<SharedState, "drainTouchedSessions" | "drainPins">;
  readonly store: Pick<Store, "saveSessions" | "savePins">;
  /** Told when it begins (with the error) and ends (undefined) that sessions cannot be written. */
  readonly onTrouble: (error: unknown) => void;
  /** How many sessions may wait for a database that cannot be written; default 100,000 (some 30 MB). */
  readonly maxWaiting?: number;
}

/** Sessions of one transaction: others want to write meanwhile. */
const batchSize = 2000;

/**
 * Writes down which sessions were used, and what was pinned to keys, a little after it was.
 *
 * What cannot be written waits for the next time. If too much waits, the sessions that were used longest ago are let go:
 * they are bound all the same, and are only forgotten if the process ends before they are used again.
 */
export class SessionWriter {
  readonly #deps: SessionWriterDeps;
  /** By pool and fingerprint, oldest use first. */
  readonly #waiting = new Map<string, TouchedSession>();
  #waitingPins: readonly Pin[] = [];
  #running: Promise<boolean> | undefined;
  #isInTrouble = false;

  constructor(deps: SessionWriterDeps) {
    this.#deps = deps;
  }

  /** How many sessions wait to be written. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Writes everything there is. A second call while one is under way waits for that one and goes over what came since.
   *
   * @returns whether all of it is durable
   */
  async flush(): Promise<boolean> {
    while (this.#running !== undefined) await this.#running;
    this.#running = this.#writeAll();
    try {
      return await this.#running;
    } finally {
      this.#running = undefined;
    }
  }

  async #writeAll(): Promise<boolean> {
    try {
      await this.#writeSessions();
      await this.#writePins();
    } catch (error) {
      this.#tell(error);
      return false;
    }
    this.#tell(undefined);
    return true;
  }

  async #writeSessions(): Promise<void> {
    this.#takeUp();
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting.entries()].slice(0, batchSize);
      await this.#deps.store.saveSessions(batch.map(([, touched]) => touched));
      for (const [id] of batch) this.#waiting.delete(id);
    }
  }

  /** Pins that wait for the database wait in the state, which bounds them; only those under way are held here. */
  async #writePins(): Promise<void> {
    for (;;) {
      if (this.#waitingPins.length === 0) this.#waitingPins = this.#deps.state.drainPins(batchSize);
      const { length } = this.#waitingPins;
      if (length === 0) return;
      await this.#deps.store.savePins(this.#waitingPins);
      this.#waitingPins = [];
      // What came meanwhile is for the next time: under load this would never end.
      if (length < batchSize) return;
    }
  }

  #takeUp(): void {
    const { state, maxWaiting = 100_000 } = this.#deps;
    for (;;) {
      const drained = state.drainTouchedSessions(batchSize);
      for (const touched of drained) this.#add(touched);
      if (drained.length < batchSize) break;
    }
    for (const id of this.#waiting.keys()) {
      if (this.#waiting.size <= maxWaiting) break;
      this.#waiting.delete(id);
    }
  }

  #add(touched: TouchedSession): void {
    const { high, low } = touched.session.fingerprint;
    const id = `${touched.poolId} ${high} ${low}`;
    const before = this.#waiting.get(id);
    // Put last also when it waits already: the order is that of the last use.
    this.#waiting.delete(id);
    this.#waiting.set(
      id,
      before === undefined ? touched : { ...touched, requests: before.requests + touched.requests },
    );
  }

  #tell(error: unknown): void {
    if (this.#isInTrouble === (error !== undefined)) return;
    this.#isInTrouble = error !== undefined;
    this.#deps.onTrouble(error);
  }
}
