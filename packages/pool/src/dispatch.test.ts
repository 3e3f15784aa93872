import { describe, expect, it } from "vitest";
import { aPolicy, aSession, createFakeClock, type FakeClock, keysOf } from "@keywheel/testkit";
import {
  type Beginning,
  type Delivery,
  dispatch,
  type DispatchOptions,
  type DispatchOutcome,
  type Opening,
  type UpstreamAnswer,
} from "./dispatch.ts";
import { MemoryState } from "./memory/packed-state.ts";
import { Pool } from "./pool.ts";
import type { AttemptRecord, PoolEvent } from "./ports/events.ts";
import type { DisabledRecord, HealthRecord } from "./ports/journal.ts";
import type { Choice, Question } from "./ports/shared-state.ts";
import type { JudgedAnswer, Verdict } from "./rules/verdict.ts";

/** The base rule, written down once more in its plainest form. */
function judge({ status, bodyText }: JudgedAnswer): Verdict {
  const facts = { code: `status_${status}`, message: bodyText === "" ? undefined : bodyText, httpStatus: status };
  if (status === 401 || status === 403) {
    return { ...facts, key: { kind: "disable", reason: "authentication_failed" }, request: "next-key" };
  }
  if (status === 429 || status === 529) {
    const cool = { kind: "cool", reason: status === 529 ? "overloaded" : "rate_limited", scope: "key" } as const;
    return { ...facts, key: { ...cool, failure: { rest: "ladder" } }, request: "next-key" };
  }
  if (status === 413) return { ...facts, key: { kind: "none" }, request: "one-other-key" };
  if (status >= 500) return { ...facts, key: { kind: "none" }, request: "provider-retry" };
  if (status < 300) return { ...facts, key: { kind: "succeeded" }, request: "give-back" };
  return { ...facts, key: { kind: "none" }, request: "give-back" };
}

class Answer implements UpstreamAnswer {
  readonly receivedAt = 0;
  readonly isComplete: boolean = true;
  readonly status: number;
  readonly text: string;
  readonly opens: Opening;
  discarded = 0;
  constructor(status: number, text = "", opens: Opening = { kind: "clear" }) {
    this.status = status;
    this.text = text;
    this.opens = opens;
  }
  header(): undefined {
    return undefined;
  }
  async readText(): Promise<Beginning> {
    return { text: this.text, isCut: !this.isComplete };
  }
  async opening(): Promise<Opening> {
    return this.opens;
  }
  discard(): void {
    this.discarded++;
  }
}

type Reply = number | Answer | Delivery<Answer>;

interface Bench {
  readonly clock: FakeClock;
  readonly state: MemoryState;
  readonly pool: Pool;
  readonly log: string[];
  readonly attempts: AttemptRecord[];
  readonly events: PoolEvent[];
  readonly serve: (question?: Question, options?: Partial<DispatchOptions<Answer>>) => Promise<DispatchOutcome<Answer>>;
}

/**
 * A pool of equal keys whose provider answers by script: the n-th reply of a key to its n-th call, the last for ever.
 *
 * @param disabled when the database has taken a disabled key; default: at once
 */
async function aBench(
  script: Readonly<Record<string, readonly Reply[]>>,
  disabled: Promise<void> = Promise.resolve(),
): Promise<Bench> {
  const clock = createFakeClock();
  const state = new MemoryState({ clock });
  const log: string[] = [];
  const attempts: AttemptRecord[] = [];
  const events: PoolEvent[] = [];
  const journal = {
    saveHealth: async (record: HealthRecord) => void log.push(`saved ${record.keyId} ${record.health.failures}`),
    disableKey: (record: DisabledRecord) => disabled.then(() => void log.push(`disabled ${record.keyId}`)),
  };
  const redact = (text: string): string => text.replaceAll("sk-secret", "…");
  const pool = new Pool("p", { state, journal, clock, events: (event) => void events.push(event), redact });
  await pool.configure(keysOf(...Object.keys(script).map(() => 1)), aPolicy());
  const calls = new Map<string, number>();
  const transport = async (keyId: string): Promise<Delivery<Answer>> => {
    log.push(`sent ${keyId}`);
    const call = calls.get(keyId) ?? 0;
    calls.set(keyId, call + 1);
    const replies = script[keyId] ?? [];
    const reply = replies[Math.min(call, replies.length - 1)] ?? 200;
    if (typeof reply === "number") return { kind: "answer", answer: new Answer(reply) };
    return reply instanceof Answer ? { kind: "answer", answer: reply } : reply;
  };
  const serve: Bench["serve"] = (question = {}, options = {}) =>
    dispatch({
      requestId: "r",
      pool,
      question,
      transport,
      judge,
      replayable: true,
      providerRetries: 0,
      isClientGone: () => false,
      pause: async (ms) => clock.advance(ms),
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      onAttempt: (attempt) => void attempts.push(attempt),
      onNotice: () => {},
      ...options,
    });
  return { clock, state, pool, log, attempts, events, serve };
}

