import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import type { Clock, SharedState } from "@keywheel/pool";
import {
  aPolicy,
  aSession,
  createFakeClock,
  keysOf,
  runRedis,
  runRedisCluster,
  type RunningRedis,
} from "@keywheel/testkit";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { describeSharedState } from "../../../testkit/src/shared-state-suite.ts";
import { testCertificate, testCertificateKey, trustTestCertificate } from "../data-plane/certificate.test-bench.ts";
import type { LinkedState } from "./linked-state.ts";
import { openRedisState } from "./redis-state.ts";
import { readRedisUrl } from "./redis-url.ts";
import { describeSharing, expectTwinOfMemory, keyOf, reason, refusal, ticketOf, until } from "./sharing.test-bench.ts";

let redis: RunningRedis;
beforeAll(async () => {
  redis = await runRedis();
});
afterAll(() => redis.dispose());

/** Servers of single tests, which end with them however they end. */
const servers: { dispose(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.dispose();
});

async function endingWithTest<T extends { dispose(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const server = await starting;
  servers.push(server);
  return server;
}

const opened: LinkedState[] = [];

async function openState(clock: Clock, namespace = newNamespace(), patienceMs = 2_000): Promise<LinkedState> {
  const address = readRedisUrl(redis.url);
  if (address === undefined) throw new Error("no address");
  const state = await openRedisState({ address, clock, namespace, patienceMs });
  opened.push(state);
  return state;
}

function newNamespace(): string {
  return randomBytes(4).toString("hex");
}

function closeAll(): void {
  const troubles = opened.map((state) => state.trouble);
  for (const state of opened.splice(0)) state.close();
  // Otherwise all that was shown is what a state does alone.
  expect(troubles.every((trouble) => trouble === undefined)).toBe(true);
}

describeSharedState("Redis", async () => ({
  open: async (clock) => openState(clock),
  dispose: async () => closeAll(),
}));

describeSharing("Redis", async () => ({
  several: severalInRedis,
  pause: () => redis.pause(),
  resume: () => redis.resume(),
  dispose: async () => closeAll(),
}));

let lastNamespace = "";

async function severalInRedis(count: number, ...weights: number[]): Promise<LinkedState[]> {
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  const namespace = newNamespace();
  lastNamespace = namespace;
  const states = await Promise.all(Array.from({ length: count }, () => openState(clock, namespace)));
  for (const state of states) await state.configure("p", keysOf(...weights), aPolicy());
  return states;
}

describe("several instances", () => {
  afterEach(closeAll);

  it("are told of new sessions only while they are few; of many, each asks for those that it meets", async () => {
    const [one, other] = await severalInRedis(2, 1, 1, 1);
    let heard = 0;
    const listeners = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const client = new Redis(redis.url);
        client.on("message", (_channel, message: string) => (heard += message.includes('"s:') ? 1 : 0));
        await client.subscribe(`${lastNamespace}:push`);
        return client;
      }),
    );
    const sessions = Array.from({ length: 300 }, (_, index) => aSession(`s${index}`));
    await one!.choose("p", { session: aSession("first") });
    const bound = await Promise.all(sessions.map((session) => one!.choose("p", { session })));
    const [failing] = bound.flatMap((choice) => (choice.kind === "key" ? [choice] : []));
    const met = await Promise.all(sessions.map((session) => other!.choose("p", { session })));
    const told = heard / listeners.length;
    await one!.fail(failing!.ticket, { rest: "ladder" }, reason, "key");
    const moved = await Promise.all(sessions.map((session) => one!.choose("p", { session })));
    await until(async () => (await other!.snapshot("p")).some((key) => key.health.failures === 1));
    const found = await Promise.all(sessions.map((session) => other!.choose("p", { session })));
    for (const client of listeners) client.disconnect();

    expect(met.map(keyOf)).toEqual(bound.map(keyOf));
    expect(found.map(keyOf)).toEqual(moved.map(keyOf));
    expect(moved.map(keyOf)).not.toContain(failing!.keyId);
    expect(told).toBeGreaterThanOrEqual(1);
    expect(told).toBeLessThan(100);
  });

  it("look at idle pools without running the script for each of them every second", async () => {
    const states = await severalInRedis(2, 1, 1);
    for (const state of states)
      for (let number = 0; number < 10; number++) await state.configure(`q${number}`, keysOf(1), aPolicy());
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const client = new Redis(redis.url);
    const calls = async (command: string): Promise<number> =>
      Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await client.info("commandstats"))?.[1] ?? 0);
    const before = [await calls("evalsha"), await calls("hmget")] as const;
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const after = [await calls("evalsha"), await calls("hmget")] as const;
    client.disconnect();

    expect(after[0] - before[0]).toBe(0);
    // Two instances, eleven pools, two or three times.
    expect(after[1] - before[1]).toBeGreaterThanOrEqual(2 * 11 * 2);
  });
  it("put a pool back that the server has forgotten, without a word of trouble", async () => {
    const [one, other] = await severalInRedis(2, 2, 1);
    await one!.fail(await ticketOf(one!, "A"), { rest: "ladder" }, reason, "key");
    const client = new Redis(redis.url);
    await client.flushall();
    client.disconnect();

    const picks: string[] = [];
    await until(async () => picks.push(keyOf(await other!.choose("p", {}))) >= 50);
    await until(async () => (await one!.snapshot("p"))[0]?.health.failures === 1);

    expect(new Set(picks)).toEqual(new Set(["B"]));
    expect([one!.trouble, other!.trouble]).toEqual([undefined, undefined]);
  });

  it("let what others say over the same channel pass by", async () => {
    const [one] = await severalInRedis(1, 1, 1);
    const client = new Redis(redis.url);
    for (const message of [
      "no JSON",
      "7",
      "null",
      '{"p":"p"}',
      '{"p":"p","c":{"A":{}},"v":1}',
      '{"p":"q","c":{},"v":1}',
    ])
      await client.publish(`${lastNamespace}:push`, message);
    client.disconnect();
    await until(async () => one!.trouble === undefined);

    expect(await one!.choose("p", {})).toMatchObject({ keyId: "A" });
  });
});

