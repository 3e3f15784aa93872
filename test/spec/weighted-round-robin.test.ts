import { runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

describe("spec: Weighted Round-Robin", () => {
  it('"Each key in the pool occupies a number of slots proportional to its weight."', async () => {
    await using pool = await poolOf(gateway, { weights: [7, 4, 1] });

    await pool.turns(36);

    expect(pool.provider.counts()).toEqual({ A: 21, B: 12, C: 3 });
  });

  it('"Elftia cycles through these slots in a fixed sequence, distributing requests according to the weight ratio."', async () => {
    await using pool = await poolOf(gateway, { weights: [2, 3] });

    const [first, second, third] = [await pool.turns(5), await pool.turns(5), await pool.turns(5)];

    expect([first, second, third]).toEqual(["AABBB", "AABBB", "AABBB"]);
  });

  it('"Assume 3 keys with weights 3, 2, and 1 (total weight = 6)": 3, 2 and 1 selections per 6 requests', async () => {
    await using pool = await poolOf(gateway, { weights: [3, 2, 1] });

    await pool.turns(6);

    expect(pool.provider.counts()).toEqual({ A: 3, B: 2, C: 1 });
  });

  it('"Rotation order: A → A → A → B → B → C → A → A → A → B → ..."', async () => {
    await using pool = await poolOf(gateway, { weights: [3, 2, 1] });

    expect(await pool.turns(14)).toBe("AAABBCAAABBCAA");
  });

  it('"3 keys each with weight 1 (total weight = 3), so they rotate strictly: A → B → C → A → B → C → ..."', async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });

    expect(await pool.turns(8)).toBe("ABCABCAB");
  });

  it("follows the weights of the keys that are left when one leaves, not what its neighbour inherits", async () => {
    await using pool = await poolOf(gateway, { weights: [3, 2, 1] });
    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { enabled: false });

    expect(await pool.turns(9)).toBe("BBCBBCBBC");
  });

  it("goes on where it was when a key joins, and when one changes its weight", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });

    const before = await pool.turns(1);
    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { weight: 2 });

    expect(before + (await pool.turns(6))).toBe("ABAABAA");
  });

  it("turns in the order of the list, ties by creation", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    const [a, b, c] = pool.keys.map((key) => key.id);

    await gateway.api("PUT", `/providers/${pool.record.id}/keys/order`, { ids: [c, a, b] });

    const turns = await pool.turns(6);
    expect("CABCABCAB").toContain(turns);
    expect((await gateway.keys(pool.record)).map((key) => [key.id, key.order])).toEqual([
      [c, 0],
      [a, 1],
      [b, 2],
    ]);
  });
});
