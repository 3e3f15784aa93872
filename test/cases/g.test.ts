import { DatabaseSync } from "node:sqlite";
import { openAiError, type Reply, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { eventually, poolOf, type PooledProvider, sharesOf, storedRestMs } from "../pooled-provider.ts";
import { healthOf, restMsOf } from "./observed.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const short = { cooldown: { base_ms: 100, cap_ms: 60_000 } };
const limitInStream = reply.sse([{ data: { error: { code: 429, message: "Slow down" } } }]);
const limitInBody = reply.json(200, {}, { error: { code: 429, message: "Slow down" } });
const limitAfterContent = reply.sse([
  { data: { choices: [{ index: 0, delta: { content: "Hi" } }] } },
  { data: { error: { code: 429, message: "Slow down" } } },
]);

async function statusesOf(pending: readonly Promise<Response>[]): Promise<number[]> {
  const responses = await Promise.all(pending);
  await Promise.all(responses.map((response) => response.arrayBuffer()));
  return responses.map((response) => response.status);
}

function crowd(pool: PooledProvider, count: number): Promise<Response>[] {
  return Array.from({ length: count }, () => pool.send());
}

/** A key that failed once and whose rest has just ended. */
async function justBack(pool: PooledProvider): Promise<void> {
  pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
  await pool.turns(1);
  await pool.becomes("A", "available");
  pool.provider.forget();
}

describe("G. counters, races, rotation", () => {
  it("case 70: after 99 or 5,000 failures in a row the rest is 900 s, whatever the next one looks like", async () => {
    await using own = await runGateway();
    const ways: Reply[] = [
      reply.status(429),
      reply.status(429, { "retry-after": "2592000" }),
      reply.status(529),
      limitInStream,
      limitAfterContent,
      limitInBody,
    ];
    const counts = [99, 5_000];
    const pools = await Promise.all(counts.flatMap(() => ways).map(() => poolOf(own, { weights: [1] })));
    for (const [at, pool] of pools.entries()) {
      pool.provider.on().next(reply.status(429), ways[at % ways.length] ?? reply.hang());
      await pool.turns(1);
    }
    await own.stop();
    // What weeks of failures would leave behind.
    const database = new DatabaseSync(own.databaseFile);
    const fail = database.prepare("update key_healths set failures = ?, cool_until = cooled_at where key_id = ?");
    const countOf = (at: number): number => counts[Math.floor(at / ways.length)] ?? 0;
    for (const [at, pool] of pools.entries()) fail.run(countOf(at), pool.keys[0]?.id ?? "");
    database.close();
    await own.restart();

    const rests: unknown[] = [];
    for (const pool of pools) {
      await (await pool.send({ stream: true })).text();
      const key = await pool.becomes("A", "cooling_down");
      rests.push([key.consecutive_failures, restMsOf(key)]);
      await pool[Symbol.asyncDispose]();
    }

    expect(rests).toEqual(pools.map((_, at) => [countOf(at) + 1, 900_000]));
  });

  it("case 71: 429, 200, 429: the second rest is the first step again", async () => {
    await using pool = await poolOf(gateway, { weights: [1], settings: short });
    await justBack(pool);
    await pool.turns(3);
    pool.provider.on().next(reply.status(429));

    await pool.turns(1);

    expect([storedRestMs(gateway, pool.keys[0]?.id ?? ""), (await pool.key("A")).consecutive_failures]).toEqual([
      100, 1,
    ]);
  });

  it("case 71: without a success in between the second rest is the second step", async () => {
    await using pool = await poolOf(gateway, { weights: [1], settings: short });
    await justBack(pool);
    pool.provider.on().next(reply.status(400), reply.status(500), reply.status(429));

    await pool.turns(3);

    expect([storedRestMs(gateway, pool.keys[0]?.id ?? ""), (await pool.key("A")).consecutive_failures]).toEqual([
      200, 2,
    ]);
  });

  it("case 71: a stream is a success when it has ended well, not when it begins", async () => {
    await using pool = await poolOf(gateway, { weights: [1], settings: short });
    await justBack(pool);
    const live = reply.live();
    pool.provider.on().next(live);
    const pending = pool.send({ stream: true });
    await live.send({ data: { choices: [{ index: 0, delta: { content: "Hi" } }] } });
    const response = await pending;
    const during = (await pool.key("A")).consecutive_failures;
    await live.send({ data: { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] } });
    await live.send({ data: "[DONE]" });
    await live.end();
    await response.text();

    const after = await eventually(
      () => pool.key("A"),
      (key) => key.consecutive_failures === 0,
      { what: "the success to count" },
    );

    expect([during, after.consecutive_failures]).toEqual([1, 0]);
  });

  it("case 71: a success of a request that set out before the failure does not reset the count", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const gate = Promise.withResolvers<void>();
    pool.provider.on().next(reply.after(gate.promise, reply.json(200, {}, {})), reply.status(429));
    const early = pool.send();
    await pool.provider.arrived(1);
    await pool.turns(1);

    gate.resolve();
    const late = await early;
    await late.arrayBuffer();

    expect([late.status, ...(await healthOf(gateway, pool))]).toEqual([200, "cooling_down 1"]);
  });

  it("case 73: with A out of 3, 2, 1, three hundred requests go 2:1 to B and C, not to A's neighbour", async () => {
    await using pool = await poolOf(gateway, { weights: [3, 2, 1] });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await pool.turns(1);
    pool.provider.forget();

    await statusesOf(crowd(pool, 300));

    const { A: a = 0, B: b = 0, C: c = 0 } = pool.provider.counts();
    expect([a, b + c]).toEqual([0, 300]);
    expect(Math.abs(b - 200)).toBeLessThanOrEqual(1);
  });

  it("case 73: six hundred parallel requests go 300, 200, 100", async () => {
    await using pool = await poolOf(gateway, { weights: [3, 2, 1] });

    await statusesOf(crowd(pool, 600));

    expect(pool.provider.counts()).toEqual({ A: 300, B: 200, C: 100 });
  });

  it.each<[string, (pool: PooledProvider) => Promise<unknown>, string]>([
    ["leaves", (pool) => gateway.api("DELETE", `/keys/${pool.keys[2]?.id}`), "AABBAAABBAAA"],
    ["is disabled", (pool) => gateway.api("PATCH", `/keys/${pool.keys[2]?.id}`, { enabled: false }), "AABBAAABBAAA"],
    [
      "joins",
      async (pool) => {
        const added = "sk-test-joins-0123456789abcdef";
        pool.provider.accept(added);
        await gateway.addKeys(pool.record, [added]);
      },
      "AABBC?AAABBC",
    ],
    ["is renamed", (pool) => gateway.api("PATCH", `/keys/${pool.keys[2]?.id}`, { label: "other" }), "AABBCAAABBCA"],
  ])("case 73: the wheel of 3, 2, 1 goes on from where it stood when a key %s", async (_, act, rest) => {
    await using pool = await poolOf(gateway, { weights: [3, 2, 1] });
    await pool.turns(1);

    await act(pool);

    expect(await pool.turns(12)).toBe(rest);
  });

  const wrongWeights = [0, -1, 1.5, 101, 1e9, "3", "", null, true, [], {}];
  it.each(wrongWeights)(
    "case 74: a weight of %j is refused at every door, and nothing is changed by it",
    async (weight) => {
      await using pool = await poolOf(gateway, { weights: [2, 1] });
      const bodies: [string, string, object][] = [
        ["POST", `/providers/${pool.record.id}/keys`, { api_key: "sk-test-weighed-0123456789abcdef", weight }],
        ["PATCH", `/keys/${pool.keys[0]?.id}`, { weight }],
      ];

      const statuses: number[] = [];
      for (const [method, path, body] of bodies) {
        const response = await gateway.apiResponse(method, path, body);
        statuses.push(response.status);
        expect(await response.json()).toMatchObject({ errors: [{ path: "weight" }] });
      }

      expect(statuses).toEqual([422, 422]);
      expect((await gateway.keys(pool.record)).map((key) => key.weight)).toEqual([2, 1]);
      expect(await pool.turns(6)).toBe("AABAAB");
    },
  );

  it("case 74: a list of keys with wrong weights adds those that are right and says what is wrong with the rest", async () => {
    await using pool = await poolOf(gateway, { weights: [] });
    const lines = ["0", "-1", "1.5", "101", "100", "1"].map(
      (weight, at) => `sk-test-line-${at}-0123456789abcdef,,${weight}`,
    );

    const { added, skipped } = await gateway.api<{
      added: { weight: number }[];
      skipped: { line: number; code: string }[];
    }>("POST", `/providers/${pool.record.id}/keys/import`, { text: lines.join("\n") });

    expect(added.map((key) => key.weight)).toEqual([100, 1]);
    expect(skipped.map(({ line, code }) => [line, code])).toEqual([1, 2, 3, 4].map((line) => [line, "refused"]));
  });

  it("case 75: of fifty requests that rush a key that has just come back, one meets its limit", async () => {
    await using pool = await poolOf(gateway, { weights: [1], settings: short });
    await justBack(pool);
    pool.provider.on().always(reply.slowHeaders(50, reply.status(429)));

    const statuses = await statusesOf(crowd(pool, 50));

    expect(new Set(statuses)).toEqual(new Set([429]));
    expect(pool.provider.requests.length).toBeLessThanOrEqual(3);
    expect((await pool.key("A")).consecutive_failures).toBe(2);
  });

  it("case 75: when the one that is sent ahead is served, the others are too, and nobody is told to wait", async () => {
    await using pool = await poolOf(gateway, { weights: [1], settings: short });
    await justBack(pool);
    const gate = Promise.withResolvers<void>();
    pool.provider.on().next(reply.after(gate.promise, reply.json(200, {}, {})));
    const rush = crowd(pool, 50);
    await pool.provider.arrived(1);

    gate.resolve();
    const statuses = await statusesOf(rush);

    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(pool.provider.requests).toHaveLength(50);
    expect(await healthOf(gateway, pool)).toEqual(["available 0"]);
  });

  it("case 75: among keys that are well the one that came back takes its own share, and no rush", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1], settings: short });
    await justBack(pool);
    pool.provider.forKey(pool.valueOf("A")).always(reply.status(429));

    const statuses = await statusesOf(crowd(pool, 60));

    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(pool.provider.counts().A).toBeLessThanOrEqual(2);
    expect(pool.provider.requests.length - (pool.provider.counts().A ?? 0)).toBe(60);
    expect((await pool.key("A")).consecutive_failures).toBeLessThanOrEqual(3);
  });

  it("case 76: while the body of a refusal is still on its way nobody gets the key", async () => {
    await using pool = await poolOf(gateway);
    const slow = reply.live({ status: 429, headers: { "content-type": "application/json" } });
    pool.provider.forKey(pool.valueOf("A")).next(slow);
    const first = pool.send();
    await slow.started;

    const meanwhile = await statusesOf(crowd(pool, 5));
    const picks = pool.provider.picks();
    await slow.send(Buffer.from("{}"));
    await slow.end();

    expect([meanwhile, picks, (await first).status]).toEqual([[200, 200, 200, 200, 200], "ABBBBB", 200]);
  });

  const ofModel = (model: string) => ({ body: { model, messages: [{ role: "user", content: "Hi" }] } });
  const modelLimit = openAiError(429, {
    message: "Rate limit reached for gpt-x in organization org-test on requests per min.",
    type: "requests",
    code: "rate_limit_exceeded",
  });

  it("case 77: where cooldowns are a model's, a limit on one leaves the key to the others", async () => {
    await using pool = await poolOf(gateway, { settings: { cooldown: { scope: "model" } } });
    pool.provider.forKey(pool.valueOf("A")).next(modelLimit);

    const limited = await pool.turns(3, ofModel("gpt-x"));
    const others = await pool.turns(4, ofModel("gpt-y"));

    expect([limited, sharesOf(others)]).toEqual(["ABBB", "AABB"]);
    expect((await pool.key("A")).enabled).toBe(true);
  });

  it("case 77: where cooldowns are a model's, an empty purse is the whole key's all the same", async () => {
    await using pool = await poolOf(gateway, { settings: { cooldown: { scope: "model" } } });
    const empty = openAiError(429, { message: "No.", type: "insufficient_quota", code: "insufficient_quota" });
    pool.provider.forKey(pool.valueOf("A")).next(empty);

    const turns = (await pool.turns(1, ofModel("gpt-x"))) + (await pool.turns(3, ofModel("gpt-y")));

    expect([turns, (await pool.key("A")).status]).toEqual(["ABBBB", "cooling_down"]);
  });

  it("case 77: by default a model's limit rests the whole key", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(modelLimit);

    const turns = (await pool.turns(1, ofModel("gpt-x"))) + (await pool.turns(3, ofModel("gpt-y")));

    expect([turns, (await pool.key("A")).status]).toEqual(["ABBBB", "cooling_down"]);
  });
});
