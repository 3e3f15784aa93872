import { reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

describe("contract: shares under load", () => {
  it("serves 600 parallel requests over weights 3, 2, 1 exactly 300, 200, 100 times", async () => {
    await using pool = await poolOf(gateway, { weights: [3, 2, 1] });

    const responses = await Promise.all(Array.from({ length: 600 }, () => pool.send()));
    await Promise.all(responses.map((response) => response.arrayBuffer()));

    expect(new Set(responses.map((response) => response.status))).toEqual(new Set([200]));
    expect(pool.provider.counts()).toEqual({ A: 300, B: 200, C: 100 });
  });

  it("spreads what a limited key leaves by the weights of the others, under load too", async () => {
    await using pool = await poolOf(gateway, { weights: [3, 2, 1] });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await pool.turns(1);
    pool.provider.forget();

    const responses = await Promise.all(Array.from({ length: 300 }, () => pool.send()));
    await Promise.all(responses.map((response) => response.arrayBuffer()));

    const { B: b = 0, C: c = 0 } = pool.provider.counts();
    expect(b + c).toBe(300);
    expect(Math.abs(b - 200)).toBeLessThanOrEqual(1);
  });

  it("answers every one of 100 requests while every key in turn is refused", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1, 1] });
    for (const letter of ["A", "B", "C"]) pool.provider.revoke(pool.valueOf(letter));

    const responses = await Promise.all(Array.from({ length: 100 }, () => pool.send()));
    await Promise.all(responses.map((response) => response.arrayBuffer()));

    expect(new Set(responses.map((response) => response.status))).toEqual(new Set([200]));
    expect((await gateway.keys(pool.record)).map((key) => key.status)).toEqual([
      "disabled",
      "disabled",
      "disabled",
      "available",
    ]);
  });
});