/** The provider has answered a choice of the pool's so. */
async function settle(pool: Pool, choice: Choice, status: number): Promise<void> {
  if (choice.kind !== "key") throw new Error("no key was chosen");
  await pool.settle(choice.ticket, judge({ status, header: () => undefined, bodyText: "", receivedAt: 0 }));
}

const reset: Delivery<Answer> = { kind: "broken", fault: "unreachable", repeatable: true, message: "reset" };
const refused: Delivery<Answer> = { kind: "broken", fault: "unreachable", repeatable: false, message: "refused" };

describe("failover", () => {
  it.each([429, 529])("after %i cools the key durably, then asks the next", async (status) => {
    const { log, serve } = await aBench({ A: [status], B: [200] });

    const outcome = await serve();

    expect(outcome).toMatchObject({ kind: "answer", keyId: "B", attempts: 2 });
    expect(log).toEqual(["sent A", "saved A 1", "sent B"]);
  });

  it.each([401, 403])("after %i disables the key in the database before the retry is sent", async (status) => {
    const { log, serve } = await aBench({ A: [status], B: [200] });

    await serve();

    expect(log).toEqual(["sent A", "disabled A", "sent B"]);
  });

  // 200 racing requests: one of two that found the same key refused sent its retry while the other's word was being written.
  it("of two that find a key refused at once, lets neither retry before it is disabled in the database", async () => {
    const written = Promise.withResolvers<void>();
    const { log, serve } = await aBench({ A: [401], B: [200] }, written.promise);
    const session = aSession("s");

    const both = Promise.all([serve({ session }), serve({ session })]);
    await new Promise((resolve) => setImmediate(resolve));
    const before = [...log];
    written.resolve();
    await both;

    expect(before).toEqual(["sent A", "sent A"]);
    expect(log.slice(2)).toEqual(["disabled A", "sent B", "sent B"]);
  });

  // Three gateways at 300 requests/s: the second one knew of the refusal by the shared state, and did not wait for the first one
  // to have written it down.
  it("of two processes that find a key refused, lets neither retry before it is disabled in the database", async () => {
    const written = Promise.withResolvers<void>();
    const { clock, state, log, pool, serve } = await aBench({ A: [401], B: [200] });
    const journal = { saveHealth: async () => {}, disableKey: () => written.promise };
    const other = new Pool(pool.id, { state, journal, clock, events: () => {}, redact: (text) => text });
    const session = aSession("s");
    const met = await other.choose({ session });
    await serve({ session });

    let isSettled = false;
    const settled = settle(other, met, 401);
    void settled.then(() => (isSettled = true));
    await new Promise((resolve) => setImmediate(resolve));
    const wasSettled = isSettled;
    written.resolve();
    await settled;

    expect(log).toContain("disabled A");
    expect(wasSettled).toBe(false);
  });

  it("writes a refusal down once, however many requests met it", async () => {
    const { log, pool } = await aBench({ A: [401], B: [200] });
    const session = aSession("s");
    const tickets = [await pool.choose({ session }), await pool.choose({ session }), await pool.choose({ session })];

    for (const chosen of tickets) await settle(pool, chosen, 401);

    expect(log).toEqual(["disabled A"]);
  });

  // It was told with the instant of the refusal, which the key keeps as its reason.
  it("tells a limit that comes after the key's refusal as of the instant at which it comes", async () => {
    const { clock, events, pool } = await aBench({ A: [200], B: [200] });
    const session = aSession("s");
    const [refused, limited] = [await pool.choose({ session }), await pool.choose({ session })];
    await settle(pool, refused, 401);
    clock.advance(5_000);

    await settle(pool, limited, 429);

    expect(events.map((event) => [event.type, "at" in event && event.at])).toEqual([
      ["key-disabled", clock.now() - 5_000],
      ["key-cooled", clock.now()],
    ]);
  });

  it("tells of no cooldown when a limit of a former burst comes after the key's success", async () => {
    const { clock, events, pool } = await aBench({ A: [200] });
    const late = await pool.choose({});
    await settle(pool, await pool.choose({}), 429);
    clock.advance(60_000);
    await settle(pool, await pool.choose({}), 200);

    await settle(pool, late, 429);

    expect(events.map(({ type }) => type)).toEqual(["key-cooled", "key-recovered"]);
    expect(await pool.choose({})).toMatchObject({ kind: "key", keyId: "A" });
  });

  it("asks each key once at the most, all of them if need be", async () => {
    const { log, serve } = await aBench({ A: [429], B: [401], C: [529], D: [200] });

    expect(await serve()).toMatchObject({ kind: "answer", keyId: "D", attempts: 4 });
    expect(log.filter((line) => line.startsWith("sent"))).toEqual(["sent A", "sent B", "sent C", "sent D"]);
  });

  it("ends with the pool's standing and the provider's last word when no key is left", async () => {
    const { serve } = await aBench({ A: [429], B: [new Answer(401, "no such key sk-secret")] });

    expect(await serve()).toMatchObject({
      kind: "refused",
      choice: { kind: "exhausted", standing: { resting: 1, disabled: 1 } },
      last: { status: 401 },
      attempts: 2,
    });
  });

  it("keeps a 401 from the 20th request away from the key (case 27)", async () => {
    const { log, serve } = await aBench({ A: [401], B: [200] });

    for (let n = 0; n < 20; n++) expect(await serve()).toMatchObject({ kind: "answer", keyId: "B" });

    expect(log.filter((line) => line === "sent A")).toHaveLength(1);
  });

  it("lets go of each answer that it does not give back (case 38)", async () => {
    const limited = new Answer(429);
    const { serve } = await aBench({ A: [limited], B: [200] });

    await serve();

    expect(limited.discarded).toBe(1);
  });

  it("takes secrets out of what it writes down", async () => {
    const { state, serve } = await aBench({ A: [new Answer(401, "bad key sk-secret")], B: [200] });

    await serve();

    expect((await state.snapshot("p"))[0]?.reason).toMatchObject({ httpStatus: 401, message: "bad key …" });
  });

  it("rebinds the session to the key that served", async () => {
    const { serve, events } = await aBench({ A: [200, 429], B: [200], C: [200] });
    const session = aSession("s");
    await serve({ session });

    expect(await serve({ session })).toMatchObject({ keyId: "B" });
    expect(await serve({ session })).toMatchObject({ keyId: "B" });
    expect(events.find((event) => event.type === "binding-moved")).toBeUndefined();
  });

  it("tells nothing to try again when the body cannot be sent twice, but still cools the key", async () => {
    const { log, serve } = await aBench({ A: [429], B: [200] });

    expect(await serve({}, { replayable: false })).toMatchObject({ kind: "answer", keyId: "A", attempts: 1 });
    expect(log).toEqual(["sent A", "saved A 1"]);
  });
});

