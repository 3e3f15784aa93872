import { ApiFailure, type KeyView, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, sharesOf } from "../pooled-provider.ts";

const environmentKey = "sk-test-from-environment-0123456789abcdef";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway({
    env: {
      KEYWHEEL_TEST_KEY: environmentKey,
      KEYWHEEL_TEST_EMPTY: "",
      keywheel_test_lower: "sk-test-lower-0123456789abcdef",
    },
  });
  return () => gateway[Symbol.asyncDispose]();
});

describe('spec: "All keys are in cooldown; requests fail"', () => {
  it('"All keys hit rate limits simultaneously": the error says when to come back', async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429, { "retry-after": "400" }));
    pool.provider.forKey(pool.valueOf("B")).next(reply.status(429, { "retry-after": "90" }));
    await (await pool.send()).arrayBuffer();

    const response = await pool.send();
    const retryAfter = Number(response.headers.get("retry-after"));

    expect(response.status).toBe(429);
    expect(response.headers.get("x-keywheel-error")).toBe("pool_exhausted");
    expect(retryAfter).toBeGreaterThanOrEqual(88);
    expect(retryAfter).toBeLessThanOrEqual(90);
    expect(pool.provider.requests).toHaveLength(2);
  });

  it('"Wait for the cooldown to expire"', async () => {
    await using pool = await poolOf(gateway, { weights: [1], settings: { cooldown: { base_ms: 150, cap_ms: 150 } } });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    const refused = await pool.send();

    await pool.becomes("A", "available");

    expect([refused.status, (await pool.send()).status]).toEqual([429, 200]);
    expect(refused.headers.get("retry-after")).toBe("1");
  });

  it('"or add more keys to expand pool capacity"', async () => {
    await using pool = await poolOf(gateway, { weights: [1], provider: {} });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    const refused = await pool.send();
    const added = "sk-test-added-0123456789abcdef";
    pool.provider.accept(added);

    await gateway.addKeys(pool.record, [added]);

    expect([refused.status, (await pool.send()).status]).toEqual([429, 200]);
  });

  it("clears the cooldown of a key on request", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await (await pool.send()).arrayBuffer();

    await gateway.api("POST", `/keys/${pool.keys[0]?.id}/reset`);

    expect(await pool.key("A")).toMatchObject({ status: "available", consecutive_failures: 0, cooldown_until: null });
    expect((await pool.send()).status).toBe(200);
  });

  it.each([
    ["anthropic", 529],
    ["openai", 503],
  ] as const)("tells a pool emptied by overload alone from a rate limit (%s: %i)", async (kind, status) => {
    await using pool = await poolOf(gateway, { kind });
    for (const letter of ["A", "B"]) pool.provider.forKey(pool.valueOf(letter)).next(reply.status(529));

    const response = await pool.send();

    expect(response.status).toBe(status);
    expect(response.headers.get("x-keywheel-error")).toBe("pool_exhausted");
    expect(response.headers.get("retry-after")).toBe("60");
  });
});

describe('spec: "A key is never selected"', () => {
  it('"Weight is 0": is refused, naming the field and the range', async () => {
    await using pool = await poolOf(gateway, { weights: [1] });

    const failure = await gateway
      .addKeys(pool.record, [{ api_key: "sk-test-weightless-0123456789", weight: 0 }])
      .catch((error: unknown) => error);

    expect(failure).toBeInstanceOf(ApiFailure);
    expect(failure).toMatchObject({ status: 422, body: { errors: [{ path: "weight" }] } });
    expect(JSON.stringify((failure as ApiFailure).body)).toMatch(/\b1\b.*\b100\b/);
  });

  it.each([0, -1, 1.5, 101, "3", null, 1e9])("refuses to change a weight to %j", async (weight) => {
    await using pool = await poolOf(gateway, { weights: [2] });

    const response = await gateway.apiResponse("PATCH", `/keys/${pool.keys[0]?.id}`, { weight });

    expect(response.status).toBe(422);
    expect((await pool.key("A")).weight).toBe(2);
  });

  it('"or other keys have much higher weights": still its turn comes, once a round', async () => {
    await using pool = await poolOf(gateway, { weights: [100, 1] });

    const { data } = await gateway.api<{ data: string[] }>("GET", `/providers/${pool.record.id}/preview?n=202`);

    const [a, b] = pool.keys.map((key) => key.id);
    expect(data.filter((id) => id === a)).toHaveLength(200);
    expect(data.filter((id) => id === b)).toHaveLength(2);
    expect(data.indexOf(b ?? "")).toBe(100);
  });

  it('"ensure the weight is at least 1": 1 is the default', async () => {
    await using pool = await poolOf(gateway, { weights: [] });

    const [key] = await gateway.addKeys(pool.record, ["sk-test-plain-0123456789abcdef"]);

    expect(key?.weight).toBe(1);
  });
});

describe('spec: "A key is automatically disabled"', () => {
  it('"then manually re-enable it after fixing the issue"', async () => {
    await using pool = await poolOf(gateway);
    pool.provider.revoke(pool.valueOf("A"));
    const refused = await pool.turns(2);
    pool.provider.accept(pool.valueOf("A"));

    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { enabled: true });

    expect(refused).toBe("ABB");
    expect(await pool.key("A")).toMatchObject({ enabled: true, status: "available", consecutive_failures: 0 });
    expect(sharesOf(await pool.turns(4))).toBe("AABB");
  });

  it('"verify the key\'s status": the test of a key asks the provider with exactly that key and changes nothing', async () => {
    await using pool = await poolOf(gateway);
    pool.provider.revoke(pool.valueOf("A"));
    await pool.turns(1);
    const before = await pool.key("A");
    pool.provider.forget();

    await gateway.api("POST", `/keys/${pool.keys[0]?.id}/test`);

    expect(pool.provider.picks()).toMatch(/^A+$/);
    expect(await pool.key("A")).toMatchObject({
      enabled: false,
      status: "disabled",
      status_reason: before.status_reason,
    });
  });
});

