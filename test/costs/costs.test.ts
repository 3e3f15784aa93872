import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { reply, runGateway, type RunningGateway, runRedis, type RunningRedis } from "@keywheel/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { toBlocks } from "../../packages/gateway/src/requests/request-blocks.ts";
import { openStore } from "../../packages/gateway/src/store/open-store.ts";
import type { OpenedStore, UsageSum } from "../../packages/gateway/src/store/store.ts";
import { type PostgresServer, startPostgres } from "../../packages/testkit/src/postgres.ts";
import { inRows } from "../in-rows.ts";
import { eventually, fakeKey, type PooledProvider, poolOf } from "../pooled-provider.ts";
import { memoryMibOf, PostgresMeter, privateMibOf, processorMsOf, RedisMeter } from "./meters.ts";

// What each kind of work costs, as processor time rather than as speed: the machine that runs this is busy with clients and
// providers as well. A short look with every test run; `npm run costs -- --requests 5000` for figures to reckon with.
const count = Number(process.env["KEYWHEEL_COSTS_REQUESTS"] ?? 100);
const atOnce = 16;
/** Until everything has been written down and told. */
const settleMs = 1_200;
const idleMs = Math.max(1_000, Math.min(10_000, count * 4));
const masterKey = Buffer.alloc(32, 5).toString("base64");

let postgres: PostgresServer;
let redis: RunningRedis;
let databaseUrl: string;
let one: RunningGateway;
/** Does nothing but hear of what the first one does. */
let other: RunningGateway;
let meters: { readonly postgres: PostgresMeter; readonly redis: RedisMeter };

beforeAll(async () => {
  [postgres, redis] = await Promise.all([startPostgres({ isDurable: true }), runRedis()]);
  databaseUrl = await postgres.createDatabase();
  const env = {
    KEYWHEEL_DATABASE_URL: databaseUrl,
    KEYWHEEL_REDIS_URL: redis.url,
    KEYWHEEL_MASTER_KEY: masterKey,
    KEYWHEEL_LOG_LEVEL: "error",
  };
  [one, other] = [await runGateway({ env }), await runGateway({ env })];
  meters = { postgres: await PostgresMeter.of(databaseUrl), redis: new RedisMeter(redis.port) };
});
afterAll(async () => {
  await Promise.all([one, other].map((gateway) => gateway[Symbol.asyncDispose]()));
  await Promise.all([redis.dispose(), postgres[Symbol.asyncDispose]()]);
});

/** Processor time in ms, traffic in bytes. */
interface Costs {
  readonly gateway: number;
  readonly otherGateway: number;
  readonly redis: number;
  readonly redisSent: number;
  readonly postgres: number;
  readonly wal: number;
}

async function read(): Promise<Costs> {
  const wal = await meters.postgres.walBytes();
  const [redisMs, redisSent] = [await meters.redis.processorMs(), await meters.redis.sentBytes()];
  return {
    gateway: processorMsOf(one.pid),
    otherGateway: other.isRunning ? processorMsOf(other.pid) : 0,
    redis: redisMs,
    redisSent,
    postgres: meters.postgres.processorMs(),
    wal,
  };
}

/** @returns what was used meanwhile, and in how long, ms */
async function during(work: () => Promise<unknown>): Promise<{ used: Costs; tookMs: number }> {
  const before = await read();
  const begun = performance.now();
  await work();
  await sleep(settleMs);
  const tookMs = performance.now() - begun;
  const after = await read();
  const used = Object.fromEntries(
    Object.entries(after).map(([name, figure]: [string, number]) => [name, figure - before[name as keyof Costs]]),
  );
  return { used: used as unknown as Costs, tookMs };
}

/** For each of so many, µs and bytes: what was used beyond what an idle installation uses in the same time. */
function perEach({ used, tookMs }: { used: Costs; tookMs: number }, idlePerMs: Costs, each: number): Costs {
  const parts = Object.entries(used).map(([name, figure]: [string, number]) => {
    const own = Math.max(0, figure - idlePerMs[name as keyof Costs] * tookMs);
    const unit = name === "wal" || name === "redisSent" ? 1 : 1000;
    return [name, Math.round((own / each) * unit)];
  });
  return Object.fromEntries(parts) as Costs;
}

