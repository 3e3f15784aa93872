import type { Pin, TouchedSession } from "@keywheel/pool";
import { createFakeClock } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { SessionWriter } from "./session-writer.ts";
import { Upkeep } from "./upkeep.ts";

function aTouch(name: number, { requests = 1, keyId = "key_a" } = {}): TouchedSession {
  const session = { id: `s${name}`, valueHash: "", carrier: "x-keywheel-session", fingerprint: { high: 0, low: name } };
  return { poolId: "prv_a", session, keyId, boundAt: 0, lastUsedAt: name, requests };
}

/** A state that has these to be drained, and a store that can be broken. */
function aWriter(options: { maxWaiting?: number } = {}) {
  const touched: TouchedSession[] = [];
  const saved: TouchedSession[] = [];
  const pins: Pin[] = [];
  const savedPins: Pin[] = [];
  const troubles: unknown[] = [];
  const store = {
    isBroken: false,
    saveSessions: async (batch: readonly TouchedSession[]) => {
      if (store.isBroken) throw new Error("disk full");
      saved.push(...batch);
    },
    savePins: async (batch: readonly Pin[]) => {
      if (store.isBroken) throw new Error("disk full");
      savedPins.push(...batch);
    },
  };
  const writer = new SessionWriter({
    state: { drainTouchedSessions: (limit) => touched.splice(0, limit), drainPins: (limit) => pins.splice(0, limit) },
    store,
    onTrouble: (error) => troubles.push(error),
    ...options,
  });
  return { writer, touched, saved, pins, savedPins, store, troubles };
}

describe("used sessions", () => {
  it("are written, all of them, in more than one transaction if need be", async () => {
    const { writer, touched, saved } = aWriter();
    touched.push(...Array.from({ length: 4500 }, (_, i) => aTouch(i)));

    expect(await writer.flush()).toBe(true);

    expect(saved).toHaveLength(4500);
    expect(writer.waiting).toBe(0);
  });

  it("wait while the database cannot be written, and add up", async () => {
    const { writer, touched, saved, store } = aWriter();
    store.isBroken = true;
    touched.push(aTouch(1, { requests: 2 }), aTouch(2));
    expect(await writer.flush()).toBe(false);

    store.isBroken = false;
    touched.push(aTouch(1, { requests: 3, keyId: "key_b" }));
    expect(await writer.flush()).toBe(true);

    expect(saved.map(({ session, requests, keyId }) => [session.id, requests, keyId])).toEqual([
      ["s2", 1, "key_a"],
      ["s1", 5, "key_b"],
    ]);
  });

  it("are followed by what was pinned, which waits for the database as well", async () => {
    const { writer, pins, savedPins, store } = aWriter();
    const pin: Pin = { poolId: "p", kind: "object", fingerprint: { high: 1, low: 2 }, keyId: "key_a", at: 3 };
    pins.push(...Array.from({ length: 4500 }, () => pin));
    store.isBroken = true;
    expect(await writer.flush()).toBe(false);

    store.isBroken = false;
    expect(await writer.flush()).toBe(true);

    expect(savedPins).toHaveLength(4500);
  });

  it("are let go, the longest unused first, if too many wait", async () => {
    const { writer, touched, store, saved } = aWriter({ maxWaiting: 2 });
    store.isBroken = true;
    touched.push(aTouch(1), aTouch(2), aTouch(3));
    await writer.flush();

    store.isBroken = false;
    await writer.flush();

    expect(saved.map(({ session }) => session.id)).toEqual(["s2", "s3"]);
  });

  it("are reported once when they cannot be written, and once when they can again", async () => {
    const { writer, touched, store, troubles } = aWriter();
    store.isBroken = true;
    touched.push(aTouch(1));
    await writer.flush();
    await writer.flush();
    store.isBroken = false;
    await writer.flush();

    expect(troubles).toEqual([new Error("disk full"), undefined]);
  });
});

const quiet = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const activity = { flush: async () => true, prune: async () => {} };

