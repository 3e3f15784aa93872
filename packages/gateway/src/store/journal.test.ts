import { KeywheelError } from "@keywheel/pool";
import { describe, expect, it } from "vitest";
import { aDisabledRecord, aHealthRecord } from "../../../testkit/src/store-suite.ts";
import { StoreJournal } from "./journal.ts";
import type { KeyOutcome } from "./store.ts";

describe("the journal", () => {
  it("settles a call when its record is durable", async () => {
    const { journal, store } = aJournal();
    let isDurable = false;

    const saving = journal.saveHealth(aHealthRecord()).then(() => (isDurable = true));
    await turns();
    expect(isDurable).toBe(false);
    store.finish();
    await saving;

    expect(store.written).toEqual([["health key_1 "]]);
    expect(journal.pending).toBe(0);
  });

  it("puts the calls of one turn, and those made during a write, into one transaction each", async () => {
    const { journal, store } = aJournal();

    const saving = [
      journal.saveHealth(aHealthRecord()),
      journal.disableKey(aDisabledRecord()),
      journal.saveHealth(aHealthRecord({ keyId: "key_2" })),
    ];
    await turns();
    saving.push(journal.saveHealth(aHealthRecord({ keyId: "key_3" })));
    await turns();
    saving.push(journal.saveHealth(aHealthRecord({ keyId: "key_4" })));
    store.finish();
    await turns();
    store.finish();
    await Promise.all(saving);

    expect(store.written).toEqual([
      ["health key_1 ", "disable key_1", "health key_2 "],
      ["health key_3 ", "health key_4 "],
    ]);
  });

  it("writes the newest record of each key and model, in the order of the calls", async () => {
    const { journal, store } = aJournal();

    const saving = [
      journal.saveHealth(aHealthRecord({ secretVersion: 1 })),
      journal.disableKey(aDisabledRecord()),
      journal.saveHealth(aHealthRecord({ model: "gpt-5" })),
      journal.saveHealth(aHealthRecord({ secretVersion: 2 })),
    ];
    await turns();
    store.finish();
    await Promise.all(saving);

    expect(store.written).toEqual([["disable key_1", "health key_1 gpt-5", "health key_1 "]]);
    expect(store.outcomes[0]?.at(-1)?.record.secretVersion).toBe(2);
  });

  it("gives up waiting after two seconds, and goes on writing", async () => {
    const { journal, store, timers } = aJournal();

    const saving = journal.disableKey(aDisabledRecord());
    await turns();
    timers.pass(2000);
    await saving;
    expect(journal.pending).toBe(1);
    store.finish();
    await turns();

    expect(journal.pending).toBe(0);
  });

  it("tries again with growing rests for as long as it takes, and says why", async () => {
    const { journal, store, timers, troubles } = aJournal();
    store.isLocked = true;

    const saving = journal.disableKey(aDisabledRecord());
    await turns();
    for (let tries = 0; tries < 9; tries++) {
      timers.passNext();
      await turns();
    }
    await saving;
    expect(journal.trouble).toBe("locked");
    store.isLocked = false;
    timers.passNext();
    await turns();
    store.finish();
    await turns();

    expect(timers.delays.filter((delayMs) => delayMs !== 2000)).toEqual([
      100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000,
    ]);
    expect(store.written).toEqual([["disable key_1"]]);
    expect(journal.trouble).toBeUndefined();
    expect(troubles).toEqual(["locked", undefined]);
  });

  it("holds no more than one record of each key and model while the database is away", async () => {
    const { journal, store, timers } = aJournal();
    store.isLocked = true;

    for (let round = 0; round < 50; round++) {
      for (const keyId of ["key_1", "key_2"]) void journal.saveHealth(aHealthRecord({ keyId, secretVersion: round }));
      await turns();
    }
    expect(journal.pending).toBe(2);
    store.isLocked = false;
    timers.passNext();
    await turns();

    expect(store.outcomes.at(-1)?.map(({ record }) => record.secretVersion)).toEqual([49, 49]);
  });

  it("does not write an old record over a newer one when a write failed", async () => {
    const { journal, store, timers } = aJournal();

    void journal.saveHealth(aHealthRecord({ secretVersion: 1 }));
    void journal.saveHealth(aHealthRecord({ keyId: "key_2" }));
    await turns();
    void journal.saveHealth(aHealthRecord({ secretVersion: 2 }));
    store.fail(new KeywheelError("store_unavailable"));
    await turns();
    timers.passNext();
    await turns();
    store.finish();
    await turns();

    expect(store.written).toEqual([["health key_2 ", "health key_1 "]]);
    expect(store.outcomes.at(-1)?.at(-1)?.record.secretVersion).toBe(2);
  });

  it("drops one record that the database will never take, and says so, rather than hold up the others", async () => {
    const { journal, store, troubles } = aJournal();
    store.refuses = "health key_1 ";

    const saving = [journal.saveHealth(aHealthRecord()), journal.saveHealth(aHealthRecord({ keyId: "key_2" }))];
    await turns();
    store.finish();
    await Promise.all(saving);

    expect(store.written).toEqual([["health key_2 "]]);
    expect(troubles).toEqual(["The state of key key_1 was refused: TypeError: no"]);
  });

  it("forgets what a person has overruled, also when it is being written and fails", async () => {
    const { journal, store, timers } = aJournal();

    void journal.disableKey(aDisabledRecord());
    void journal.disableKey(aDisabledRecord({ keyId: "key_2" }));
    await turns();
    journal.forget(["key_1"]);
    store.fail(new KeywheelError("store_unavailable"));
    await turns();
    timers.passNext();
    await turns();
    store.finish();
    await turns();

    expect(store.written).toEqual([["disable key_2"]]);
  });

  it("writes at once what is left when the process ends", async () => {
    const { journal, store } = aJournal();
    store.isLocked = true;
    void journal.disableKey(aDisabledRecord());
    await turns();
    store.isLocked = false;

    const flushing = journal.flush();
    await turns();
    store.finish();

    expect(await flushing).toBe(true);
    expect(await journal.flush()).toBe(true);
  });

  it("does not keep a process from ending whose database is away", async () => {
    const { journal, store, timers } = aJournal();
    store.isLocked = true;
    void journal.disableKey(aDisabledRecord());
    await turns();

    const flushing = journal.flush(500);
    timers.pass(500);

    expect(await flushing).toBe(false);
  });
});