async function idle(): Promise<Costs> {
  const { used, tookMs } = await during(() => sleep(idleMs));
  return Object.fromEntries(
    Object.entries(used).map(([name, figure]: [string, number]) => [name, figure / tookMs]),
  ) as unknown as Costs;
}

const figures: Record<string, unknown> = {};
afterAll(() => void process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`));

async function isKnown({ record, keys }: PooledProvider): Promise<void> {
  await eventually(
    async () => (await other.apiResponse("GET", `/providers/${record.id}/keys`)).text(),
    (text) => keys.every(({ id }) => text.includes(id)),
    { what: "the pool to be known to the other gateway" },
  );
}

const user = (content: string) => ({ role: "user", content });
const long = "What is to be said takes a few words more than this. ".repeat(40);

it("of requests of each kind, at gateways, Redis and PostgreSQL", async () => {
  await using pool = await poolOf(one, { weights: Array.from({ length: 100 }, () => 1) });
  await isKnown(pool);
  const chat = { model: "gpt-test", messages: [user(long)] };
  const ask = async (init: Parameters<PooledProvider["send"]>[0]): Promise<void> => {
    const response = await pool.send(init);
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${response.status}`);
  };
  const run = (send: (number: number) => Promise<void>) => async (): Promise<void> => {
    await inRows(count, atOnce, send);
    pool.provider.forget();
  };
  const kinds: Record<string, (number: number) => Promise<void>> = {
    "a turn": () => ask({ path: "/v1/embeddings", body: { model: "embedding-test", input: long } }),
    "a new session": (number) => ask({ body: chat, session: `new-${number}` }),
    "a bound session": (number) => ask({ body: chat, session: `bound-${number % 50}` }),
    "a chat's first turn": (number) => ask({ body: { ...chat, messages: [user(`${number} ${long}`)] } }),
    "a chat's next turn": (number) =>
      ask({
        body: {
          ...chat,
          messages: [user(`${number} ${long}`), { role: "assistant", content: `${number}` }, user("And then?")],
        },
      }),
    "a stream of 50 pieces": (number) =>
      ask({ body: { ...chat, stream: true, messages: [user("piece ".repeat(50))] }, session: `bound-${number % 50}` }),
  };
  await run((number) => ask({ body: chat, session: `bound-${number % 50}` }))();
  const idlePerMs = await idle();

  const perRequest: Record<string, Costs> = {};
  for (const [name, send] of Object.entries(kinds))
    perRequest[name] = perEach(await during(run(send)), idlePerMs, count);
  figures["per request, µs and bytes"] = perRequest;
  figures["two idle gateways, one pool, per second, ms and bytes"] = rounded(idlePerMs, 1000);

  const [bound, fresh] = [perRequest["a bound session"], perRequest["a new session"]];
  expect(bound?.gateway).toBeGreaterThan(0);
  // What needs no turn is not asked for. Of processor time so few requests tell nothing.
  expect(bound?.redisSent).toBeLessThan((fresh?.redisSent ?? 0) / 2);
}, 600_000);

function rounded(costs: Costs, times: number): object {
  return Object.fromEntries(
    Object.entries(costs).map(([name, figure]: [string, number]) => [name, Math.round(figure * times * 100) / 100]),
  );
}

