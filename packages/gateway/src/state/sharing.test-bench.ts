import { type Choice, type KeyEntry, MemoryState, type Question, type SharedState } from "@keywheel/pool";
import { aPolicy, aSession, createFakeClock, type FakeClock, keysOf } from "@keywheel/testkit";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

export const reason = { code: "rate_limited", httpStatus: 429, message: null } as const;
export const refusal = { code: "authentication_failed", httpStatus: 401, message: null } as const;

export const keyOf = (choice: Choice): string => (choice.kind === "key" ? choice.keyId : "-");

/** Until `holds`, or the time is over. @returns how long it took, ms */
export async function until(holds: () => Promise<boolean>, mostMs = 2_000): Promise<number> {
  const start = performance.now();
  while (!(await holds()) && performance.now() - start < mostMs) await new Promise((resolve) => setTimeout(resolve, 1));
  return performance.now() - start;
}

export async function ticketOf(state: SharedState, keyId: string) {
  const choice = await state.choose("p", { pinnedTo: keyId });
  if (choice.kind !== "key") throw new Error("no key");
  return choice.ticket;
}

export interface SharingFixture {
  /** So many states that share a pool `p` with keys of these weights. */
  several(count: number, ...weights: number[]): Promise<SharedState[]>;
  /** Where the state is shared, nobody answers from now on. */
  pause(): void;
  resume(): void;
  dispose(): Promise<void>;
}

/** What states that share a pool know of each other, wherever it is shared. @see contract §4 */
export function describeSharing(name: string, makeFixture: () => Promise<SharingFixture>): void {
  describe(`several instances that share state in ${name}`, () => {
    let fixture: SharingFixture;
    beforeEach(async () => {
      fixture = await makeFixture();
    });
    afterEach(() => fixture.dispose());

    it("share one wheel: exact totals, whoever takes the turns", async () => {
      const states = await fixture.several(3, 3, 2, 1);

      const picks = await Promise.all(
        Array.from({ length: 1_200 }, async (_, turn) => keyOf(await states[turn % 3]!.choose("p", {}))),
      );

      expect(["A", "B", "C"].map((key) => picks.filter((pick) => pick === key).length)).toEqual([600, 400, 200]);
    });

    it("bind a session once, though its first requests meet", async () => {
      const [one, other] = await fixture.several(2, 1, 1, 1);
      const sessions = Array.from({ length: 300 }, (_, index) => aSession(`s${index}`));

      const pairs = await Promise.all(
        sessions.map((session) => Promise.all([one!, other!].map(async (state) => state.choose("p", { session })))),
      );

      expect(pairs.filter(([a, b]) => keyOf(a!) !== keyOf(b!))).toEqual([]);
    });

    it("know each other's sessions, and serve them without asking", async () => {
      const [one, other] = await fixture.several(2, 1, 1, 1);
      const session = aSession("s");
      await one!.choose("p", {});
      const bound = keyOf(await one!.choose("p", { session }));
      await until(async () => (await other!.snapshot("p")).some((key) => key.boundSessions > 0));

      fixture.pause();
      const start = performance.now();
      const there = await other!.choose("p", { session });
      const tookMs = performance.now() - start;
      fixture.resume();

      expect(there).toMatchObject({ kind: "key", keyId: bound, why: "session" });
      expect(tookMs).toBeLessThan(100);
    });

    it("stop using a key within 100 ms of another's 429, bound sessions included", async () => {
      const [one, other] = await fixture.several(2, 1, 1);
      const session = aSession("s");
      await other!.choose("p", { session });

      await one!.fail(await ticketOf(one!, "A"), { rest: "ladder" }, reason, "key");
      const tookMs = await until(async () => keyOf(await other!.choose("p", { session })) === "B");

      expect(tookMs).toBeLessThan(100);
      expect((await other!.snapshot("p"))[0]).toMatchObject({
        health: { failures: 1 },
        reason: { code: "rate_limited" },
      });
    });

    it("count a burst that is seen by both as one failure", async () => {
      const [one, other] = await fixture.several(2, 1, 1);
      const tickets = [await ticketOf(one!, "A"), await ticketOf(other!, "A")];

      await Promise.all([
        one!.fail(tickets[0]!, { rest: "ladder" }, reason, "key"),
        other!.fail(tickets[1]!, { rest: "ladder" }, reason, "key"),
      ]);
      await until(async () => (await one!.snapshot("p"))[0]?.health.failuresSeen === 2);

      for (const state of [one!, other!]) expect((await state.snapshot("p"))[0]?.health.failures).toBe(1);
    });

    it("tell once that a key has recovered, though both were served by it", async () => {
      const [one, other] = await fixture.several(2, 1, 1);
      await one!.fail(await ticketOf(one!, "A"), { rest: "ladder", fixedMs: 1 }, reason, "key");
      await until(async () => (await other!.snapshot("p"))[0]?.health.failures === 1);
      await new Promise((resolve) => setTimeout(resolve, 5));
      const tickets = await Promise.all([one!, other!].map((state) => ticketOf(state, "A")));

      const after = await Promise.all([one!, other!].map(async (state, index) => state.succeed(tickets[index]!)));

      expect(after.filter(({ applied }) => applied)).toHaveLength(1);
    });

    it("learn of refusals, resets, objects and the end of sessions", async () => {
      const [one, other] = await fixture.several(2, 1, 1);
      const file = aSession("file").fingerprint;
      const session = aSession("s");
      await one!.disable(await ticketOf(one!, "A"), refusal);
      expect(await until(async () => keyOf(await other!.choose("p", { pinnedTo: "A" })) === "-")).toBeLessThan(500);

      await other!.reset("p", "A");
      expect(await until(async () => keyOf(await one!.choose("p", { pinnedTo: "A" })) === "A")).toBeLessThan(500);

      one!.pin("p", "B", [file]);
      expect(other!.hasPins).toBe(true);
      const asked = async (): Promise<boolean> => {
        const choice = await other!.choose("p", { objects: [file] });
        return choice.kind === "key" && choice.keyId === "B" && choice.why === "pin";
      };
      expect(await until(asked)).toBeLessThan(500);

      await one!.choose("p", { session });
      expect(await other!.endSession("p", session.fingerprint)).toBe(true);
      expect(await until(async () => (await one!.snapshot("p")).every((key) => key.boundSessions === 0))).toBeLessThan(
        500,
      );
    });
  });
}

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("choose" as const),
      session: fc.option(fc.nat(4)),
      model: fc.option(fc.constantFrom("x", "y")),
      tried: fc.constantFrom([], [], [], ["A"], ["B"], ["A", "C"]),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("fail" as const),
      ticket: fc.nat(60),
      hintMs: fc.option(fc.nat(1_000_000)),
      scope: fc.constantFrom("key" as const, "model" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("succeed" as const, "hold" as const), ticket: fc.nat(60) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("disable" as const, "release" as const), ticket: fc.nat(60) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("reset" as const), keyId: fc.constantFrom("A", "B", "C") }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(1, 2_000, 60_000, 300_000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("weigh" as const), weights: fc.array(fc.nat(3), { maxLength: 4 }) }),
  },
);