describe('spec: "Pool is configured correctly but requests still use the old key"', () => {
  it('"Session affinity is bound to the old key → Start a new chat session"', async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    await pool.turns(1, { session: "old" });
    const added = "sk-test-newer-0123456789abcdef";
    pool.provider.accept(added);
    await gateway.addKeys(pool.record, [added]);

    const old = await pool.turns(2, { session: "old" });
    await pool.turns(1, { session: "new-1" });
    await pool.turns(1, { session: "new-2" });

    expect(old).toBe("AA");
    expect(pool.provider.requests.slice(-2).map((request) => request.key)).toContain(added);
  });

  it('"or wait for the old key to enter a cooldown period so the system automatically rebinds"', async () => {
    await using pool = await poolOf(gateway);
    await pool.turns(1, { session: "old" });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));

    expect(await pool.turns(2, { session: "old" })).toBe("ABB");
  });
});

describe('spec: "Added key not taking effect immediately"', () => {
  it('"Save the configuration and retry; the system refreshes the cache automatically": with the answer to the call', async () => {
    await using pool = await poolOf(gateway, { weights: [] });
    const value = "sk-test-immediate-0123456789abcdef";
    pool.provider.accept(value);
    const before = await pool.send();

    await gateway.addKeys(pool.record, [value]);

    expect([before.status, (await pool.send()).status]).toEqual([503, 200]);
    expect(pool.provider.requests[0]?.key).toBe(value);
  });

  it("uses a new value of a key with the next request", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const value = "sk-test-replaced-0123456789abcdef";
    pool.provider.revoke(pool.valueOf("A"));
    pool.provider.accept(value);
    const before = await pool.send();

    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { api_key: value, enabled: true });

    expect([before.status, (await pool.send()).status]).toEqual([503, 200]);
    expect(pool.provider.requests.at(-1)?.key).toBe(value);
  });

  it("shares at once with a key that is added under load, and drops one that is deleted", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    const added = "sk-test-under-load-0123456789abcdef";
    pool.provider.accept(added);

    const [key] = await gateway.addKeys(pool.record, [added]);
    await pool.turns(6);
    const shares = pool.provider.requests.filter((request) => request.key === added).length;
    await gateway.api("DELETE", `/keys/${key?.id}`);
    const after = await pool.turns(4);

    expect(shares).toBe(2);
    expect(sharesOf(after)).toBe("AABB");
  });
});

describe('spec: "Environment variable key cannot be resolved"', () => {
  async function withReference(
    reference: string,
  ): Promise<{ key: KeyView; status: number; sent: (string | undefined)[] }> {
    await using pool = await poolOf(gateway, { weights: [] });
    pool.provider.accept(environmentKey);
    const [key] = await gateway.addKeys(pool.record, [reference]);
    const response = await pool.send();
    await response.arrayBuffer();
    const shown = await gateway.key(key?.id ?? "");
    return { key: shown, status: response.status, sent: pool.provider.requests.map((request) => request.key) };
  }

  it('"the variable name after $ exactly matches the one set in the system": its value is sent, its name is shown', async () => {
    const { key, status, sent } = await withReference("$KEYWHEEL_TEST_KEY");

    expect(status).toBe(200);
    expect(sent).toEqual([environmentKey]);
    expect(key).toMatchObject({ api_key: "$KEYWHEEL_TEST_KEY", status: "available" });
  });

  it.each([
    ["not set", "$KEYWHEEL_TEST_MISSING"],
    ["empty", "$KEYWHEEL_TEST_EMPTY"],
    ["written in another case", "$KEYWHEEL_TEST_LOWER"],
  ])(
    '"Variable name is wrong or not set … including case": unresolved when %s, and never sent',
    async (_, reference) => {
      const { key, status, sent } = await withReference(reference);

      expect(status).toBe(503);
      expect(sent).toEqual([]);
      expect(key).toMatchObject({ api_key: reference, status: "unresolved", enabled: true });
    },
  );

  it("passes over an unresolved key in favour of the others", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    await gateway.addKeys(pool.record, ["$KEYWHEEL_TEST_MISSING"]);

    expect(await pool.turns(3)).toBe("AAA");
  });
});

describe('spec: "Cooldown is too long"', () => {
  it('"The cooldown cap is 15 minutes": whatever the provider says', async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429, { "retry-after": "86400" }));
    const before = Date.now();

    await pool.turns(1);

    const { cooldown_until: until } = await pool.key("A");
    expect(Date.parse(until ?? "") - before).toBeLessThanOrEqual(900_000 + (Date.now() - before));
  });

  it('"or add more keys to spread the load": what a resting key leaves is shared by weight', async () => {
    await using pool = await poolOf(gateway, { weights: [1, 2, 2] });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await pool.turns(1);
    pool.provider.forget();

    await pool.turns(8);

    expect(pool.provider.counts()).toEqual({ B: 4, C: 4 });
  });
});

describe('spec: "Key switched within the same session"', () => {
  it('"the system automatically selects the best available key": it never meets one that cannot serve', async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1, 1] });
    await pool.turns(1, { session: "s" });
    await gateway.api("PATCH", `/keys/${pool.keys[1]?.id}`, { enabled: false });
    await gateway.api("DELETE", `/keys/${pool.keys[2]?.id}`);
    pool.provider.revoke(pool.valueOf("A"));

    expect(await pool.turns(3, { session: "s" })).toBe("ADDD");
  });
});