describe("after an outage", () => {
  it("no failure is forgotten and no deadline moves back, whoever saw them", async () => {
    const own = await endingWithTest(runRedis());
    const address = readRedisUrl(own.url);
    if (address === undefined) throw new Error("no address");
    const clock = createFakeClock();
    const open = () => openRedisState({ address, clock });
    const [one, other] = [await open(), await open()];
    for (const state of [one, other]) await state.configure("p", keysOf(1, 1, 1, 1), aPolicy());
    const isShared = async (): Promise<boolean> => one.trouble === undefined && other.trouble === undefined;
    const fail = async (state: SharedState, keyId: string, hintMs = 0) =>
      state.fail(await ticketOf(state, keyId), { rest: "ladder", hintMs }, reason, "key");
    await fail(one, "A", 100_000);
    await until(async () => (await other.snapshot("p"))[0]?.health.failures === 1);

    await own.kill();
    await until(async () => one.trouble !== undefined && other.trouble !== undefined);
    clock.advance(1_000);
    await fail(one, "B", 300_000);
    await fail(other, "B");
    await other.disable(await ticketOf(other, "C"), refusal);
    clock.advance(120_000);
    await fail(other, "A");
    // Bound by one of them while it was alone, to the key that nobody has anything to say against.
    const alone = aSession("alone");
    await one.choose("p", { session: alone, tried: new Set(["A", "B", "C"]) });
    await own.restart();
    await until(isShared);
    const lines = async (state: SharedState) =>
      (await state.snapshot("p")).map(({ keyId, health, reason: why }) => [
        keyId,
        health.failures,
        Math.max(0, health.coolUntil - clock.now()),
        why?.code,
      ]);
    await until(async () => JSON.stringify(await lines(one)) === JSON.stringify(await lines(other)));

    expect(await lines(one)).toEqual([
      ["A", 2, 120_000, "rate_limited"],
      ["B", 1, 180_000, "rate_limited"],
      ["C", 0, 0, "authentication_failed"],
      ["D", 0, 0, undefined],
    ]);
    expect(await lines(other)).toEqual(await lines(one));
    expect(await one.choose("p", {})).toMatchObject({ keyId: "D" });
    await until(async () => ((await other.snapshot("p"))[3]?.boundSessions ?? 0) > 0);
    expect(await other.choose("p", { session: alone })).toMatchObject({ keyId: "D", why: "session" });
    one.close();
    other.close();
  }, 20_000);
});

