import { reply, runGateway, type RunningGateway, type ScriptedKind } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, type PooledProvider } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const uncapped = { cooldown: { base_ms: 100, cap_ms: 86_400_000 } };

/** Lets every key of the pool meet its own limit, in one request. */
async function limitAll(pool: PooledProvider, waitsMs: readonly number[]): Promise<Response> {
  for (const [at, waitMs] of waitsMs.entries()) {
    const script = pool.provider.forKey(pool.values[at] ?? "");
    script.next(
      reply.json(429, { "retry-after-ms": String(waitMs) }, { error: { message: `Slow, ${pool.values[at]}` } }),
    );
  }
  return pool.send();
}

/** Where each kind's SDK looks for what happened. */
const shapes: Record<ScriptedKind, object> = {
  openai: { error: { message: expect.any(String), type: "rate_limit_error", code: "pool_exhausted" } },
  "azure-openai": { error: { message: expect.any(String), code: expect.any(String) } },
  "openai-compatible": { error: { message: expect.any(String), code: "pool_exhausted" } },
  anthropic: { type: "error", error: { type: "rate_limit_error", message: expect.any(String) } },
  gemini: { error: { code: 429, message: expect.any(String), status: "RESOURCE_EXHAUSTED" } },
};

describe("I. nothing available", () => {
  it.each(Object.keys(shapes) as ScriptedKind[])(
    "case 85: clients of %s are told the wait to the first key's return in a header, whole and rounded up",
    async (kind) => {
      const keys = ["A", "B"].map((letter) => ({
        api_key: `sk-test-85-${kind}-${letter}-0123456789abcdef`,
        label: `Ada's ${letter}`,
      }));
      await using pool = await poolOf(gateway, { kind, keys, settings: uncapped });

      const first = await limitAll(pool, [40_900, 500_000]);
      const second = await pool.send();

      for (const response of [first, second]) {
        const text = await response.text();
        expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([429, "pool_exhausted"]);
        expect(["40", "41"]).toContain(response.headers.get("retry-after"));
        expect(JSON.parse(text)).toMatchObject(shapes[kind]);
        for (const { api_key: value, label } of keys) {
          expect(text).not.toContain(value);
          expect(text).not.toContain(label);
        }
      }
      // 40.9 s less what little has passed since: rounded down it would be 40.
      expect(first.headers.get("retry-after")).toBe("41");
    },
  );

  it("case 85: the wait is never told as nought", async () => {
    await using pool = await poolOf(gateway, { settings: { cooldown: { base_ms: 100, cap_ms: 200 } } });

    expect((await limitAll(pool, [150, 200])).headers.get("retry-after")).toBe("1");
  });

  const disable = (pool: PooledProvider, at: number): Promise<unknown> =>
    gateway.api("PATCH", `/keys/${pool.keys[at]?.id}`, { enabled: false });
  const unresolved = [{ api_key: "$CASE_86_NOT_SET" }, { api_key: "$CASE_86_NEITHER" }];
  it.each<[string, Parameters<typeof poolOf>[1], (pool: PooledProvider) => Promise<unknown>, number, string]>([
    ["all rest", {}, (pool) => limitAll(pool, [60_000, 60_000]), 429, "pool_exhausted"],
    ["all are disabled", {}, (pool) => Promise.all([disable(pool, 0), disable(pool, 1)]), 503, "no_usable_key"],
    ["there is none", { weights: [] }, () => Promise.resolve(), 503, "no_usable_key"],
    ["none can be resolved", { keys: unresolved }, () => Promise.resolve(), 503, "no_usable_key"],
    [
      "one rests, one is disabled",
      {},
      async (pool) => {
        await disable(pool, 1);
        await limitAll(pool, [60_000]);
      },
      429,
      "pool_exhausted",
    ],
    [
      "one is refused, one is disabled",
      {},
      async (pool) => {
        await disable(pool, 1);
        pool.provider.revoke(pool.valueOf("A"));
        await pool.turns(1);
      },
      503,
      "no_usable_key",
    ],
  ])("case 86: when %s the status says what is the matter", async (_, options, act, status, code) => {
    await using pool = await poolOf(gateway, options);
    await act(pool);
    pool.provider.forget();

    const response = await pool.send();

    expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([status, code]);
    expect(response.headers.has("retry-after")).toBe(status === 429);
    expect(pool.provider.requests).toHaveLength(0);
  });

  it("case 86: `/api/status` counts keys by the same measure by which they are chosen", async () => {
    await using pool = await poolOf(gateway, {
      keys: [...["A", "B", "C"].map((letter) => ({ api_key: `sk-test-86-${letter}-0123456789abcdef` })), ...unresolved],
    });
    await disable(pool, 1);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await pool.turns(1);

    const status = await gateway.api<{ providers: { id: string; keys: object }[] }>("GET", "/status");

    expect(status.providers.find((provider) => provider.id === pool.record.id)?.keys).toEqual({
      total: 5,
      available: 1,
      cooling_down: 1,
      disabled: 1,
      unresolved: 2,
    });
  });

  it("case 86: a request that was refused by the last key is told what the provider said, without its secret", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });

    const response = await limitAll(pool, [60_000]);
    const text = await response.text();

    expect(response.status).toBe(429);
    expect(text).toContain("Slow");
    expect(text).not.toContain(pool.valueOf("A"));
  });

  it("case 87: with one key a throttle is told exactly, and the first request after it reaches the provider", async () => {
    await using usual = await poolOf(gateway, { weights: [1] });
    usual.provider.on().next(reply.status(429));
    await using brief = await poolOf(gateway, { weights: [1], settings: { cooldown: { base_ms: 600, cap_ms: 600 } } });
    brief.provider.on().next(reply.status(429));

    const told = await usual.send();
    const throttled = await brief.send();
    const { cooldown_until: until } = await brief.key("A");
    const meanwhile = await brief.send();
    await brief.becomes("A", "available");
    const after = await brief.send();

    expect([told.status, told.headers.get("retry-after")]).toEqual([429, "60"]);
    expect([throttled.status, meanwhile.status, after.status]).toEqual([429, 429, 200]);
    expect(brief.provider.picks()).toBe("AA");
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(until ?? ""));
  });
});