/** What is let go of, second by second. */
function aTickingUpkeep() {
  const clock = createFakeClock();
  const works: { readonly ms: number; readonly work: () => void }[] = [];
  const done: string[] = [];
  const upkeep = new Upkeep({
    sessions: { flush: async () => true },
    activity: { flush: async () => true, prune: async () => void done.push("old") },
    checkNotices: () => {},
    idleTimes: () => [{ providerId: "prv_a", idleTtlMs: 600_000 }],
    deleteSessionsIdleSince: async () => 0,
    sweepIdle: async () => done.push("idle"),
    prunePins: async () => 0,
    flushTokenUses: async () => {},
    clock,
    log: quiet,
    every: (ms, work) => {
      works.push({ ms, work });
      return () => {};
    },
  });
  upkeep.start();
  const tick = async (seconds: number): Promise<void> => {
    for (let second = 1; second <= seconds; second++) {
      clock.advance(1_000);
      for (const { ms, work } of works) if ((second * 1_000) % ms === 0) work();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { tick, done, clock };
}

describe("what is done regularly", () => {
  it("removes the sessions that are idle for longer than their provider allows", async () => {
    const clock = createFakeClock();
    const asked: unknown[] = [];
    const upkeep = new Upkeep({
      sessions: { flush: async () => true },
      activity,
      checkNotices: () => {},
      idleTimes: () => [{ providerId: "prv_a", idleTtlMs: 60_000 }],
      deleteSessionsIdleSince: async (providerId, before) => asked.push([providerId, clock.now() - before]),
      sweepIdle: async () => 0,
      prunePins: async (kind, { keep, before }) => asked.push([kind, keep, clock.now() - before]),
      flushTokenUses: async () => {},
      clock,
      log: quiet,
    });

    await upkeep.removeIdle();

    expect(asked).toEqual([
      ["prv_a", 60_000],
      ["conversation", 500_000, 60_000],
      ["object", 500_000, 60 * 86_400_000],
    ]);
  });

  it.each([
    [86_400_000, 60],
    [300_000, 30],
    [1_000, 1],
  ])("looks for sessions that idled out, with an idle time of %d ms every %d s", async (idleTtlMs, seconds) => {
    const clock = createFakeClock();
    const ticks: (() => void)[] = [];
    let removals = 0;
    const upkeep = new Upkeep({
      sessions: { flush: async () => true },
      activity,
      checkNotices: () => {},
      idleTimes: () => [
        { providerId: "prv_a", idleTtlMs: 86_400_000 },
        { providerId: "prv_b", idleTtlMs },
      ],
      deleteSessionsIdleSince: async () => 0,
      sweepIdle: async () => ++removals,
      prunePins: async () => 0,
      flushTokenUses: async () => {},
      clock,
      log: quiet,
      every: (ms, work) => {
        if (ms === 1_000) ticks.push(work);
        return () => {};
      },
    });
    upkeep.start();

    for (let second = 0; second < 120; second++) {
      clock.advance(1_000);
      for (const tick of ticks) tick();
      await new Promise((resolve) => setImmediate(resolve));
    }

    expect(removals).toBe(120 / seconds);
  });

  describe("while the wall clock has jumped ahead", () => {
    const dayMs = 86_400_000;

    it.each([
      ["a month", 30 * dayMs],
      ["a day, as after a long sleep", dayMs],
    ])("by %s, lets go of nothing for an hour, or until it is set right", async (_, stepMs) => {
      const { tick, done, clock } = aTickingUpkeep();
      await tick(61);
      done.length = 0;

      clock.set(clock.now() + stepMs);
      await tick(59 * 60);
      const inDoubt = [...done];
      clock.set(clock.now() - stepMs);
      await tick(61);
      const setRight = [...done];
      clock.set(clock.now() + stepMs);
      await tick(62 * 60);

      expect(inDoubt).toEqual([]);
      expect(setRight).toEqual(expect.arrayContaining(["idle", "old"]));
      expect(done.length).toBeGreaterThan(setRight.length);
    });

    it("by a minute, goes on", async () => {
      const { tick, done, clock } = aTickingUpkeep();

      clock.set(clock.now() + 60_000);
      await tick(61);

      expect(done).toEqual(expect.arrayContaining(["idle", "old"]));
    });
  });

  it("does not begin anew what has not ended, and writes the rest when it stops", async () => {
    const works = new Map<number, () => void>();
    let flushes = 0;
    let release = (): void => {};
    const upkeep = new Upkeep({
      sessions: {
        flush: () => {
          flushes++;
          return new Promise((resolve) => (release = () => resolve(true)));
        },
      },
      activity,
      checkNotices: () => {},
      idleTimes: () => [],
      deleteSessionsIdleSince: async () => 0,
      sweepIdle: async () => 0,
      prunePins: async () => 0,
      flushTokenUses: async () => {},
      clock: createFakeClock(),
      log: quiet,
      every: (ms, work) => {
        works.set(ms, work);
        return () => works.delete(ms);
      },
    });
    upkeep.start();

    works.get(500)?.();
    works.get(500)?.();
    expect(flushes).toBe(1);

    release();
    const stopped = upkeep.stop();
    release();
    await stopped;

    expect(flushes).toBe(2);
    expect(works.size).toBe(0);
  });
});