describe("an answer that opens with an error", () => {
  const limited: JudgedAnswer = { status: 429, header: () => undefined, bodyText: "slow down", receivedAt: 0 };

  it("counts as not begun: the key cools, and another one serves (case 39)", async () => {
    const { log, serve } = await aBench({ A: [new Answer(200, "", { kind: "error", answer: limited })], B: [200] });

    expect(await serve()).toMatchObject({ kind: "answer", keyId: "B", attempts: 2 });
    expect(log).toEqual(["sent A", "saved A 1", "sent B"]);
  });

  it("that came to nothing is no answer, and no key is blamed", async () => {
    const { state, serve } = await aBench({ A: [new Answer(200, "", { kind: "void", message: "empty" })], B: [200] });

    expect(await serve()).toMatchObject({ kind: "broken", message: "empty", attempts: 1 });
    expect((await state.snapshot("p"))[0]?.health.failures).toBe(0);
  });
});

describe("what is not the key's fault", () => {
  it.each([400, 404, 405, 409, 413, 422, 500, 502, 503, 504])("%i changes no key", async (status) => {
    const { state, serve } = await aBench({ A: [status], B: [status] });

    await serve();

    for (const key of await state.snapshot("p"))
      expect(key).toMatchObject({ health: { failures: 0 }, reason: undefined });
  });

  it.each([400, 404, 500])("%i goes back as it is, and no other key is asked", async (status) => {
    const answer = new Answer(status);
    const { log, serve } = await aBench({ A: [answer], B: [200] });

    expect(await serve()).toMatchObject({ kind: "answer", answer, keyId: "A" });
    expect(log).toEqual(["sent A"]);
  });

  it("asks one other key when the request does not fit this one, then gives back what it got", async () => {
    const { log, serve } = await aBench({ A: [413], B: [413], C: [200] });

    expect(await serve()).toMatchObject({ kind: "answer", answer: { status: 413 }, attempts: 2 });
    expect(log).toEqual(["sent A", "sent B"]);
  });

  it("gives back the answer it kept when the only other key turns out to be limited", async () => {
    const tooLarge = new Answer(413);
    const { serve } = await aBench({ A: [tooLarge], B: [429] });

    expect(await serve()).toMatchObject({ kind: "answer", answer: tooLarge, keyId: "A" });
    expect(tooLarge.discarded).toBe(0);
  });

  it("leaves a session on its key over such a detour", async () => {
    const { serve } = await aBench({ A: [413, 200], B: [200] });
    const session = aSession("s");

    expect(await serve({ session })).toMatchObject({ keyId: "B" });
    expect(await serve({ session })).toMatchObject({ keyId: "A" });
  });

  it("tries a provider's fault again as often as the settings allow, another key first", async () => {
    const { log, serve } = await aBench({ A: [500], B: [500] });

    expect(await serve({}, { providerRetries: 2 })).toMatchObject({
      kind: "answer",
      answer: { status: 500 },
      attempts: 3,
    });
    expect(log).toEqual(["sent A", "sent B", "sent A"]);
  });

  it("tries a provider's fault again on the only key", async () => {
    const { serve } = await aBench({ A: [503, 200] });

    expect(await serve({}, { providerRetries: 1 })).toMatchObject({ answer: { status: 200 }, attempts: 2 });
  });
});

