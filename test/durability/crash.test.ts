import { describe, expect, it } from "vitest";
import { playRounds } from "./crash-rounds.ts";

/** About half a minute of them, unless told more: `npm run crash -- --rounds 100 --seed 1 [--folder /mnt/small]`. */
const rounds = Number(process.env["KEYWHEEL_CRASH_ROUNDS"] ?? 6);
/** Told in the title below, so that a run can be had again. */
const seed = Number(process.env["KEYWHEEL_CRASH_SEED"] ?? Date.now() % 2 ** 31);
const folder = process.env["KEYWHEEL_CRASH_FOLDER"];

describe(`killed at any moment, under load and with faults of disk and database, ${rounds} times over (seed ${seed})`, () => {
  it("the gateway loses nothing that it has told", { timeout: 60_000 + rounds * 60_000 }, async () => {
    const isByHand = process.env["KEYWHEEL_CRASH_ROUNDS"] !== undefined;
    const say = (line: string): boolean => isByHand && process.stdout.write(`${line}\n`);

    const { violations, counts } = await playRounds({
      rounds,
      seed,
      ...(folder === undefined ? {} : { folder }),
      say,
    });

    expect(violations).toEqual([]);
    expect(counts["rounds"]).toBe(rounds);
    const happened = ["served", "cut off", "writes done", "writes refused", "durable 401", "durable 429", "bindings"];
    expect(happened.filter((what) => (counts[what] ?? 0) === 0)).toEqual([]);
  });
});
