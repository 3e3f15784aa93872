import { reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const fast = { cooldown: { base_ms: 100, cap_ms: 1_500 } };

describe("spec: Failover Flow Chart", () => {
  it('"Use session-bound key → Success → Reset cooldown counter → Return response"', async () => {
    await using pool = await poolOf(gateway, { weights: [1], settings: fast });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await pool.turns(1, { session: "s" });
    await pool.becomes("A", "available");

    const response = await pool.send({ session: "s" });
    const body = (await response.json()) as { object: string };

    expect([response.status, body.object]).toEqual([200, "chat.completion"]);
    expect((await pool.key("A")).consecutive_failures).toBe(0);
  });

  it('"429/529 … Any other available keys in the pool? Yes → Switch to new key, Rebind session → Retry with new key"', async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    await pool.turns(1, { session: "s" });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(529));

    const turns = await pool.turns(3, { session: "s" });

    expect(turns).toBe("ABBB");
    const { data } = await gateway.api<{ data: { id: string; key_id: string }[] }>(
      "GET",
      `/sessions?provider=${pool.record.id}`,
    );
    expect(data.find((session) => session.id === "s")?.key_id).toBe(pool.keys[1]?.id);
  });

  it('"429/529 … No → Request fails, return error (all keys unavailable)"', async () => {
    await using pool = await poolOf(gateway);
    for (const letter of ["A", "B"]) pool.provider.forKey(pool.valueOf(letter)).always(reply.status(429));

    const response = await pool.send({ session: "s" });

    expect(response.status).toBe(429);
    expect(response.headers.get("x-keywheel-error")).toBe("pool_exhausted");
    expect(response.headers.get("retry-after")).toBe("60");
    expect(pool.provider.picks()).toBe("AB");
  });

  it('"401/403 … Permanently disable this key → Yes → Switch to new key, Rebind session"', async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    await pool.turns(1, { session: "s" });
    pool.provider.revoke(pool.valueOf("A"));

    expect(await pool.turns(3, { session: "s" })).toBe("ABBB");
    expect((await pool.key("A")).status).toBe("disabled");
  });

  it('"401/403 … No → Request fails, return error"', async () => {
    await using pool = await poolOf(gateway);
    for (const letter of ["A", "B"]) pool.provider.revoke(pool.valueOf(letter));

    const first = await pool.send();
    const second = await pool.send();

    for (const response of [first, second]) {
      expect(response.status).toBe(503);
      expect(response.headers.get("x-keywheel-error")).toBe("no_usable_key");
    }
    expect(pool.provider.picks()).toBe("AB");
  });

  it("says how many keys rest and are disabled, and no secret, when nothing is left", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    pool.provider
      .forKey(pool.valueOf("A"))
      .always(
        reply.json(429, {}, { error: { message: `Too fast, ${pool.valueOf("A")}`, type: "requests", code: null } }),
      );
    pool.provider.forKey(pool.valueOf("B")).always(reply.status(429));
    pool.provider.revoke(pool.valueOf("C"));

    const response = await pool.send();
    const text = await response.text();

    expect(response.status).toBe(429);
    expect(text).toMatch(/\b2\b/);
    expect(text).toMatch(/\b1\b/);
    for (const value of pool.values) expect(text).not.toContain(value);
    expect(gateway.logs()).not.toContain(pool.valueOf("A"));
  });
});
