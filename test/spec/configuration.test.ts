import { runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, sharesOf } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

describe("spec: Configuration Reference", () => {
  it("gives a key its defaults: label empty, weight 1, enabled, order 0", async () => {
    await using pool = await poolOf(gateway, { weights: [] });

    const [key] = await gateway.addKeys(pool.record, ["sk-test-defaults-0123456789abcdef"]);

    expect(key).toMatchObject({
      label: "",
      weight: 1,
      enabled: true,
      order: 0,
      status: "available",
      status_reason: null,
    });
  });

  it("takes weights from 1 to 100", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 100] });

    expect((await gateway.keys(pool.record)).map((key) => key.weight)).toEqual([1, 100]);
  });

  it('keeps a label, "a name for easy identification"', async () => {
    await using pool = await poolOf(gateway, {
      keys: [{ api_key: "sk-test-labelled-0123456789abcdef", label: "Production Key #1" }],
    });

    expect((await pool.key("A")).label).toBe("Production Key #1");
  });

  it("never shows a value again", async () => {
    await using pool = await poolOf(gateway);

    const texts = [
      JSON.stringify(pool.keys),
      JSON.stringify(await gateway.keys(pool.record)),
      JSON.stringify(await gateway.api("GET", "/providers")),
      JSON.stringify(await gateway.api("GET", "/status")),
      gateway.logs(),
    ];

    for (const value of pool.values) for (const text of texts) expect(text).not.toContain(value);
    expect(pool.keys[0]?.api_key).toMatch(/…cdef$/);
  });
});

describe("spec: How-To Guide", () => {
  it('"Disabled keys are excluded from the rotation but their configuration is preserved"', async () => {
    await using pool = await poolOf(gateway, { weights: [3, 1] });
    const [a] = pool.keys;

    await gateway.api("PATCH", `/keys/${a?.id}`, { enabled: false });
    const without = await pool.turns(3);
    const kept = await pool.key("A");
    await gateway.api("PATCH", `/keys/${a?.id}`, { enabled: true });

    expect(without).toBe("BBB");
    expect(kept).toMatchObject({ label: "A", weight: 3, api_key: a?.api_key, status: "disabled" });
    expect(sharesOf(await pool.turns(4))).toBe("AAAB");
  });

  it('"Confirm the deletion (this action cannot be undone)"', async () => {
    await using pool = await poolOf(gateway);
    const [a] = pool.keys;

    await gateway.api("DELETE", `/keys/${a?.id}`);

    expect((await gateway.apiResponse("GET", `/keys/${a?.id}`)).status).toBe(404);
    expect((await gateway.keys(pool.record)).map((key) => key.label)).toEqual(["B"]);
    expect(await pool.turns(2)).toBe("BB");
  });

  it('"Modify the Weight value (1–100)": it counts from the next request on', async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });

    await gateway.api("PATCH", `/keys/${pool.keys[1]?.id}`, { weight: 3 });

    expect(await pool.turns(8)).toBe("ABBBABBB");
  });
});