it("of a refusal that moves a request to the next key", async () => {
  await using pool = await poolOf(one, {
    weights: Array.from({ length: 50 }, () => 1),
    settings: { cooldown: { base_ms: 100, cap_ms: 100 } },
  });
  await isKnown(pool);
  const idlePerMs = await idle();
  const refusals = Math.min(count, 1_000);
  let asked = 0;
  pool.provider
    .on()
    .always(
      reply.by((request) =>
        request.path.includes("embeddings") && asked++ % 2 === 0
          ? reply.status(429)
          : reply.json(200, {}, { object: "list", data: [], model: "embedding-test" }),
      ),
    );
  const work = (): Promise<unknown> =>
    inRows(refusals, 1, async () => {
      const body = { model: "embedding-test", input: long };
      await (await pool.send({ path: "/v1/embeddings", body })).arrayBuffer();
    });

  const costs = perEach(await during(work), idlePerMs, refusals);
  figures["a refusal, µs and bytes"] = costs;

  expect(costs.redis).toBeGreaterThan(0);
  expect(costs.otherGateway).toBeGreaterThanOrEqual(0);
}, 600_000);

it("of telling many gateways of something", async () => {
  const messages = count * 5;
  const measure = async (listeners: number): Promise<{ redis: number; sent: number }> => {
    const before = [await meters.redis.processorMs(), await meters.redis.sentBytes()] as const;
    const heard = await meters.redis.tell({ messages, listeners, text: "x".repeat(160) });
    const after = [await meters.redis.processorMs(), await meters.redis.sentBytes()] as const;
    expect(heard).toBe(messages * listeners);
    return { redis: ((after[0] - before[0]) * 1000) / messages, sent: (after[1] - before[1]) / messages };
  };

  const few = await measure(1);
  const many = await measure(101);
  const costs = { redis: (many.redis - few.redis) / 100, redisSent: (many.sent - few.sent) / 100 };
  figures["for each listener more, µs and bytes"] = costs;

  expect(costs.redis).toBeGreaterThan(0);
  expect(costs.redisSent).toBeGreaterThan(160);
}, 600_000);

it("of pools that nobody asks, and of what each gateway holds", async () => {
  const before = await idle();
  const more = 20;
  const pools: PooledProvider[] = [];
  for (let number = 0; number < more; number++) pools.push(await poolOf(one, { weights: [1, 1] }));
  await isKnown(pools.at(-1) as PooledProvider);
  await sleep(settleMs);
  const after = await idle();
  for (const pool of pools) await pool[Symbol.asyncDispose]();

  const pids = await meters.postgres.connections();
  const gateways = 2;
  figures["a pool for each gateway, per second, µs"] = {
    redis: Math.round(((after.redis - before.redis) * 1e6) / more / gateways),
    gateway: Math.round(((after.gateway - before.gateway) * 1e6) / more),
  };
  figures["an idle gateway"] = {
    memoryMib: Math.round(memoryMibOf(other.pid)),
    memoryMibAfterLoad: Math.round(memoryMibOf(one.pid)),
    redisConnections: (await meters.redis.connections()) / gateways,
    postgresConnections: pids.length / gateways,
    postgresConnectionMib: Math.round((pids.reduce((sum, pid) => sum + privateMibOf(pid), 0) / pids.length) * 10) / 10,
  };

  expect(await meters.redis.connections()).toBe(gateways * 2);
  expect(pids.length).toBeLessThanOrEqual(gateways * 4);
}, 600_000);

it("of a change of the configuration, for the one who makes it and for each that follows", async () => {
  await using pool = await poolOf(one, { weights: [1] });
  const text = Array.from({ length: 1_000 }, (_, number) => fakeKey(9_000_000 + number, 0)).join("\n");
  await one.api("POST", `/providers/${pool.record.id}/keys/import`, { text });
  await sleep(settleMs);
  const idlePerMs = await idle();
  const changes = Math.min(count, 50);
  const work = async (): Promise<void> => {
    for (let number = 0; number < changes; number++) {
      await one.api("PATCH", `/keys/${pool.keys[0]?.id}`, { weight: 2 + (number % 50) });
      await sleep(100);
    }
  };

  figures["a change with 1,000 keys and two gateways, µs and bytes"] = perEach(await during(work), idlePerMs, changes);
  const [opened] = await openStores(1);
  if (opened === undefined) throw new Error("no store");
  const loads = Math.min(count, 20);
  const tookMs = await timed(() => inRows(loads, 1, () => opened.store.load()));
  const { keys } = await opened.store.load();
  await opened.close();
  figures["a load of 1,000 keys, ms"] = Math.round((tookMs / loads) * 10) / 10;

  expect(keys.length).toBeGreaterThan(1_000);
}, 600_000);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** As so many gateways would have them. */
async function openStores(many: number): Promise<{ readonly store: OpenedStore; close(): Promise<void> }[]> {
  const opened: { readonly store: OpenedStore; close(): Promise<void> }[] = [];
  for (let number = 0; number < many; number++) {
    const folder = mkdtempSync(join(tmpdir(), "keywheel-costs-"));
    const store = await openStore({ dataDir: join(folder, "data"), databaseUrl, masterKey });
    opened.push({
      store,
      close: async () => {
        await store.close();
        rmSync(folder, { recursive: true, force: true });
      },
    });
  }
  return opened;
}

