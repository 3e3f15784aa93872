import { reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const apiKey = "sk-test-provider-level-0123456789abcdef";

describe("spec: Relationship Between Key Pool and Provider-Level API Key", () => {
  it('"When a provider has both a provider-level API key … and a key pool configured, the key pool takes priority"', async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1], apiKey });

    expect(await pool.turns(6)).toBe("ABABAB");
  });

  it('"If the key pool is empty (no entries), the provider-level API key is used"', async () => {
    await using pool = await poolOf(gateway, { weights: [], apiKey });

    const response = await pool.send();

    expect(response.status).toBe(200);
    expect(pool.provider.requests[0]?.key).toBe(apiKey);
  });

  it("uses it again once the last key of the pool is deleted, and no longer once one is added", async () => {
    await using pool = await poolOf(gateway, { weights: [1], apiKey });
    const withOne = await pool.turns(1);

    await gateway.api("DELETE", `/keys/${pool.keys[0]?.id}`);
    const withNone = await pool.turns(1);
    await gateway.addKeys(pool.record, [pool.valueOf("A")]);

    expect(withOne + withNone + (await pool.turns(1))).toBe("ABA");
  });

  it.each([
    ["disabled", "no_usable_key"],
    ["cooling", "pool_exhausted"],
  ])("never falls back to it while the pool has keys, %s ones too", async (how, code) => {
    await using pool = await poolOf(gateway, { weights: [1, 1], apiKey });
    for (const letter of ["A", "B"]) {
      if (how === "disabled") pool.provider.revoke(pool.valueOf(letter));
      else pool.provider.forKey(pool.valueOf(letter)).always(reply.status(429));
    }

    const response = await pool.send();
    const again = await pool.send();

    expect([response, again].map((one) => one.headers.get("x-keywheel-error"))).toEqual([code, code]);
    expect(pool.provider.picks()).toBe("AB");
  });

  it("is no key at all without either", async () => {
    await using pool = await poolOf(gateway, { weights: [] });

    const response = await pool.send();

    expect(response.status).toBe(503);
    expect(response.headers.get("x-keywheel-error")).toBe("no_usable_key");
    expect(pool.provider.requests).toHaveLength(0);
  });

  it('"Using the key pool instead of a provider-level API key is recommended for load balancing and failover capabilities"', async () => {
    await using single = await poolOf(gateway, { weights: [], apiKey });
    await using pooled = await poolOf(gateway, { weights: [1, 1] });
    single.provider.forKey(apiKey).next(reply.status(429));
    pooled.provider.forKey(pooled.valueOf("A")).next(reply.status(429));

    const [alone, together] = [await single.send(), await pooled.send()];

    expect([alone.status, together.status]).toEqual([429, 200]);
  });
});
