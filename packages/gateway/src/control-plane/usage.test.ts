import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RequestRecord } from "../data-plane/request-record.ts";
import { type ControlBench, openControlBench } from "./control-plane.test-bench.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
let bench: ControlBench;
let provider: string;
beforeAll(async () => {
  bench = await openControlBench();
});
beforeEach(async () => {
  // Sums stay when their provider goes: each test has one of its own.
  await bench.clean();
  provider = await bench.addProvider({ slug: "used" });
});
afterAll(() => bench.close());

const usage = { inputTokens: 10, cacheReadTokens: 4, cacheWriteTokens: 3, outputTokens: 2, reasoningTokens: 1 };
const counts = {
  requests: 1,
  errors: 0,
  failovers: 0,
  input_tokens: 10,
  cache_read_tokens: 4,
  cache_write_tokens: 3,
  output_tokens: 2,
  reasoning_tokens: 1,
};
const nothing = Object.fromEntries(Object.keys(counts).map((name) => [name, 0]));

function record(keyId: string, parts: Partial<RequestRecord> = {}): void {
  const startedAt = bench.clock.now();
  bench.activity.record({
    requestId: "req",
    providerId: provider,
    slug: "used",
    method: "POST",
    path: "/v1/x",
    startedAt,
    durationMs: 1,
    status: 200,
    keyId,
    attempts: [{ keyId, why: "turn", passedOver: [], startedAt, durationMs: 1, status: 200, outcome: "succeeded" }],
    ending: "completed",
    requestBytes: 1,
    usage,
    ...parts,
  });
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
async function read(query = ""): Promise<any> {
  const { status, body } = await bench.call("GET", `/api/usage?provider=${provider}&${query}`);
  expect(status).toBe(200);
  return body;
}

describe("GET /api/usage", () => {
  it("sums up the last day by hour unless it is asked for something else", async () => {
    const now = bench.clock.now();
    record("key_a");
    record("key_b");
    bench.clock.advance(hourMs);
    record("key_a");

    const body = await read();

    const hour = (at: number): string => new Date(at - (at % hourMs)).toISOString();
    expect(body).toEqual({
      from: hour(now + hourMs + 1 - dayMs),
      to: new Date(now + hourMs + 1).toISOString(),
      by: ["hour"],
      data: [
        { at: hour(now), ...counts, requests: 2, ...tokens(2) },
        { at: hour(now + hourMs), ...counts },
      ],
      total: { ...counts, requests: 3, ...tokens(3) },
    });
  });

  it("tells apart what is asked for, and goes on over a restart", async () => {
    const key = await bench.addKey(provider, { label: "team-a" });
    const token = (await bench.catalog.tokens.add("laptop")).record.id;
    record(key.id, { model: "gpt", tokenId: token });
    for (const again of [false, true]) {
      if (again) {
        await bench.restart();
        record(key.id, { model: "gpt", tokenId: token });
      }

      const times = again ? 2 : 1;
      expect((await read("by=day,provider,key,token,model")).data).toEqual([
        {
          at: new Date(bench.clock.now() - (bench.clock.now() % dayMs)).toISOString(),
          provider_id: provider,
          provider: "used",
          key_id: key.id,
          label: "team-a",
          api_key: key.api_key,
          token_id: token,
          token_name: "laptop",
          model: "gpt",
          ...counts,
          requests: times,
          ...tokens(times),
        },
      ]);
    }
  });

  it("keeps what was used when the key and the provider go", async () => {
    const key = await bench.addKey(provider, { label: "kept" });
    record(key.id);
    await read();
    await bench.catalog.keys.remove(key.id);

    expect((await read("by=key")).data).toEqual([{ key_id: key.id, label: "kept", api_key: null, ...counts }]);
    await bench.catalog.providers.remove(provider);
    expect((await read("by=label")).data).toEqual([{ label: "kept", ...counts }]);
    expect((await read("by=provider")).data).toMatchObject([{ provider_id: provider, provider: null }]);
  });

  it("counts a failover with the key that was left, and the tokens with the one that served", async () => {
    const startedAt = bench.clock.now();
    const attempt = { why: "turn", passedOver: [], startedAt, durationMs: 1 } as const;
    const refused = { ...attempt, keyId: "key_a", status: 429, outcome: "rate_limited" };
    record("key_b", {
      attempts: [refused, { ...attempt, keyId: "key_b", status: 200, outcome: "succeeded" }],
    });
    const { keyId: _, usage: __, ...served } = { keyId: "", usage };
    bench.activity.record({
      ...served,
      requestId: "req",
      providerId: provider,
      slug: "used",
      method: "POST",
      path: "/",
      startedAt,
      durationMs: 1,
      status: 429,
      error: "pool_exhausted",
      attempts: [refused],
      ending: "completed",
      requestBytes: 1,
    });

    const { data, total } = await read("by=key");

    expect(data).toEqual([
      { key_id: null, label: "", api_key: null, ...nothing, requests: 1, errors: 1 },
      { key_id: "key_a", label: "", api_key: null, ...nothing, failovers: 2 },
      { key_id: "key_b", label: "", api_key: null, ...counts },
    ]);
    expect(total).toEqual({ ...counts, requests: 2, errors: 1, failovers: 2 });
    expect((await read("by=minute")).data).toMatchObject([{ requests: 2, errors: 1, failovers: 2 }]);
  });

  it("counts what was cut or refused as an error, and who left as none", async () => {
    record("key_a", { status: 500 });
    record("key_a", { ending: "truncated" });
    record("key_a", { ending: "gone", status: 0 });

    expect((await read()).total).toMatchObject({ requests: 3, errors: 2 });
  });

  it("tells minutes apart for the last hour", async () => {
    record("key_a");
    bench.clock.advance(60_000);
    record("key_a");

    const { data, from, to } = await read("by=minute,provider");

    expect(data).toMatchObject([{ requests: 1 }, { requests: 1 }]);
    expect(Date.parse(data[1].at) - Date.parse(data[0].at)).toBe(60_000);
    expect(Date.parse(to) - Date.parse(from)).toBeLessThan(hourMs + 60_000);
  });

  it("tells keys, tokens and models apart by minute, too, for three hours", async () => {
    const minute = bench.clock.now() - (bench.clock.now() % 60_000);
    record("key_a", { model: "gpt" });
    record("key_b", { model: "gpt" });
    bench.clock.advance(60_000);
    record("key_a", { model: "other-one" });

    expect((await read("by=minute,key,model")).data).toMatchObject([
      { at: new Date(minute).toISOString(), key_id: "key_a", model: "gpt", requests: 1, input_tokens: 10 },
      { at: new Date(minute).toISOString(), key_id: "key_b", model: "gpt", requests: 1 },
      { at: new Date(minute + 60_000).toISOString(), key_id: "key_a", model: "other-one", requests: 1 },
    ]);
    expect((await read("by=minute&key=key_b")).total.requests).toBe(1);
    bench.clock.advance(3 * hourMs + 1);
    await bench.activity.prune();
    const from = new Date(minute).toISOString();
    expect((await read(`by=minute,key&from=${from}`)).total.requests).toBe(0);
    expect((await read(`by=minute,provider&from=${from}`)).total.requests).toBe(3);
    expect((await read(`by=hour,key&from=${from}`)).total.requests).toBe(3);
  });

  it("meets the beginning by the minute where it is of late and no unit of time is asked for", async () => {
    bench.clock.advance(30 * 60_000);
    record("key_a");
    bench.clock.advance(5 * 60_000);
    record("key_a");
    const from = new Date(bench.clock.now() - 60_000).toISOString();

    expect((await read(`by=key&from=${from}`)).total.requests).toBe(1);
    expect((await read(`by=hour,key&from=${from}`)).total.requests).toBe(2);
  });

  it("takes an hour whole that begins before `from`, and none that begins at `to`", async () => {
    const now = bench.clock.now();
    const hour = now - (now % hourMs);
    record("key_a");
    const iso = (at: number): string => new Date(at).toISOString();

    expect((await read(`from=${iso(now + 1)}&to=${iso(now + 2)}`)).total.requests).toBe(1);
    expect((await read(`from=${iso(hour - hourMs)}&to=${iso(hour)}`)).total.requests).toBe(0);
  });

  it("is true to the moment while the database cannot be written", async () => {
    record("key_a");
    await read();
    bench.breakStore("saveActivity");
    record("key_a");
    record("key_b");

    expect((await read("by=key")).data).toMatchObject([
      { key_id: "key_a", requests: 2 },
      { key_id: "key_b", requests: 1 },
    ]);
    bench.breakStore(undefined);
    expect((await read()).total.requests).toBe(3);
  });

  it("tells no more models apart in an hour than it can keep", async () => {
    bench.clock.advance(10 * hourMs);
    for (let n = 0; n < 1_005; n++) record("key_a", { model: `model-${n}` });
    record("key_a", { model: "model-0" });

    const { data } = await read("by=model");

    expect(data).toHaveLength(1_001);
    expect(data.find(({ model }: { model: string }) => model === "other")).toMatchObject({ requests: 5 });
    expect(data.find(({ model }: { model: string }) => model === "model-0")).toMatchObject({ requests: 2 });
  });

  it("takes no secret for a model's name", async () => {
    bench.clock.advance(20 * hourMs);
    record("key_a", { model: "sk-secret" });

    expect((await read("by=model")).data).toMatchObject([{ model: "[redacted]" }]);
  });

  it.each([
    ["from=yesterday", "from"],
    ["from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from"],
    ["from=2020-01-01T00:00:00Z&to=2026-01-01T00:00:00Z", "from"],
    ["by=week", "by"],
    ["by=", "by"],
    ["by=hour,day", "by"],
    ["per=hour", "per"],
  ])("refuses ?%s", async (query, path) => {
    const { status, body } = await bench.call("GET", `/api/usage?${query}`);

    expect(status).toBe(422);
    expect(body.errors[0].path).toBe(path);
  });
});

describe("the counts of a key", () => {
  it("go on after a restart", async () => {
    const key = await bench.addKey(provider);
    record(key.id);
    const at = bench.clock.now();
    await bench.restart();

    const { body } = await bench.call("GET", `/api/keys/${key.id}`);

    const last_used_at = new Date(at).toISOString();
    expect(body.stats).toEqual({ requests: 1, successes: 1, failures: 0, last_used_at });
  });
});

function tokens(times: number): object {
  const { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens } = counts;
  const all = { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens };
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, value * times]));
}
