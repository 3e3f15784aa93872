import { type DisabledRecord, type HealthRecord, isKeywheelError, type Journal } from "@keywheel/pool";
import type { KeyOutcome, Store } from "./store.ts";

/** Calls `run` after `delayMs`; the process may end before unless `keepsAlive`. @returns what calls it off */
export type Schedule = (delayMs: number, run: () => void, keepsAlive?: boolean) => () => void;

export interface JournalOptions {
  readonly store: Pick<Store, "saveOutcomes">;
  /** How long a call waits for its record to be durable, ms; default 2000. The record is written later all the same. */
  readonly waitMs?: number;
  /** Default: timers. */
  readonly schedule?: Schedule;
  /** Told when it begins, changes and ends (undefined) that records cannot be written. */
  readonly onTrouble?: (trouble: string | undefined) => void;
}

/** Those who wait for what was recorded in one turn of the event loop. */
interface Waiter {
  readonly promise: Promise<void>;
  /** Also true when the wait was given up. */
  isSettled: boolean;
  settle(): void;
}

const firstRestMs = 100;
const longestRestMs = 5000;

/**
 * Writes down what becomes of keys while they serve, for the pool.
 *
 * All that comes up while one transaction is under way goes into the next one. What cannot be written is kept, the
 * newest record of each key and model, and tried again for as long as it takes.
 */
export class StoreJournal implements Journal {
  readonly #store: Pick<Store, "saveOutcomes">;
  readonly #waitMs: number;
  readonly #schedule: Schedule;
  readonly #onTrouble: (trouble: string | undefined) => void;

  /** Not yet being written, by key and model, oldest first. */
  #queued = new Map<string, KeyOutcome>();
  #waiters: Waiter[] = [];
  /** The waiter of this very turn, shared by all its calls. */
  #thisTurn: Waiter | undefined;
  #inFlight: Map<string, KeyOutcome> = new Map();
  #isBusy = false;
  #failures = 0;
  #endRest: (() => void) | undefined;
  #trouble: string | undefined;
  #onceEmpty: (() => void)[] = [];

  constructor({ store, waitMs = 2000, schedule = scheduleTimer, onTrouble = () => {} }: JournalOptions) {
    this.#store = store;
    this.#waitMs = waitMs;
    this.#schedule = schedule;
    this.#onTrouble = onTrouble;
  }

  /** Why records cannot be written at the moment; undefined while all is well. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** How many records are not durable yet. */
  get pending(): number {
    return this.#inFlight.size + this.#queued.size;
  }

  saveHealth(record: HealthRecord): Promise<void> {
    return this.#record(`health ${record.keyId} ${record.model}`, { kind: "health", record });
  }

  disableKey(record: DisabledRecord): Promise<void> {
    return this.#record(`disable ${record.keyId}`, { kind: "disable", record });
  }

  /**
   * Drops what is still to be written about these keys. For whoever is about to write something newer about them (a
   * person enables or resets them): an old record must not undo that once the database is back.
   */
  forget(keyIds: readonly string[]): void {
    const forgotten = new Set(keyIds);
    for (const records of [this.#queued, this.#inFlight]) {
      for (const [name, { record }] of records) if (forgotten.has(record.keyId)) records.delete(name);
    }
  }

  /**
   * Writes what there is without waiting for the next try; for the end of the process.
   *
   * @returns whether all of it is durable; false after `waitMs`, or if the journal was left with something
   */
  flush(waitMs: number = this.#waitMs): Promise<boolean> {
    if (this.pending === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      // With nothing else to live for, the process would end here, in the middle of its stop.
      const callOff = this.#schedule(waitMs, () => resolve(false), true);
      this.#onceEmpty.push(() => {
        callOff();
        resolve(true);
      });
      this.#endRest?.();
    });
  }

  #record(name: string, outcome: KeyOutcome): Promise<void> {
    // Put last also when it replaces an older one: records of one key take effect in the order of the calls.
    this.#queued.delete(name);
    this.#queued.set(name, outcome);
    this.#start();
    return this.#waiterOfThisTurn().promise;
  }

  #waiterOfThisTurn(): Waiter {
    if (this.#thisTurn !== undefined) return this.#thisTurn;
    const { promise, resolve } = Promise.withResolvers<void>();
    const callOff = this.#schedule(this.#waitMs, () => waiter.settle());
    const waiter: Waiter = {
      promise,
      isSettled: false,
      settle: () => {
        waiter.isSettled = true;
        callOff();
        resolve();
      },
    };
    this.#thisTurn = waiter;
    this.#waiters.push(waiter);
    setImmediate(() => (this.#thisTurn = undefined));
    return waiter;
  }

  #start(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    // Not at once: what else this turn of the event loop brings belongs to the same transaction.
    setImmediate(() => void this.#work());
  }

  async #work(): Promise<void> {
    while (this.#queued.size > 0) {
      const waiters = this.#waiters;
      this.#waiters = [];
      this.#thisTurn = undefined;
      this.#inFlight = this.#queued;
      this.#queued = new Map();
      const trouble = await this.#write(this.#inFlight);
      this.#takeBackRest();
      if (trouble === undefined) {
        for (const waiter of waiters) waiter.settle();
      } else {
        // Those who gave up waiting are let go, or a long outage would pile them up.
        this.#waiters = [...waiters, ...this.#waiters].filter(({ isSettled }) => !isSettled);
      }
      this.#tell(trouble);
      if (trouble !== undefined) await this.#rest();
    }
    this.#isBusy = false;
    for (const waiter of this.#waiters.splice(0)) waiter.settle();
    for (const tell of this.#onceEmpty.splice(0)) tell();
  }

  /** Takes out of `records` what is settled. @returns why something is left */
  async #write(records: Map<string, KeyOutcome>): Promise<string | undefined> {
    try {
      await this.#store.saveOutcomes([...records.values()]);
      records.clear();
      return undefined;
    } catch (error) {
      if (isUnavailable(error)) return error.message;
      return await this.#writeOneByOne(records);
    }
  }

  /** One record that the database will never take must not hold up all others for ever. */
  async #writeOneByOne(records: Map<string, KeyOutcome>): Promise<string | undefined> {
    for (const [name, outcome] of records) {
      try {
        await this.#store.saveOutcomes([outcome]);
      } catch (error) {
        if (isUnavailable(error)) return error.message;
        this.#onTrouble(`The state of key ${outcome.record.keyId} was refused: ${String(error)}`);
      }
      records.delete(name);
    }
    return undefined;
  }

  /** What was not written goes back in front, unless something newer came. */
  #takeBackRest(): void {
    const left = [...this.#inFlight].filter(([name]) => !this.#queued.has(name));
    if (left.length > 0) this.#queued = new Map([...left, ...this.#queued]);
    this.#inFlight = new Map();
  }

  #tell(trouble: string | undefined): void {
    this.#failures = trouble === undefined ? 0 : this.#failures + 1;
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    this.#onTrouble(trouble);
  }

  #rest(): Promise<void> {
    const restMs = Math.min(firstRestMs * 2 ** (this.#failures - 1), longestRestMs);
    return new Promise((resolve) => {
      const callOff = this.#schedule(restMs, () => this.#endRest?.());
      this.#endRest = () => {
        this.#endRest = undefined;
        callOff();
        resolve();
      };
    });
  }
}

function isUnavailable(error: unknown): error is Error {
  return isKeywheelError(error) && error.code === "store_unavailable";
}

function scheduleTimer(delayMs: number, run: () => void, keepsAlive = false): () => void {
  const timer = setTimeout(run, delayMs);
  if (!keepsAlive) timer.unref();
  return () => clearTimeout(timer);
}