it("of writing down what many gateways served, all adding to the same sums", async () => {
  const wholeMs = Math.max(1_000, Math.min(5_000, count * 2));
  const outcome: Record<string, object> = {};
  for (const [many, size] of [
    [1, 50],
    [16, 50],
    [1, 1],
    [16, 1],
  ] as const) {
    const stores = await openStores(many);
    const [walBefore, msBefore] = [await meters.postgres.walBytes(), meters.postgres.processorMs()];
    const begun = performance.now();
    let batches = 0;
    await Promise.all(
      stores.map(async ({ store }, lane) => {
        for (let number = 0; performance.now() - begun < wholeMs; number++) {
          await store.saveActivity(batchOf(size, `${size}-${many}-${lane}-${number}`, lane));
          batches++;
        }
      }),
    );
    const tookMs = performance.now() - begun;
    const ms = meters.postgres.processorMs() - msBefore;
    const wal = (await meters.postgres.walBytes()) - walBefore;
    for (const opened of stores) await opened.close();
    outcome[`${many} gateways, batches of ${size}`] = {
      batchesPerSecond: Math.round((batches / tookMs) * 1000),
      postgresMicrosecondsPerBatch: Math.round((ms * 1000) / batches),
      walBytesPerBatch: Math.round(wal / batches),
    };
    expect(batches).toBeGreaterThan(0);
  }
  figures["batches written as fast as can be"] = outcome;
}, 600_000);

it("of a gateway that nobody asks", async () => {
  const both = await idle();
  await other.stop();
  const alone = await idle();
  figures["an idle gateway, per second, µs"] = {
    redis: Math.round((both.redis - alone.redis) * 1e6),
    postgres: Math.round((both.postgres - alone.postgres) * 1e6),
    gateway: Math.round(both.otherGateway * 1e6),
  };

  // Of a core; the system counts in hundredths of a second, and may have counted none.
  expect(both.otherGateway).toBeLessThan(0.05);
}, 600_000);

let lastSeq = 1;

function batchOf(requests: number, mark: string, lane: number) {
  const place = { providerId: "prv_costs", keyId: "key_costs", tokenId: "", model: "gpt-test", label: "" };
  const counts = {
    requests,
    errors: 0,
    failovers: 0,
    inputTokens: 500,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 100,
    reasoningTokens: 0,
  };
  const usage: UsageSum[] = [
    { span: "hour", at: 0, ...place, ...counts },
    { span: "detail", at: 0, ...place, ...counts },
    { span: "minute", at: 0, ...place, keyId: "", model: "", ...counts },
  ];
  return {
    requests: toBlocks(
      Array.from({ length: requests }, (_, number) => ({
        seq: lastSeq++,
        id: `req_${mark}_${number}`,
        providerId: place.providerId,
        keyId: place.keyId,
        otherKeyIds: [],
        sessionId: `costs-${lane}`,
        status: 200,
        failed: false,
        startedAt: 1,
        detail: JSON.stringify({ filler: "x".repeat(600) }),
      })),
    ),
    usage,
    totals: [{ keyId: place.keyId, requests, successes: requests, failures: 0, lastUsedAt: 1 }],
  };
}
