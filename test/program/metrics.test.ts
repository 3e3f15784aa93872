import { reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PoolAffinity } from "../../packages/gateway/src/contract/affinity.ts";
import { inRows } from "../in-rows.ts";
import { eventually, type PooledProvider, poolOf } from "../pooled-provider.ts";

// What Prometheus reads, of a gateway that is one process and of one that is several.

describe.each([
  { what: "one process", flags: [] },
  { what: "several processes", flags: ["--workers", "2"] },
])("the metrics of a gateway of $what", ({ flags }) => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await runGateway({ flags });
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  const scrape = async (): Promise<Metrics> => new Metrics(await (await fetch(`${gateway.url}/metrics`)).text());
  const apart = { connection: "close" };
  const ask = async (pool: PooledProvider, session?: string): Promise<number> => {
    const response = await pool.send({ headers: apart, ...(session === undefined ? {} : { session }) });
    await response.arrayBuffer();
    return response.status;
  };

  it("tell of each key its state, its weight and what it is due", async () => {
    await using pool = await poolOf(gateway, { weights: [3, 1] });
    const [a, b] = pool.keys;

    const metrics = await scrape();

    const of = (key: typeof a) => ({ provider: pool.record.slug, key: key?.id ?? "" });
    expect(metrics.value("keywheel_key_info", { ...of(a), label: "A" })).toBe(1);
    expect(metrics.value("keywheel_key_state", { ...of(a), state: "available" })).toBe(1);
    expect(metrics.value("keywheel_key_weight", of(a))).toBe(3);
    expect(metrics.value("keywheel_key_share_ratio", of(a))).toBe(0.75);
    expect(metrics.value("keywheel_key_share_ratio", of(b))).toBe(0.25);
    expect(metrics.value("keywheel_key_release_seconds", of(a))).toBe(0);
  });

  it("count turns by key, so that shares can be held against weights", async () => {
    await using pool = await poolOf(gateway, { weights: [3, 1] });
    const [a, b] = pool.keys.map(({ id }) => id);

    await inRows(40, 4, () => ask(pool));

    const { slug: provider } = pool.record;
    const metrics = await scrape();
    const turns = [a, b].map((key = "") => metrics.value("keywheel_key_choices_total", { provider, key, why: "turn" }));
    expect(turns).toEqual([30, 10]);
    expect(metrics.value("keywheel_overhead_seconds_count", { provider })).toBe(40);
    expect(metrics.value("keywheel_overhead_seconds_sum", { provider })).toBeLessThan(20);
  });

  it("count a failover, and show how long the key that failed rests", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    const [a = "", b = ""] = pool.keys.map(({ id }) => id);
    pool.provider.on({ key: pool.valueOf("A") }).always(reply.status(429));

    expect(await inRows(2, 1, () => ask(pool))).toEqual([200, 200]);

    const { slug: provider } = pool.record;
    const metrics = await scrape();
    expect(metrics.value("keywheel_failovers_total", { provider })).toBe(1);
    expect(metrics.value("keywheel_attempts_total", { provider, key: a, outcome: "rate_limited" })).toBe(1);
    expect(metrics.value("keywheel_attempts_total", { provider, key: b, outcome: "succeeded" })).toBe(2);
    expect(metrics.value("keywheel_key_state", { provider, key: a, state: "cooling_down" })).toBe(1);
    expect(metrics.value("keywheel_key_state", { provider, key: a, state: "available" })).toBeUndefined();
    const left = metrics.value("keywheel_key_release_seconds", { provider, key: a }) ?? 0;
    expect(left).toBeGreaterThan(30);
    expect(left).toBeLessThanOrEqual(60);
    expect(metrics.value("keywheel_key_share_ratio", { provider, key: b })).toBe(1);
  });

  it("count how often a session found the key that it had", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });

    await inRows(5, 1, () => ask(pool, "a chat"));

    const { slug: provider } = pool.record;
    const metrics = await scrape();
    const of = (result: string) => ({ provider, source: "session", result });
    expect(metrics.value("keywheel_affinity_requests_total", of("unbound"))).toBe(1);
    expect(metrics.value("keywheel_affinity_requests_total", of("hit"))).toBe(4);
    expect(metrics.value("keywheel_affinity_requests_total", of("moved"))).toBe(0);
  });

  it("give the ratios that /api/affinity tells, and of each key what came from the cache", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    const [a = "", b = ""] = pool.keys.map(({ id }) => id);
    const ofHundred = (cached_tokens: number) => {
      const usage = { prompt_tokens: 100, completion_tokens: 1, prompt_tokens_details: { cached_tokens } };
      return reply.json(200, {}, { choices: [{ message: { role: "assistant", content: "Hi" } }], usage });
    };
    pool.provider.on().next(ofHundred(0), ofHundred(80), reply.status(429), ofHundred(20));

    await inRows(3, 1, () => ask(pool, "a chat"));

    const { slug: provider } = pool.record;
    const { data } = await gateway.api<{ data: PoolAffinity[] }>("GET", `/affinity?provider=${provider}`);
    const metrics = await scrape();
    const requests = (result: string): number =>
      metrics.value("keywheel_affinity_requests_total", { provider, source: "session", result }) ?? NaN;
    const tokens = (name: string, labels: object): number[] =>
      ["input", "cache_read"].map((kind) => metrics.value(name, { provider, ...labels, kind }) ?? NaN);
    expect(requests("hit") / (requests("hit") + requests("moved"))).toBe(data[0]?.kept_share);
    expect(tokens("keywheel_tokens_total", {})).toEqual([200, 100]);
    expect(data[0]?.total.cached_share).toBeCloseTo(100 / 300);
    expect(tokens("keywheel_key_input_tokens_total", { key: a })).toEqual([120, 80]);
    expect(tokens("keywheel_key_input_tokens_total", { key: b })).toEqual([80, 20]);
    expect(tokens("keywheel_affinity_input_tokens_total", { result: "hit" })).toEqual([20, 80]);
    expect(tokens("keywheel_affinity_input_tokens_total", { result: "moved" })).toEqual([80, 20]);
  });

  it("show what is under way with a key, to the end of its answer", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const [key = ""] = pool.keys.map(({ id }) => id);
    const { slug: provider } = pool.record;
    const stream = reply.live();
    pool.provider.on().next(stream);
    const inFlight = async () => (await scrape()).value("keywheel_key_requests_in_flight", { provider, key });
    expect(await inFlight()).toBe(0);

    const sent = pool.send({ headers: apart, stream: true });
    await stream.started;
    expect(await inFlight()).toBe(1);
    await stream.send({ data: { choices: [{ delta: { content: "Hello" } }] } });
    const response = await sent;
    expect(await inFlight()).toBe(1);

    await stream.send("data: [DONE]\n\n");
    await stream.end();
    await response.text();
    await eventually(inFlight, (count) => count === 0, { what: "nothing to be under way" });
  });

  it("hold no value of a key, whatever a key is called", async () => {
    const secret = `sk-test-metrics-${"0123456789abcdef".repeat(2)}`;
    await using pool = await poolOf(gateway, { keys: [{ api_key: secret, label: `it is ${secret}` }] });
    await ask(pool);

    const { text } = await scrape();

    expect(text).toContain(pool.keys[0]?.id);
    expect(text).not.toContain(secret);
    expect(text).not.toContain("0123456789abcdef");
  });
});

/** Samples of the text format, looked up by exactly their labels. */
class Metrics {
  readonly text: string;
  readonly #values = new Map<string, number>();

  constructor(text: string) {
    this.text = text;
    for (const [, name = "", labels = "", value] of text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, set]) => [label, set] as const);
      this.#values.set(nameOf(name, pairs), Number(value));
    }
  }

  value(name: string, labels: Readonly<Record<string, string>>): number | undefined {
    return this.#values.get(nameOf(name, Object.entries(labels)));
  }
}

function nameOf(name: string, labels: readonly (readonly [string | undefined, string | undefined])[]): string {
  return `${name} ${labels
    .map((pair) => pair.join("="))
    .sort()
    .join(" ")}`;
}