describe("a connection that breaks", () => {
  it("is tried once more with the same key, where that is safe", async () => {
    const { log, serve } = await aBench({ A: [reset, 200], B: [200] });

    expect(await serve()).toMatchObject({ kind: "answer", keyId: "A", attempts: 2 });
    expect(log).toEqual(["sent A", "sent A"]);
  });

  it("is not tried a third time, nor with another key", async () => {
    const { log, serve } = await aBench({ A: [reset], B: [200] });

    expect(await serve()).toMatchObject({ kind: "broken", fault: "unreachable", keyId: "A", attempts: 2 });
    expect(log).toEqual(["sent A", "sent A"]);
  });

  it("is not tried again where the provider may have begun to work", async () => {
    const { log, serve } = await aBench({ A: [refused], B: [200] });

    expect(await serve()).toMatchObject({ kind: "broken", attempts: 1 });
    expect(log).toEqual(["sent A"]);
  });

  it("cools nobody: fifty requests against a dead provider leave the pool as it was (case 31)", async () => {
    const { state, serve } = await aBench({ A: [refused], B: [refused] });

    for (let n = 0; n < 50; n++) expect((await serve()).kind).toBe("broken");

    for (const key of await state.snapshot("p")) expect(key.health.failures).toBe(0);
  });

  it("ends everything when the client has left, and blames no key", async () => {
    const { log, serve, state } = await aBench({ A: [{ kind: "gone" }], B: [200] });

    expect(await serve()).toEqual({ kind: "gone", attempts: 1 });
    expect(log).toEqual(["sent A"]);
    expect((await state.snapshot("p"))[0]?.health.failures).toBe(0);
  });
});

describe("success", () => {
  it("counts when the body has reached the client whole, not before", async () => {
    const { clock, state, serve } = await aBench({ A: [429, 200] });
    await serve();
    clock.advance(60_000);

    const outcome = await serve();
    expect((await state.snapshot("p"))[0]?.health.failures).toBe(1);

    if (outcome.kind !== "answer") throw new Error(outcome.kind);
    await outcome.finish({ kind: "completed" });
    expect((await state.snapshot("p"))[0]?.health.failures).toBe(0);
  });

  it.each([{ kind: "truncated" } as const, { kind: "gone" } as const])(
    "does not count when it was $kind",
    async (ending) => {
      const { clock, state, serve } = await aBench({ A: [429, 200] });
      await serve();
      clock.advance(60_000);

      const outcome = await serve();
      if (outcome.kind === "answer") await outcome.finish(ending);

      expect((await state.snapshot("p"))[0]?.health.failures).toBe(1);
    },
  );

  it("turns into the key's failure when an error was told after content", async () => {
    const { state, serve } = await aBench({ A: [200] });
    const error: JudgedAnswer = { status: 429, header: () => undefined, bodyText: "slow down", receivedAt: 0 };

    const outcome = await serve();
    if (outcome.kind === "answer") await outcome.finish({ kind: "failed", answer: error });

    expect((await state.snapshot("p"))[0]).toMatchObject({ health: { failures: 1 }, reason: { code: "rate_limited" } });
  });
});

describe("the record", () => {
  it("names each attempt's key, why it was chosen, who was passed over, and what came of it", async () => {
    const { attempts, serve } = await aBench({ A: [429], B: [401], C: [200] });

    await serve();
    await serve();

    expect(attempts.map(({ keyId, why, status, outcome }) => [keyId, why, status, outcome])).toEqual([
      ["A", "turn", 429, "status_429"],
      ["B", "turn", 401, "status_401"],
      ["C", "turn", 200, "status_200"],
      ["C", "turn", 200, "status_200"],
    ]);
    expect(attempts[3]?.passedOver).toEqual([
      { keyId: "A", because: "rate_limited" },
      { keyId: "B", because: "authentication_failed" },
    ]);
  });
});
