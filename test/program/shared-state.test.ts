import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { reply, runGateway, type RunningGateway, runRedis, type RunningRedis } from "@keywheel/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { inRows } from "../in-rows.ts";
import { eventually, type PooledProvider, poolOf } from "../pooled-provider.ts";

interface SharedStatus {
  readonly shared_state: { readonly kind: string; readonly ok: boolean; readonly trouble: string | null };
}

let redis: RunningRedis;
let home: string;
let gateways: RunningGateway[];
let pool: PooledProvider;
beforeAll(async () => {
  redis = await runRedis();
});
afterAll(() => redis.dispose());
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "keywheel-shared-"));
  gateways = [];
});
afterEach(async () => {
  for (const gateway of gateways) await gateway[Symbol.asyncDispose]();
  await pool[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

/** Gateways over one Redis, with the same keys under the same ids: each has a copy of one data directory. */
async function startGateways(count: number, weights: readonly number[]): Promise<void> {
  const place = (index: number): string => join(home, `${index}`, "data");
  for (let index = 0; index < count; index++) mkdirSync(join(home, `${index}`));
  const first = await runGateway({ dataDir: place(0) });
  gateways.push(first);
  pool = await poolOf(first, { weights });
  await first.stop();
  const env = { KEYWHEEL_REDIS_URL: redis.url };
  for (let index = 1; index < count; index++) cpSync(place(0), place(index), { recursive: true });
  await first.restart({ env });
  for (let index = 1; index < count; index++) gateways.push(await runGateway({ dataDir: place(index), env }));
  for (const gateway of gateways) await shares(gateway);
}

/** Waits until the gateway shares its state. */
function shares(gateway: RunningGateway): Promise<unknown> {
  return eventually(
    () => gateway.api<SharedStatus>("GET", "/status"),
    ({ shared_state: { kind, ok } }) => kind === "redis" && ok,
    { what: "the state to be shared", timeoutMs: 10_000 },
  );
}

function isAlone(gateway: RunningGateway): Promise<unknown> {
  return eventually(
    () => gateway.api<SharedStatus>("GET", "/status"),
    ({ shared_state: { ok } }) => !ok,
    { what: "the gateway to say that it decides alone" },
  );
}

/** One plain request. @returns its status, and the key that served it */
async function ask(gateway: RunningGateway, session?: string): Promise<{ status: number; key: string }> {
  const response = await fetch(`${gateway.baseUrlOf(pool.record)}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: "Bearer sk-client-own",
      ...(session === undefined ? {} : { "x-keywheel-session": session }),
    },
    body: JSON.stringify({ model: "gpt-test", messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.arrayBuffer();
  return { status: response.status, key: response.headers.get("x-keywheel-key") ?? "-" };
}

const countOf = (letter: string): number => Array.from(pool.provider.picks()).filter((pick) => pick === letter).length;
const at = (index: number): RunningGateway => gateways[index % gateways.length] as RunningGateway;

describe("three gateways on one Redis", () => {
  it("serve 6,000 requests exactly 3000, 2000 and 1000 by weights 3, 2, 1", async () => {
    await startGateways(3, [3, 2, 1]);

    const answers = await inRows(6_000, 24, (index) => ask(at(index)));

    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(gateways.map((gateway) => /Redis is away.*/.exec(gateway.logs())?.[0])).toEqual(
      gateways.map(() => undefined),
    );
    expect({ A: countOf("A"), B: countOf("B"), C: countOf("C") }).toEqual({ A: 3_000, B: 2_000, C: 1_000 });
  }, 120_000);

  it("keep one key each for 1,000 sessions that come to two of them at the same moment", async () => {
    await startGateways(2, [1, 1, 1]);

    const pairs = await inRows(1_000, 12, (index) => Promise.all([ask(at(0), `s${index}`), ask(at(1), `s${index}`)]));

    expect(pairs.filter(([one, other]) => one.status !== 200 || one.key !== other.key)).toEqual([]);
    expect(new Set(pairs.map(([one]) => one.key)).size).toBe(3);
  }, 120_000);

  it("all stop using a key within 100 ms of a 429 that one of them got", async () => {
    await startGateways(3, [1, 1]);
    await inRows(6, 1, (index) => ask(at(index), `s${index}`));
    pool.provider.forKey(pool.valueOf("A")).always(reply.json(429, {}, {}));
    const before = countOf("A");

    // Two requests, since it may be the other key's turn.
    await ask(at(0));
    await ask(at(0));
    await sleep(100);
    const afterwards = countOf("A");
    const answers = await inRows(30, 6, (index) => ask(at(index), `s${index % 6}`));

    expect(afterwards - before).toBe(1);
    expect(countOf("A")).toBe(afterwards);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    for (const gateway of gateways) expect((await gateway.keys(pool.record))[0]?.status).toBe("cooling_down");
  }, 60_000);
});

describe("with Redis away", () => {
  it("no client sees an error and cooldowns hold: killed, restarted empty, paused, under traffic", async () => {
    await startGateways(2, [1, 1, 1]);
    pool.provider.forKey(pool.valueOf("A")).always(reply.json(429, {}, {}));
    await inRows(6, 1, (index) => ask(at(index)));
    await sleep(100);
    const asked = countOf("A");
    const bad: unknown[] = [];
    const flow = { goesOn: true, sent: 0 };
    const traffic = (async () => {
      while (flow.goesOn) {
        const index = flow.sent++;
        void ask(at(index), index % 3 === 0 ? `s${index % 60}` : undefined)
          .then((answer) => answer.status === 200 || bad.push(answer))
          .catch((error: unknown) => bad.push(error));
        await sleep(10);
      }
    })();
    await sleep(500);

    await redis.kill();
    for (const gateway of gateways) await isAlone(gateway);
    await sleep(500);
    // What only one of them learns while Redis is away.
    pool.provider.forKey(pool.valueOf("B")).always(reply.json(429, {}, {}));
    await eventually(
      async () => (await at(0).keys(pool.record))[1]?.status,
      (status) => status === "cooling_down",
      { what: "B to cool" },
    );
    await redis.restart();
    for (const gateway of gateways) await shares(gateway);
    const cooling = await Promise.all(gateways.map((gateway) => gateway.keys(pool.record)));

    redis.pause();
    for (const gateway of gateways) await isAlone(gateway);
    await sleep(1_000);
    redis.resume();
    for (const gateway of gateways) await shares(gateway);
    await sleep(300);
    flow.goesOn = false;
    await traffic;
    await sleep(300);

    expect(bad).toEqual([]);
    // A busy machine sends fewer; of each part there were some.
    expect(flow.sent).toBeGreaterThan(50);
    expect(cooling.map((keys) => keys.map(({ status }) => status))).toEqual(
      gateways.map(() => ["cooling_down", "cooling_down", "available"]),
    );
    expect(countOf("A")).toBe(asked);
    expect(at(0).logs()).toMatch(/Redis is away/);
    expect(at(0).logs()).toMatch(/Redis is back/);
  }, 60_000);

  it("a gateway starts and serves, says that it is alone, and shares as soon as Redis is there", async () => {
    await startGateways(1, [1, 1]);
    await at(0).stop();
    await redis.kill();

    const start = performance.now();
    await at(0).restart();
    const startMs = performance.now() - start;
    const answers = await inRows(4, 1, () => ask(at(0)));
    const ready = await fetch(`${at(0).url}/readyz`);
    const status = await at(0).api<SharedStatus>("GET", "/status");
    const metrics = await (await fetch(`${at(0).url}/metrics`)).text();
    await redis.restart();
    await shares(at(0));

    expect(startMs).toBeLessThan(8_000);
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200]);
    expect([ready.status, await ready.json()]).toMatchObject([
      200,
      { status: "ready", detail: expect.stringContaining("Redis is away") },
    ]);
    expect(status.shared_state).toMatchObject({ kind: "redis", ok: false });
    expect(metrics).toContain("keywheel_shared_state_ok 0");
  }, 60_000);
});