function aJournal() {
  const store = new ScriptedStore();
  const timers = new ManualTimers();
  const troubles: (string | undefined)[] = [];
  const schedule = timers.schedule.bind(timers);
  const journal = new StoreJournal({ store, schedule, onTrouble: (trouble) => troubles.push(trouble) });
  return { journal, store, timers, troubles };
}

/** A store whose transactions end when the test says so. */
class ScriptedStore {
  readonly outcomes: (readonly KeyOutcome[])[] = [];
  /** What was made durable, a list for each transaction. */
  readonly written: string[][] = [];
  isLocked = false;
  refuses: string | undefined;
  #open: PromiseWithResolvers<void> | undefined;

  async saveOutcomes(outcomes: readonly KeyOutcome[]): Promise<readonly boolean[]> {
    const names = outcomes.map(nameOf);
    if (this.isLocked) throw new KeywheelError("store_unavailable", "locked");
    if (this.refuses !== undefined && names.includes(this.refuses)) throw new TypeError("no");
    this.outcomes.push(outcomes);
    this.#open = Promise.withResolvers();
    await this.#open.promise;
    this.written.push(names);
    return outcomes.map(() => true);
  }

  finish(): void {
    this.#open?.resolve();
  }

  fail(error: Error): void {
    this.#open?.reject(error);
  }
}

function nameOf(outcome: KeyOutcome): string {
  const { kind, record } = outcome;
  return kind === "health" ? `health ${record.keyId} ${record.model}` : `disable ${record.keyId}`;
}

/** Timers that run when the test lets time pass. */
class ManualTimers {
  readonly delays: number[] = [];
  #timers: { at: number; run: () => void }[] = [];
  #now = 0;

  schedule(delayMs: number, run: () => void): () => void {
    const timer = { at: this.#now + delayMs, run };
    this.delays.push(delayMs);
    this.#timers.push(timer);
    return () => (this.#timers = this.#timers.filter((other) => other !== timer));
  }

  pass(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { run } of due) run();
  }

  passNext(): void {
    this.pass(Math.min(...this.#timers.map(({ at }) => at)) - this.#now);
  }
}

/** Lets everything run that needs no time to pass. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => void setImmediate(resolve));
}