/** @param groups of the keys A, B, C …; those beyond are by themselves */
function grouped(keys: readonly KeyEntry[], groups: string): KeyEntry[] {
  return keys.map((key, at) => (groups[at] === undefined ? key : { ...key, group: groups[at] }));
}

/** A state under test, open until it is closed. */
export interface OpenedState {
  readonly state: SharedState;
  close(): void;
}

/** Random commands, which memory and another state must answer alike. */
export async function expectTwinOfMemory(
  open: (clock: FakeClock) => Promise<OpenedState>,
  numRuns: number,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.constantFrom("", "xx", "xxx", "xyxy"),
      async (steps, groups) => {
        const clock = createFakeClock();
        const opened = await open(clock);
        const [twin, state] = [new MemoryState({ clock }), opened.state];
        const policy = aPolicy({ cooldownScope: "model" });
        const both = async <T>(act: (one: SharedState, index: 0 | 1) => T | Promise<T>): Promise<[T, T]> => [
          await act(twin, 0),
          await act(state, 1),
        ];
        await both((one) => one.configure("p", grouped(keysOf(3, 2, 1), groups), policy));
        const tickets: [Choice, Choice][] = [];
        const pair = (index: number) => tickets[index % Math.max(1, tickets.length)];

        /** What both answered, line by line. */
        const seen: [unknown[], unknown[]] = [[], []];
        const note = (pairOfAnswers: readonly [unknown, unknown]): void => {
          for (const [at, answer] of pairOfAnswers.entries()) seen[at]?.push(answer);
        };

        for (const one of steps) {
          if (one.do === "choose") {
            const question: Question = {
              ...(one.session === null ? {} : { session: aSession(`s${one.session}`) }),
              ...(one.model === null ? {} : { model: one.model }),
              tried: new Set(one.tried),
            };
            const chosen = await both((each) => each.choose("p", question));
            note(chosen);
            if (chosen[0].kind === "key") tickets.push(chosen);
          } else if (one.do === "wait") clock.advance(one.ms);
          else if (one.do === "reset") await both((each) => each.reset("p", one.keyId));
          else if (one.do === "weigh")
            await both((each) => each.configure("p", grouped(keysOf(...one.weights), groups), policy));
          else {
            const found = pair(one.ticket);
            if (found === undefined) continue;
            const after = await both((each, at): unknown => {
              const choice = found[at];
              if (choice.kind !== "key") return undefined;
              const hint = one.do !== "fail" || one.hintMs === null ? {} : { hintMs: one.hintMs };
              if (one.do === "fail") return each.fail(choice.ticket, { rest: "ladder", ...hint }, reason, one.scope);
              if (one.do === "succeed") return each.succeed(choice.ticket);
              if (one.do === "disable") return each.disable(choice.ticket, refusal);
              if (one.do === "hold") return each.hold(choice.ticket, 2_000);
              return each.release(choice.ticket);
            });
            note(after);
          }
          note(await both((each) => each.snapshot("p")));
        }
        expect(seen[1]).toEqual(seen[0]);
        opened.close();
      },
    ),
    { numRuns },
  );
}
