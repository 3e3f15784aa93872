import { startTimer } from "../transport/timer.ts";
import type { PoolSnapshot, PoolStore } from "./snapshot.ts";

/** How long a store is waited for. @see the port `Journal`: a bounded time */
const storeWaitMs = 2_000;

/** Saves snapshots, one at a time: what changes meanwhile is in the next. */
export class StoreKeeper {
  readonly #store: PoolStore;
  readonly #take: () => Promise<PoolSnapshot>;
  readonly #onFault: (error: unknown) => void;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(store: PoolStore, take: () => Promise<PoolSnapshot>, onFault: (error: unknown) => void) {
    this.#store = store;
    this.#take = take;
    this.#onFault = onFault;
  }

  async load(): Promise<unknown> {
    return this.#store.load();
  }

  /** Settles when all that holds now is saved, or has been waited for long enough; never rejects. */
  async save(): Promise<void> {
    this.#next ??= this.#after(this.#running);
    await soon(this.#next);
  }

  async #after(before: Promise<void> | undefined): Promise<void> {
    await before;
    this.#running = this.#next;
    this.#next = undefined;
    try {
      await this.#store.save(await this.#take());
    } catch (error) {
      this.#onFault(error);
    }
  }
}

async function soon(promise: Promise<void>): Promise<void> {
  let stop = (): void => {};
  const over = new Promise<void>((resolve) => {
    stop = startTimer(resolve, storeWaitMs, { holdsProcess: false });
  });
  await Promise.race([promise, over]);
  stop();
}
