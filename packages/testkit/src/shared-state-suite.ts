import type { Choice, KeyEntry, PoolState, Question, SharedState, StatePolicy, Ticket } from "@keywheel/pool";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { aPolicy, aSession, keysOf } from "./builders.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";
import { runRuleCase } from "./run-rule-case.ts";
import { ruleCases } from "./shared-state-cases.ts";

/** Shared states under test. */
export interface SharedStateFixture<State extends PoolState = SharedState> {
  /** An empty state, as a process that has just started has it. */
  open(clock: FakeClock): Promise<State>;
  /** Closes whatever is open. */
  dispose(): Promise<void>;
}

const reason = { code: "rate_limited", httpStatus: 429, message: null } as const;
const refusal = { code: "authentication_failed", httpStatus: 401, message: null } as const;
const ladder = { rest: "ladder" } as const;

interface Bench<State extends PoolState = PoolState> {
  readonly clock: FakeClock;
  readonly state: State;
  readonly choose: (question?: Question) => Promise<Choice>;
  readonly key: (question?: Question) => Promise<Extract<Choice, { kind: "key" }>>;
  readonly turns: (count: number, question?: Question) => Promise<string>;
  readonly ticketOf: (keyId: string) => Promise<Ticket>;
  readonly configure: (keys: readonly KeyEntry[], policy?: Partial<StatePolicy>) => Promise<void>;
}

async function benchOver<State extends PoolState>(
  open: (clock: FakeClock) => Promise<State>,
  keys: readonly KeyEntry[],
  policy: Partial<StatePolicy> = {},
): Promise<Bench<State>> {
  const clock = createFakeClock();
  const state = await open(clock);
  const configure = (entries: readonly KeyEntry[], parts = policy): Promise<void> =>
    state.configure("p", entries, aPolicy(parts));
  await configure(keys);
  const choose = async (question: Question = {}): Promise<Choice> => state.choose("p", question);
  const key: Bench["key"] = async (question) => {
    const choice = await choose(question);
    if (choice.kind !== "key") throw new Error(`no key: ${choice.kind}`);
    return choice;
  };
  const turns: Bench["turns"] = async (count, question) => {
    let picks = "";
    for (let turn = 0; turn < count; turn++) {
      const choice = await choose(question);
      picks += choice.kind === "key" ? choice.keyId : "-";
    }
    return picks;
  };
  const ticketOf = async (keyId: string): Promise<Ticket> => (await key({ pinnedTo: keyId })).ticket;
  return { clock, state, choose, key, turns, ticketOf, configure };
}

/**
 * The rules of the pool that every state keeps whose bindings are written down, whatever it is made of.
 *
 * @see contract §4
 */
export function describeSharedState(name: string, makeFixture: () => Promise<SharedStateFixture>): void {
  describePoolState(name, makeFixture);
  describeWrittenBindings(name, makeFixture);
}

