import type { Transaction } from "kysely";
import type { Database } from "./schema.ts";

const flagName = "scrub_due";

type Work<T> = (trx: Transaction<Database>) => Promise<T>;

export interface ScrubberOptions {
  /** Takes out what was left behind. @returns false if it has to be tried again */
  readonly scrub: () => Promise<boolean>;
  /** Outside of what the store tells of failed writes. */
  readonly write: (work: Work<void>) => Promise<void>;
  /** Between a deletion and the work that it makes, so that many deletions make it once, ms. */
  readonly delayMs: number;
  readonly retryMs: number;
}

/**
 * Sees to it that a deleted or replaced value leaves the files of the database, soon after and once for many.
 *
 * That it has to be done is written down with the deletion itself: a process that is killed in between leaves the work to
 * the next one.
 */
export class Scrubber {
  readonly #options: ScrubberOptions;
  /** What was written down last; undefined if there is nothing to do. */
  #due: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #last: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ScrubberOptions) {
    this.#options = options;
  }

  /** Takes up what an earlier process has left. */
  async restore(trx: Transaction<Database>): Promise<void> {
    const row = await trx.selectFrom("meta").select("value").where("name", "=", flagName).executeTakeFirst();
    this.#due = row?.value;
    if (this.#due !== undefined) this.#schedule(this.#options.delayMs);
  }

  /** Runs a deletion with `write`, in one transaction with the note that it leaves something behind. */
  async writeThenScrub<T>(work: Work<T>, write: (work: Work<T>) => Promise<T>): Promise<T> {
    // Another value each time: a deletion that comes while the work is done is not taken for done with it.
    const mark = crypto.randomUUID();
    const result = await write(async (trx) => {
      const done = await work(trx);
      await trx
        .insertInto("meta")
        .values({ name: flagName, value: mark })
        .onConflict((conflict) => conflict.column("name").doUpdateSet({ value: mark }))
        .execute();
      return done;
    });
    this.#due = mark;
    this.#schedule(this.#options.delayMs);
    return result;
  }

  /** Does what is due now. What cannot be done is left to the next process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#last;
    await this.#work();
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#last = this.#work();
    }, delayMs).unref();
  }

  async #work(): Promise<void> {
    const due = this.#due;
    if (due === undefined) return;
    if (await this.#isDone(due)) {
      if (this.#due === due) this.#due = undefined;
      return;
    }
    this.#schedule(this.#options.retryMs);
  }

  async #isDone(due: string): Promise<boolean> {
    try {
      if (!(await this.#options.scrub())) return false;
      await this.#options.write(async (trx) => {
        await trx.deleteFrom("meta").where("name", "=", flagName).where("value", "=", due).execute();
      });
      return true;
    } catch {
      // A database that cannot be written is told by whatever writes next; the mark keeps the work from being forgotten.
      return false;
    }
  }
}
