import { reply, runGateway, type RunningGateway, runRedis, type RunningRedis } from "@keywheel/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, queryPostgres } from "../../packages/testkit/src/postgres.ts";
import { inRows } from "../in-rows.ts";
import { eventually, type PooledProvider, poolOf } from "../pooled-provider.ts";

// Three gateways on one PostgreSQL and one Redis, as behind a balancer: one configuration, one wheel.

let redis: RunningRedis;
let databaseUrl: string;
let gateways: RunningGateway[];
beforeAll(async () => {
  [redis, databaseUrl] = await Promise.all([runRedis(), createTestDatabase()]);
  const env = {
    KEYWHEEL_DATABASE_URL: databaseUrl,
    KEYWHEEL_REDIS_URL: redis.url,
    KEYWHEEL_MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
  };
  gateways = await Promise.all([1, 2, 3].map(() => runGateway({ env })));
});
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway[Symbol.asyncDispose]()));
  await redis.dispose();
});

const at = (index: number): RunningGateway => gateways[index % gateways.length] as RunningGateway;

/** A plain request to one of the gateways. @returns its status, and the key that served it */
async function ask(gateway: RunningGateway, { record }: PooledProvider, session?: string): Promise<string> {
  const response = await fetch(`${gateway.baseUrlOf(record)}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(session === undefined ? {} : { "x-keywheel-session": session }),
    },
    body: JSON.stringify({ model: "gpt-test", messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.arrayBuffer();
  return `${response.status} ${response.headers.get("x-keywheel-key")}`;
}

/** Waits until every gateway knows the pool as the first one made it. */
async function isKnown({ record, keys }: PooledProvider): Promise<void> {
  for (const gateway of gateways) {
    await eventually(
      async () => (await gateway.apiResponse("GET", `/providers/${record.id}/keys`)).text(),
      (text) => keys.every(({ id }) => text.includes(id)),
      { what: "the pool to be known everywhere" },
    );
  }
}

it("serves by weight as one gateway would, with exact totals", async () => {
  await using pool = await poolOf(at(0), { weights: [3, 2, 1] });
  await isKnown(pool);

  const answers = await inRows(6_000, 24, (index) => ask(at(index), pool));

  expect(answers.filter((answer) => !answer.startsWith("200 "))).toEqual([]);
  expect(pool.provider.counts()).toEqual({ A: 3_000, B: 2_000, C: 1_000 });
}, 120_000);

it("keeps each session on one key, whichever gateway it reaches first", async () => {
  await using pool = await poolOf(at(0), { weights: [1, 1, 1] });
  await isKnown(pool);

  const raced = await inRows(1_000, 8, (index) =>
    Promise.all(gateways.map((gateway) => ask(gateway, pool, `raced-${index}`))),
  );

  expect(raced.filter((answers) => new Set(answers).size !== 1)).toEqual([]);
  expect(raced.filter(([answer]) => !answer?.startsWith("200 "))).toEqual([]);
}, 60_000);

it("disables a refused key everywhere, and in the database, before the request goes on", async () => {
  await using pool = await poolOf(at(0), { weights: [1, 1] });
  await isKnown(pool);
  const [refused] = pool.keys;
  pool.provider.on({ key: pool.values[0] ?? "" }).always(reply.status(401));

  const answers = await inRows(6, 1, () => ask(at(1), pool));

  expect(answers.filter((answer) => answer !== `200 ${pool.keys[1]?.id}`)).toEqual([]);
  const rows = await queryPostgres(databaseUrl, "select enabled from keys where id = $1", [refused?.id]);
  expect(rows).toEqual([{ enabled: 0 }]);
  for (const gateway of gateways) {
    await eventually(
      () => gateway.key(refused?.id ?? ""),
      ({ status }) => status === "disabled",
      {
        what: "the key to be disabled everywhere",
        timeoutMs: 2_000,
      },
    );
  }
  expect(pool.provider.counts()["A"]).toBe(1);
}, 30_000);