/** The rules of the pool that every state keeps. */
export function describePoolState(name: string, makeFixture: () => Promise<SharedStateFixture<PoolState>>): void {
  describe(`shared state in ${name}`, () => {
    let fixture: SharedStateFixture<PoolState>;
    beforeEach(async () => {
      fixture = await makeFixture();
    });
    afterEach(() => fixture.dispose());

    const open = (clock: FakeClock): Promise<PoolState> => fixture.open(clock);

    const aBench = (keys: readonly KeyEntry[], policy?: Partial<StatePolicy>): Promise<Bench> =>
      benchOver(open, keys, policy);

    it.each(ruleCases.map((one) => [one.rule, one.name, one] as const))("%s: %s", async (_rule, _name, one) => {
      const clock = createFakeClock();

      const seen = await runRuleCase(one, { state: await open(clock), clock });

      expect(seen).toEqual(one.steps);
    });

    describe("turns", () => {
      it("serve A A A B B C for weights 3, 2, 1", async () => {
        const { turns } = await aBench(keysOf(3, 2, 1));

        expect(await turns(12)).toBe("AAABBCAAABBC");
      });

      it("are 300, 200 and 100 of 600 parallel requests", async () => {
        const { choose } = await aBench(keysOf(3, 2, 1));

        const choices = await Promise.all(Array.from({ length: 600 }, () => choose()));

        const served = new Map<string, number>();
        for (const choice of choices)
          if (choice.kind === "key") served.set(choice.keyId, (served.get(choice.keyId) ?? 0) + 1);
        expect(Object.fromEntries(served)).toEqual({ A: 300, B: 200, C: 100 });
      });

      it("go 2:1 to B and C while A rests, not to its neighbour (case 73)", async () => {
        const { state, turns, ticketOf } = await aBench(keysOf(3, 2, 1));
        await state.fail(await ticketOf("A"), ladder, reason, "key");

        expect(await turns(6)).toBe("BBCBBC");
      });

      it("include a key again at the instant its rest ends, not before", async () => {
        const { clock, state, turns, ticketOf } = await aBench(keysOf(1, 1));
        await state.fail(await ticketOf("A"), ladder, reason, "key");

        clock.advance(59_999);
        expect(await turns(2)).toBe("BB");
        clock.advance(1);
        expect(await turns(2)).toBe("AB");
      });

      it.each([
        { change: "a key is added", keys: keysOf(3, 2, 1, 1), next: "AABBCDAAABBCD" },
        { change: "a weight changes", keys: keysOf(2, 2, 1), next: "ABBCAABBC" },
        { change: "a later key is deleted", keys: keysOf(3, 2), next: "AABBAAABB" },
        { change: "the order changes", keys: [...keysOf(3, 2, 1)].reverse(), next: "AACBBAAACBB" },
      ])("keep their place when $change", async ({ keys, next }) => {
        const { turns, configure } = await aBench(keysOf(3, 2, 1));
        expect(await turns(1)).toBe("A");

        await configure(keys);

        expect(await turns(next.length)).toBe(next);
      });

      it("go on behind a key that is deleted in its turn", async () => {
        const { turns, configure } = await aBench(keysOf(2, 2, 1));
        expect(await turns(3)).toBe("AAB");

        await configure(keysOf(2, 2, 1).filter((key) => key.id !== "B"));

        expect(await turns(4)).toBe("CAAC");
      });

      it("begin with the first key in order as long as none was taken", async () => {
        const { turns, configure } = await aBench(keysOf(1));

        await configure([...keysOf(1, 1, 1)].reverse());

        expect(await turns(3)).toBe("CBA");
      });

      it("can be previewed without being taken", async () => {
        const { state, turns } = await aBench(keysOf(3, 2, 1));

        expect((await state.preview("p", 12)).join("")).toBe("AAABBCAAABBC");
        expect(await turns(6)).toBe("AAABBC");
      });
    });

    describe("a session", () => {
      it("stays on its key and takes no turn", async () => {
        const { turns } = await aBench(keysOf(1, 1, 1));

        expect(await turns(4, { session: aSession("s") })).toBe("AAAA");
        expect(await turns(2)).toBe("BC");
      });

      it("is bound once, also when its first requests come at the same time", async () => {
        const { choose } = await aBench(keysOf(1, 1, 1));

        const choices = await Promise.all(Array.from({ length: 50 }, () => choose({ session: aSession("s") })));

        expect(new Set(choices.map((choice) => (choice.kind === "key" ? choice.keyId : "-"))).size).toBe(1);
      });

      it.each([
        [
          "cools",
          async ({ state, ticketOf }: Bench) => void (await state.fail(await ticketOf("A"), ladder, reason, "key")),
        ],
        ["is refused", async ({ state, ticketOf }: Bench) => void (await state.disable(await ticketOf("A"), refusal))],
        ["is deleted", ({ configure }: Bench) => configure(keysOf(1, 1).filter((key) => key.id !== "A"))],
        [
          "is disabled",
          ({ configure }: Bench) => configure(keysOf(1, 1).map((key) => ({ ...key, enabled: key.id !== "A" }))),
        ],
        ["gets weight 0", ({ configure }: Bench) => configure(keysOf(0, 1))],
        [
          "cannot be resolved",
          ({ configure }: Bench) => configure(keysOf(1, 1).map((key) => ({ ...key, resolved: key.id !== "A" }))),
        ],
      ])("moves to another key when its key %s, and stays there (case 79)", async (_, act) => {
        const bench = await aBench(keysOf(1, 1));
        const session = aSession("s");
        expect(await bench.turns(2, { session })).toBe("AA");

        await act(bench);

        expect(await bench.turns(3, { session })).toBe("BBB");
      });

      it("says whom it left and why", async () => {
        const { state, key, ticketOf } = await aBench(keysOf(1, 1));
        const session = aSession("s");
        await key({ session });
        await state.disable(await ticketOf("A"), refusal);
        await state.reset("p", "A");
        await key({ session });
        state.hold(await ticketOf("B"), 1_000);

        const moved = await key({ session });

        expect(moved).toMatchObject({ keyId: "A", why: "turn", movedFrom: "B" });
        expect(moved.passedOver).toEqual([{ keyId: "B", because: "rate_limited" }]);
      });

      it("tells which key of a group has met the limit, of all that rest with it", async () => {
        const grouped = keysOf(1, 1, 1, 1).map((key) => (key.id === "D" ? key : { ...key, group: "g" }));
        const { clock, state, ticketOf } = await aBench(grouped);
        const ticket = await ticketOf("B");

        const after = await state.fail(ticket, ladder, reason, "key");

        const shared = { ...reason, at: clock.now(), sharedFrom: "B" };
        expect(after.reason).toEqual({ ...reason, at: clock.now() });
        expect(after.others?.map(({ keyId }) => keyId)).toEqual(["A", "C"]);
        expect(after.others?.[0]).toMatchObject({
          secretVersion: 1,
          health: { failures: 0, wait: "shared" },
          reason: shared,
        });
        const known = await state.snapshot("p");
        expect(known.map(({ reason: why }) => why?.sharedFrom)).toEqual(["B", undefined, "B", undefined]);
        expect(known.map(({ health }) => health.failures)).toEqual([0, 1, 0, 0]);
      });

      it("rests nobody along that has left the group", async () => {
        const grouped = keysOf(1, 1, 1).map((key) => ({ ...key, group: "g" }));
        const { state, turns, ticketOf, configure } = await aBench(grouped);
        await configure(grouped.map((key) => (key.id === "C" ? { ...key, group: "h" } : key)));

        await state.fail(await ticketOf("A"), ladder, reason, "key");

        expect(await turns(2)).toBe("CC");
      });

      it("says once whom it left when its binding had ended before it came, also after a sweep", async () => {
        const { clock, state, key, ticketOf } = await aBench(keysOf(1, 1, 1));
        const session = aSession("s");
        expect((await key({ session })).left).toBeUndefined();
        await state.fail(await ticketOf("A"), ladder, reason, "key");
        clock.advance(300_000);
        await state.sweepIdle();

        const moved = await key({ session });

        expect(moved).toMatchObject({ why: "turn", left: { keyId: "A", because: "rate_limited" } });
        expect((await key({ session })).left).toBeUndefined();
        expect((await key({ session: aSession("another") })).left).toBeUndefined();
      });

      it.each<[string, string, (bench: Bench) => Promise<unknown>]>([
        [
          "refused",
          "authentication_failed",
          async ({ state, ticketOf }) => state.disable(await ticketOf("A"), refusal),
        ],
        ["removed", "deleted", ({ configure }) => configure(keysOf(1, 1, 1).slice(1))],
        [
          "switched off",
          "disabled_by_operator",
          ({ configure }) => configure(keysOf(1, 1, 1).map((key) => ({ ...key, enabled: key.id !== "A" }))),
        ],
      ])("says that it left a key that was %s", async (_, because, act) => {
        const bench = await aBench(keysOf(1, 1, 1));
        const [first, second] = [
          { high: 1, low: 1 },
          { high: 2, low: 2 },
        ];
        await bench.key({ session: aSession("s") });
        await bench.key();
        await bench.key();
        await bench.key({ conversation: { lookups: [], binds: [first] } });
        await act(bench);

        expect((await bench.key({ session: aSession("s") })).left).toEqual({ keyId: "A", because });
        const next = await bench.key({ conversation: { lookups: [first], binds: [second] } });
        expect(next.left).toEqual({ keyId: "A", because });
      });

      it("does not return to its old key when that recovers; displaced sessions spread by weight (case 80)", async () => {
        const { clock, state, key, turns, ticketOf } = await aBench(keysOf(1, 1, 1));
        const sessions = Array.from({ length: 90 }, (_, index) => aSession(`s${index}`));
        const onA: typeof sessions = [];
        for (const session of sessions) if ((await key({ session })).keyId === "A") onA.push(session);
        expect(onA).toHaveLength(30);

        await state.fail(await ticketOf("A"), ladder, reason, "key");
        const moved = new Map<string, string>();
        for (const session of onA) moved.set(session.id, (await key({ session })).keyId);
        clock.advance(60_000);

        expect([...moved.values()].filter((keyId) => keyId === "B")).toHaveLength(15);
        expect([...moved.values()].filter((keyId) => keyId === "C")).toHaveLength(15);
        for (const session of onA) expect(await turns(1, { session })).toBe(moved.get(session.id));
      });

      it("has ended with its key's cooldown even if it made no request meanwhile", async () => {
        const { clock, state, key, ticketOf } = await aBench(keysOf(1, 1));
        const session = aSession("s");
        await key({ session });
        await state.fail(await ticketOf("A"), ladder, reason, "key");
        clock.advance(60_000);

        expect((await key({ session })).why).toBe("turn");
      });

      it("ends on request; ending an unknown one is no error (case 84)", async () => {
        const { state, key } = await aBench(keysOf(1, 1));
        const session = aSession("s");
        await key({ session });

        expect(await state.endSession("p", session.fingerprint)).toBe(true);
        expect(await state.endSession("p", session.fingerprint)).toBe(false);
        expect(await key({ session })).toMatchObject({ keyId: "B", why: "turn" });
      });

      it("ends after the idle time, counted from its last request", async () => {
        const { clock, key } = await aBench(keysOf(1, 1), { affinity: { enabled: true, idleTtlMs: 1_000 } });
        const session = aSession("s");
        await key({ session });

        clock.advance(1_000);
        expect((await key({ session })).why).toBe("session");
        clock.advance(1_001);
        expect((await key({ session })).why).toBe("turn");
      });

      it("is not bound where affinity is off, or the request asks for no binding", async () => {
        const off = await aBench(keysOf(1, 1), { affinity: { enabled: false, idleTtlMs: 1_000 } });
        const detour = await aBench(keysOf(1, 1));
        const session = aSession("s");

        expect(await off.turns(4, { session })).toBe("ABAB");
        expect(await detour.turns(4, { session, bind: false })).toBe("ABAB");
      });

      it("is counted at its key, and no longer once it has moved or ended", async () => {
        const { state, key, ticketOf } = await aBench(keysOf(1, 1));
        await key({ session: aSession("s1") });
        await key({ session: aSession("s2") });
        await key({ session: aSession("s3") });
        const counts = async (): Promise<number[]> => (await state.snapshot("p")).map((each) => each.boundSessions);
        expect(await counts()).toEqual([2, 1]);

        await state.fail(await ticketOf("A"), ladder, reason, "key");
        expect(await counts()).toEqual([0, 1]);
        await key({ session: aSession("s1") });
        expect(await counts()).toEqual([0, 2]);
      });

      it("is found again after a restart", async () => {
        const { clock } = await aBench(keysOf(1, 1));
        const state = await open(clock);
        await state.configure("p", keysOf(1, 1), aPolicy());
        const session = aSession("s");

        state.restoreBindings([
          { poolId: "p", fingerprint: session.fingerprint, keyId: "B", lastUsedAt: clock.now() },
          { poolId: "gone", fingerprint: aSession("x").fingerprint, keyId: "B", lastUsedAt: clock.now() },
        ]);

        expect(await state.choose("p", { session })).toMatchObject({ keyId: "B", why: "session" });
      });
    });

    describe("blame", () => {
      it("counts a parallel burst as one failure of the key that earned it", async () => {
        const { state, key } = await aBench(keysOf(1, 1));
        const tickets: Ticket[] = [];
        for (let n = 0; n < 20; n++) tickets.push((await key()).ticket);

        await Promise.all(
          tickets.filter((ticket) => ticket.keyId === "A").map((ticket) => state.fail(ticket, ladder, reason, "key")),
        );

        const [a, b] = await state.snapshot("p");
        expect(a?.health.failures).toBe(1);
        expect(b?.health.failures).toBe(0);
      });

      it("falls on the key of the attempt, whatever its session is bound to by then", async () => {
        const { state, key, ticketOf } = await aBench(keysOf(1, 1));
        const session = aSession("s");
        const early = await key({ session });
        await state.fail(await ticketOf("A"), ladder, reason, "key");
        expect((await key({ session })).keyId).toBe("B");

        await state.disable(early.ticket, refusal);

        const [a, b] = await state.snapshot("p");
        expect(a?.reason?.code).toBe("authentication_failed");
        expect(b?.reason).toBeUndefined();
      });

      it("does not reach a key's new value, nor a deleted key (case 95)", async () => {
        const { state, key, configure, turns } = await aBench(keysOf(1));
        const { ticket } = await key();
        await configure(keysOf(1).map((each) => ({ ...each, secretVersion: 2 })));

        expect((await state.disable(ticket, refusal)).applied).toBe(false);
        expect((await state.fail(ticket, ladder, reason, "key")).applied).toBe(false);
        expect(await turns(1)).toBe("A");

        await configure([]);
        expect((await state.succeed(ticket)).applied).toBe(false);
      });

      it("is cleared with a new value: count, cooldown and refusal", async () => {
        const { state, configure, turns, ticketOf } = await aBench(keysOf(1, 1));
        await state.fail(await ticketOf("A"), ladder, reason, "key");
        await state.disable(await ticketOf("B"), refusal);
        expect(await turns(1)).toBe("-");

        await configure(keysOf(1, 1).map((each) => ({ ...each, secretVersion: 2 })));

        expect(await turns(2)).toBe("AB");
        expect((await state.snapshot("p")).map((each) => each.health.failures)).toEqual([0, 0]);
      });
    });

    describe("a refused key", () => {
      it("stays out whatever the configuration says, until it is reset", async () => {
        const { state, turns, ticketOf, configure } = await aBench(keysOf(1, 1));
        await state.disable(await ticketOf("A"), refusal);

        await configure(keysOf(1, 1));
        expect(await turns(2)).toBe("BB");

        await state.reset("p", "A");
        expect(await turns(2)).toBe("AB");
      });

      it("is refused once: a second 401 of the same burst changes nothing", async () => {
        const { state, key } = await aBench(keysOf(1));
        const [first, second] = [await key(), await key()];

        expect((await state.disable(first.ticket, refusal)).applied).toBe(true);
        expect((await state.disable(second.ticket, refusal)).applied).toBe(false);
      });

      it("that a person disabled meanwhile keeps the person's reason (case 28)", async () => {
        const { state, key, configure } = await aBench(keysOf(1));
        const { ticket } = await key();
        await configure(keysOf(1).map((each) => ({ ...each, enabled: false })));

        expect((await state.disable(ticket, refusal)).applied).toBe(false);
        await state.succeed(ticket);
        expect((await state.choose("p", {})).kind).toBe("none-usable");
      });
    });

    describe("a key that was refused", () => {
      it("keeps that as its reason when an older request's 429 comes late", async () => {
        const { state, key, choose } = await aBench(keysOf(1));
        const [slow, quick] = [await key(), await key()];
        await state.disable(quick.ticket, refusal);

        await state.fail(slow.ticket, ladder, reason, "key");

        expect((await state.snapshot("p"))[0]?.reason?.code).toBe("authentication_failed");
        expect((await choose()).kind).toBe("none-usable");
      });
    });

    describe("a cleared key", () => {
      it("is not touched by what attempts made before learn", async () => {
        const { state, key, turns } = await aBench(keysOf(1));
        const before = await key();
        await state.reset("p", "A");

        expect((await state.disable(before.ticket, refusal)).applied).toBe(false);
        expect((await state.fail(before.ticket, { rest: "ladder", hintMs: 500_000 }, reason, "key")).applied).toBe(
          false,
        );
        expect(await turns(1)).toBe("A");
      });
    });

    describe("a held key", () => {
      it("is not chosen while its refusal is read, and is free again when it turns out to be none (case 76)", async () => {
        const { state, key, turns } = await aBench(keysOf(1, 1));
        const { ticket } = await key();

        state.hold(ticket, 2_000);
        expect(await turns(2)).toBe("BB");

        state.release(ticket);
        expect(await turns(2)).toBe("AB");
      });

      it("comes back by itself if nobody ever says how it ended", async () => {
        const { clock, state, key, turns } = await aBench(keysOf(1, 1));
        state.hold((await key()).ticket, 2_000);

        clock.advance(2_000);

        expect(await turns(2)).toBe("BA");
      });
    });

    describe("a key that has come back", () => {
      it("is tried by one request before others may follow (case 75)", async () => {
        const { clock, state, key, choose, turns, ticketOf } = await aBench(keysOf(1));
        await state.fail(await ticketOf("A"), ladder, reason, "key");
        clock.advance(60_000);

        const first = await key();
        const crowd = await Promise.all(Array.from({ length: 49 }, () => choose()));
        expect(crowd.every((choice) => choice.kind === "exhausted" && choice.isBeingTried)).toBe(true);

        state.release(first.ticket);
        expect(await turns(2)).toBe("A-");
        await state.succeed(first.ticket);
        expect(await turns(3)).toBe("AAA");
      });

      it("that fails its trial rests again, one step higher, whatever the size of the crowd", async () => {
        const { clock, state, key, choose, ticketOf } = await aBench(keysOf(1));
        await state.fail(await ticketOf("A"), ladder, reason, "key");
        clock.advance(60_000);

        await state.fail((await key()).ticket, ladder, reason, "key");

        expect(await choose()).toMatchObject({ kind: "exhausted", isBeingTried: false, until: clock.now() + 120_000 });
        expect((await state.snapshot("p"))[0]?.health.failures).toBe(2);
      });

      it("keeps nobody waiting whose first request takes its time", async () => {
        const { clock, state, key, turns, ticketOf } = await aBench(keysOf(1));
        await state.fail(await ticketOf("A"), ladder, reason, "key");
        clock.advance(60_000);
        await key();

        clock.advance(2_000);

        expect(await turns(1)).toBe("A");
      });

      it("serves the session that tried it, and others go to those that are well meanwhile", async () => {
        const { clock, state, key, turns, ticketOf } = await aBench(keysOf(1, 1));
        await state.fail(await ticketOf("A"), ladder, reason, "key");
        clock.advance(60_000);
        const session = aSession("s");

        expect((await key({ session })).keyId).toBe("A");
        expect(await turns(2)).toBe("BB");
        expect((await key({ session })).keyId).toBe("A");
      });
    });

    describe("no key", () => {
      it("of those that rest, the first to come back decides the wait", async () => {
        const { clock, state, choose, ticketOf } = await aBench(keysOf(1, 1));
        await state.fail(await ticketOf("A"), { rest: "ladder", hintMs: 500_000 }, reason, "key");
        clock.advance(20_000);
        await state.fail(await ticketOf("B"), ladder, reason, "key");

        expect(await choose()).toMatchObject({
          kind: "exhausted",
          until: clock.now() + 60_000,
          overload: false,
          standing: { total: 2, resting: 2, disabled: 0, unresolved: 0 },
        });
      });

      it("emptied by overload alone is told apart (case 32)", async () => {
        const { clock, state, choose, ticketOf } = await aBench(keysOf(1, 1));
        const overloaded = { ...reason, code: "overloaded", httpStatus: 529 } as const;
        await state.fail(await ticketOf("A"), ladder, overloaded, "key");
        await state.fail(await ticketOf("B"), ladder, overloaded, "key");

        expect(await choose()).toMatchObject({ kind: "exhausted", overload: true });
        clock.advance(60_000);
        expect(await choose({ tried: new Set(["A", "B"]) })).toMatchObject({ kind: "exhausted", overload: true });
      });

      it.each([
        ["nothing is configured", []],
        ["all are disabled", keysOf(1, 1).map((key) => ({ ...key, enabled: false }))],
        ["all are unresolved", keysOf(1).map((key) => ({ ...key, resolved: false }))],
        ["all weigh 0", keysOf(0, 0)],
      ])("when %s is no matter of waiting (case 86)", async (_, keys) => {
        const { choose } = await aBench(keys);

        expect((await choose()).kind).toBe("none-usable");
      });

      it("when a request has tried them all, though they could serve others", async () => {
        const { choose } = await aBench(keysOf(1, 1));

        expect(await choose({ tried: new Set(["A", "B"]) })).toMatchObject({
          kind: "exhausted",
          standing: { tried: 2 },
        });
      });

      it("for a request that is pinned to a resting key, though others could serve (rule 11)", async () => {
        const { state, choose, ticketOf } = await aBench(keysOf(1, 1));
        await state.fail(await ticketOf("A"), ladder, reason, "key");

        expect(await choose({ pinnedTo: "A" })).toMatchObject({ kind: "exhausted" });
        expect(await choose({ pinnedTo: "B" })).toMatchObject({ kind: "key", keyId: "B", why: "pin" });
      });
    });

    describe("an object", () => {
      const file = aSession("file-abc123").fingerprint;

      it("goes back to the key that made it, though it is another's turn", async () => {
        const { state, turns } = await aBench(keysOf(1, 1, 1));
        state.pin("p", "B", [file]);

        expect(await turns(4, { objects: [aSession("file-unknown").fingerprint, file] })).toBe("BBBB");
        expect(await turns(3)).toBe("ABC");
      });

      it("waits for its key while that rests, and finds it again afterwards (rule 11)", async () => {
        const { clock, state, choose, turns, ticketOf } = await aBench(keysOf(1, 1));
        state.pin("p", "A", [file]);
        await state.fail(await ticketOf("A"), ladder, reason, "key");

        expect(await choose({ objects: [file] })).toMatchObject({ kind: "exhausted", until: clock.now() + 60_000 });
        clock.advance(60_000);
        expect(await turns(2, { objects: [file] })).toBe("AA");
      });

      it("of a deleted key pins nothing any more", async () => {
        const { state, turns, configure } = await aBench(keysOf(1, 1));
        state.pin("p", "A", [file]);
        await configure(keysOf(1, 1).filter((key) => key.id !== "A"));

        expect(await turns(2, { objects: [file] })).toBe("BB");
      });
    });

    describe("a conversation that nobody named", () => {
      const first = aSession("turn 1").fingerprint;
      const second = aSession("turn 2").fingerprint;
      const third = aSession("turn 3").fingerprint;

      it("goes to the key that served its beginning, and takes no turn", async () => {
        const { state, key, turns } = await aBench(keysOf(1, 1, 1));
        await turns(1);
        expect(await key({ conversation: { lookups: [], binds: [first] } })).toMatchObject({
          keyId: "B",
          why: "turn",
        });
        expect((await state.snapshot("p")).map((each) => each.boundSessions)).toEqual([0, 0, 0]);

        const next = await key({ conversation: { lookups: [first], binds: [second] } });

        expect(next).toMatchObject({ keyId: "B", why: "continuation" });
        expect(await turns(1)).toBe("C");
      });

      it("is looked for by its longest beginning first", async () => {
        const { key } = await aBench(keysOf(1, 1, 1));
        await key({ conversation: { lookups: [], binds: [first] } });
        await key({ conversation: { lookups: [], binds: [second] } });

        expect(await key({ conversation: { lookups: [second, first], binds: [third] } })).toMatchObject({
          keyId: "B",
        });
      });

      it("moves when its key rests, and is found again after a restart", async () => {
        const { clock, state, key, ticketOf } = await aBench(keysOf(1, 1));
        await key({ conversation: { lookups: [], binds: [first] } });
        await state.fail(await ticketOf("A"), ladder, reason, "key");
        expect(await key({ conversation: { lookups: [first], binds: [second] } })).toMatchObject({
          keyId: "B",
          why: "turn",
        });

        const restarted = await open(clock);
        await restarted.configure("p", keysOf(1, 1), aPolicy());
        restarted.restorePins([
          { poolId: "p", kind: "conversation", fingerprint: second, keyId: "B", at: clock.now() },
          { poolId: "gone", kind: "conversation", fingerprint: first, keyId: "B", at: clock.now() },
        ]);

        const found = await restarted.choose("p", { conversation: { lookups: [second], binds: [third] } });
        expect(found).toMatchObject({ keyId: "B", why: "continuation" });
      });
    });

    describe("a list", () => {
      it("comes from the first key that can serve, and takes no turn", async () => {
        const { state, turns, ticketOf } = await aBench(keysOf(1, 1, 1));

        expect(await turns(3, { first: true })).toBe("AAA");
        await state.fail(await ticketOf("A"), ladder, reason, "key");
        expect(await turns(3, { first: true })).toBe("BBB");
        expect(await turns(1, { first: true, tried: new Set(["B"]) })).toBe("C");
        expect(await turns(2)).toBe("BC");
      });
    });

    describe("a model's own rest", () => {
      it("keeps the key for other models, and shares follow what is available for each", async () => {
        const { state, key, turns } = await aBench(keysOf(1, 1), { cooldownScope: "model" });
        const { ticket } = await key({ model: "x" });
        await state.fail(ticket, ladder, reason, "model");

        expect(await turns(4, { model: "x" })).toBe("BBBB");
        expect(await turns(4, { model: "y" })).toBe("BABA");
        expect(await turns(2)).toBe("BA");
      });

      it("ends by itself, and the model goes back to the common wheel", async () => {
        const { clock, state, key, turns } = await aBench(keysOf(1, 1));
        await state.fail((await key({ model: "x" })).ticket, { rest: "ladder", fixedMs: 3_600_000 }, reason, "model");

        clock.advance(3_600_000);

        expect(await turns(2, { model: "x" })).toBe("BA");
        expect(await turns(2, { model: "x" })).toBe("BA");
      });

      it("counts a burst as one failure, also the first one of that model", async () => {
        const { state, key } = await aBench(keysOf(1), { cooldownScope: "model" });
        const tickets = [await key({ model: "x" }), await key({ model: "x" }), await key({ model: "x" })];

        for (const { ticket } of tickets) await state.fail(ticket, ladder, reason, "model");

        expect((await state.snapshot("p"))[0]?.models[0]?.health.failures).toBe(1);
      });

      it("climbs a ladder of its own", async () => {
        const { clock, state, key } = await aBench(keysOf(1), { cooldownScope: "model" });
        const first = await state.fail((await key({ model: "x" })).ticket, ladder, reason, "model");
        clock.advance(60_000);
        const second = await state.fail((await key({ model: "x" })).ticket, ladder, reason, "model");

        expect(first.health.coolUntil - first.health.cooledAt).toBe(60_000);
        expect(second.health.coolUntil - second.health.cooledAt).toBe(120_000);
        expect((await state.snapshot("p"))[0]?.health.failures).toBe(0);
      });
    });

    describe("the clock", () => {
      it("set back by a day keeps no key out for a day (case 97)", async () => {
        const { clock, state, turns, ticketOf } = await aBench(keysOf(1));
        await state.fail(await ticketOf("A"), ladder, reason, "key");

        clock.set(clock.now() - 86_400_000);
        expect(await turns(1)).toBe("-");
        clock.advance(60_000);
        expect(await turns(1)).toBe("A");
      });
    });
  });
}

