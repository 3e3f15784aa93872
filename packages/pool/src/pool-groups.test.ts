import { aPolicy, createFakeClock, keysOf } from "@keywheel/testkit";
import { expect, it } from "vitest";
import { MemoryState } from "./memory/packed-state.ts";
import { Pool } from "./pool.ts";
import type { PoolEvent } from "./ports/events.ts";
import type { HealthRecord } from "./ports/journal.ts";
import type { Verdict } from "./rules/verdict.ts";

function aLimit(reason: "rate_limited" | "overloaded"): Verdict {
  const key = { kind: "cool", reason, failure: { rest: "ladder" }, scope: "key" } as const;
  return { key, request: "next-key", code: reason, message: "slow down", httpStatus: 429 };
}

/** Keys A and B of one group, C by itself. */
async function aPool() {
  const clock = createFakeClock();
  const events: PoolEvent[] = [];
  const saved: HealthRecord[] = [];
  let isWritten = false;
  const pool = new Pool("p", {
    state: new MemoryState({ clock }),
    journal: {
      saveHealth: async (record) => {
        await Promise.resolve();
        saved.push(record);
        isWritten = saved.length > 1;
      },
      disableKey: async () => {},
    },
    clock,
    events: (event) => void events.push(event),
    redact: (text) => text,
  });
  const keys = keysOf(1, 1, 1).map((key) => (key.id === "C" ? key : { ...key, group: "one project" }));
  await pool.configure(keys, aPolicy());
  const limit = async (keyId: string, reason: "rate_limited" | "overloaded"): Promise<void> => {
    const choice = await pool.choose({ pinnedTo: keyId });
    if (choice.kind !== "key") throw new Error("no key");
    await pool.settle(choice.ticket, aLimit(reason));
  };
  return { clock, events, saved, pool, limit, isWritten: () => isWritten };
}

it("writes down all keys that rest with the limited one before the request goes on, and tells of each", async () => {
  const { clock, events, saved, limit, isWritten } = await aPool();

  await limit("A", "rate_limited");

  expect(isWritten()).toBe(true);
  const until = clock.now() + 60_000;
  expect(
    saved.map(({ keyId, health, reason }) => [keyId, health.failures, health.coolUntil, reason?.sharedFrom]),
  ).toEqual([
    ["A", 1, until, undefined],
    ["B", 0, until, "A"],
  ]);
  expect(events).toMatchObject([
    { type: "key-cooled", keyId: "A", failures: 1, until },
    { type: "key-cooled", keyId: "B", failures: 0, until, wait: "shared", sharedFrom: "A" },
  ]);
  expect(events[0]).not.toHaveProperty("sharedFrom");
});

it("leaves the group alone where the provider is overloaded", async () => {
  const { saved, limit } = await aPool();

  await limit("A", "overloaded");

  expect(saved.map(({ keyId }) => keyId)).toEqual(["A"]);
});