describe("a server that has become slow", () => {
  it("is waited for once, then left alone until it is quick again", async () => {
    const line = { delayMs: 0 };
    const proxy = createServer((client) => {
      const server = connect(redis.port, "127.0.0.1");
      for (const [from, to] of [
        [client, server],
        [server, client],
      ] as const) {
        from.on("data", (data) => setTimeout(() => to.write(data), line.delayMs));
        from.on("error", () => to.destroy());
        from.on("close", () => to.destroy());
      }
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const address = readRedisUrl(`redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    if (address === undefined) throw new Error("no address");
    const clock = { now: () => Date.now(), monotonic: () => performance.now() };
    const state = await openRedisState({ address, clock, namespace: newNamespace() });
    await state.configure("p", keysOf(1), aPolicy());
    expect(state.trouble).toBeUndefined();
    const timed = async (): Promise<number> => {
      const start = performance.now();
      expect(keyOf(await state.choose("p", {}))).toBe("A");
      return performance.now() - start;
    };

    line.delayMs = 300;
    const first = await timed();
    const later: number[] = [];
    for (let at = 0; at < 40; at++) {
      later.push(await timed());
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { trouble } = state;
    line.delayMs = 0;
    await until(async () => state.trouble === undefined, 5_000);
    const after = state.trouble;
    state.close();
    proxy.close();

    expect(first).toBeGreaterThan(200);
    expect(first).toBeLessThan(500);
    expect(later.filter((ms) => ms > 200)).toEqual([]);
    expect(trouble).toMatch(/only after \d{3} ms|within 250 ms/);
    expect(after).toBeUndefined();
  }, 20_000);
});

describe("a connection", () => {
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };

  async function take(url: string): Promise<{ trouble: string | undefined; key: string }> {
    const address = readRedisUrl(url);
    if (address === undefined) throw new Error("no address");
    const state = await openRedisState({ address, clock, namespace: newNamespace() });
    await state.configure("p", keysOf(1), aPolicy());
    const key = keyOf(await state.choose("p", {}));
    const { trouble } = state;
    state.close();
    return { trouble, key };
  }

  it("is made with TLS and a password; without them what is wrong is said, and requests are served", async () => {
    const distrust = trustTestCertificate();
    const tls = { certificate: testCertificate, key: testCertificateKey };
    const own = await endingWithTest(runRedis({ tls, settings: ["--requirepass", "open sesame"] }));

    const safe = await take(`rediss://:open%20sesame@127.0.0.1:${own.tlsPort}/2`);
    const wrong = await take(`rediss://:guessed@127.0.0.1:${own.tlsPort}`);
    distrust();
    const strange = await take(`rediss://:open%20sesame@127.0.0.1:${own.tlsPort}`);

    expect(safe).toEqual({ trouble: undefined, key: "A" });
    expect(wrong).toEqual({ trouble: expect.stringMatching(/WRONGPASS|NOAUTH/), key: "A" });
    expect(strange).toEqual({ trouble: expect.stringMatching(/certificate/), key: "A" });
  }, 20_000);

  it("is made to the server that a sentinel names", async () => {
    const sentinel = await endingWithTest(runRedis({ sentinelOf: redis.port }));

    const taken = await take(`redis://127.0.0.1:${sentinel.port}?sentinel=mymaster`);

    expect(taken).toEqual({ trouble: undefined, key: "A" });
  });
});

describe("a cluster", () => {
  it("is spoken to with every pool in one slot of it", async () => {
    const cluster = await endingWithTest(runRedisCluster(3));
    const address = readRedisUrl(cluster.url);
    if (address === undefined) throw new Error("no address");
    expect(address.kind).toBe("cluster");
    const clock = { now: () => Date.now(), monotonic: () => performance.now() };
    const [one, other] = [await openRedisState({ address, clock }), await openRedisState({ address, clock })];
    await until(async () => one.trouble === undefined && other.trouble === undefined, 5_000);
    const pools = Array.from({ length: 12 }, (_, index) => `prv_${index}`);

    for (const state of [one, other]) for (const id of pools) await state.configure(id, keysOf(2, 1), aPolicy());
    const picks = await Promise.all(
      pools.map(async (id) => {
        let turns = "";
        for (let turn = 0; turn < 3; turn++)
          for (const state of [one, other]) turns += keyOf(await state.choose(id, {}));
        return turns;
      }),
    );
    const session = aSession("s");
    const there = await one.choose("prv_3", { session, objects: [aSession("f").fingerprint] });
    const heard = await until(async () => keyOf(await other.choose("prv_3", { session })) === keyOf(there));
    const troubles = [one.trouble, other.trouble];
    one.close();
    other.close();

    expect(picks).toEqual(pools.map(() => "AABAAB"));
    expect(heard).toBeLessThan(500);
    expect(troubles).toEqual([undefined, undefined]);
  }, 40_000);
});

describe("the script", () => {
  afterEach(closeAll);

  it("decides what memory decides, whatever comes", async () => {
    await expectTwinOfMemory(async (clock) => {
      const state = await openState(clock);
      return {
        state,
        close: () => {
          opened.splice(opened.indexOf(state), 1);
          expect(state.trouble).toBeUndefined();
          state.close();
        },
      };
    }, 60);
  }, 60_000);
});