function describeWrittenBindings(name: string, makeFixture: () => Promise<SharedStateFixture>): void {
  describe(`a binding in ${name}`, () => {
    let fixture: SharedStateFixture;
    beforeEach(async () => {
      fixture = await makeFixture();
    });
    afterEach(() => fixture.dispose());

    const open = (clock: FakeClock): Promise<SharedState> => fixture.open(clock);
    const aBench = (keys: readonly KeyEntry[]): Promise<Bench<SharedState>> => benchOver(open, keys);

    it("is reported as used since the last drain, with the key it is bound to", async () => {
      const { clock, state, key, ticketOf } = await aBench(keysOf(1, 1));
      const session = aSession("s");
      await key({ session });
      await key({ session });
      const boundAt = clock.now();
      expect(state.drainTouchedSessions(10)).toEqual([
        { poolId: "p", session, keyId: "A", boundAt, lastUsedAt: boundAt, requests: 2 },
      ]);

      clock.advance(5);
      await key({ session });
      expect(state.drainTouchedSessions(10)).toMatchObject([{ keyId: "A", boundAt: undefined, requests: 1 }]);

      await key({ session });
      await state.fail(await ticketOf("A"), ladder, reason, "key");
      expect(state.drainTouchedSessions(10)).toEqual([]);
    });

    it("of an object is written down once, and is taken up after a restart", async () => {
      const file = aSession("file-abc123").fingerprint;
      const { clock, state } = await aBench(keysOf(1, 1));
      state.pin("p", "B", [file]);
      state.pin("p", "B", [file]);
      const drained = state.drainPins(10);
      expect(drained).toEqual([{ poolId: "p", kind: "object", fingerprint: file, keyId: "B", at: clock.now() }]);
      expect(state.drainPins(10)).toEqual([]);

      const restarted = await open(clock);
      await restarted.configure("p", keysOf(1, 1), aPolicy());
      restarted.restorePins(drained);

      expect(await restarted.choose("p", { objects: [file] })).toMatchObject({ keyId: "B", why: "pin" });
    });

    it("of a conversation is written down with each key that it came to", async () => {
      const { clock, state, key, ticketOf } = await aBench(keysOf(1, 1));
      const [first, second] = [aSession("turn 1").fingerprint, aSession("turn 2").fingerprint];
      await key({ conversation: { lookups: [], binds: [first] } });
      await state.fail(await ticketOf("A"), ladder, reason, "key");
      await key({ conversation: { lookups: [first], binds: [second] } });

      const drained = state.drainPins(10);
      const restarted = await open(clock);
      await restarted.configure("p", keysOf(1, 1), aPolicy());
      restarted.restorePins(drained.filter((pin) => pin.keyId === "B"));

      expect(drained.map(({ kind, keyId }) => `${kind} ${keyId}`)).toEqual(["conversation A", "conversation B"]);
      const found = await restarted.choose("p", { conversation: { lookups: [second], binds: [first] } });
      expect(found).toMatchObject({ keyId: "B", why: "continuation" });
    });
  });
}
