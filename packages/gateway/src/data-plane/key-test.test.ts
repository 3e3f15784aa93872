import { describe, expect, it } from "vitest";
import { reply } from "@keywheel/testkit";
import { benchKeys, clock, failuresOf, openDataPlane } from "./data-plane.test-bench.ts";
import { testKey } from "./key-test.ts";

const [keyA = ""] = benchKeys;

describe("testing a key", () => {
  it.each(["openai", "anthropic", "gemini", "openai-compatible"] as const)(
    "asks the provider with exactly that key, where kind %s wants it",
    async (kind) => {
      const { provider, runtime, upstream } = await openDataPlane({ kind });

      const outcome = await testKey(runtime, keyA, upstream, clock);

      expect(outcome).toMatchObject({ ok: true, code: "ok", httpStatus: 200 });
      expect(provider.picks()).toBe("A");
      expect(provider.faults).toEqual([]);
    },
  );

  it.each([
    [401, "authentication_failed"],
    [429, "rate_limited"],
    [402, "quota_exhausted"],
    [500, "provider_error"],
  ])("says what %i means, and changes nothing", async (status, code) => {
    const bench = await openDataPlane();
    bench.provider.on().always(reply.json(status, {}, { error: { message: "No." } }));

    const outcome = await testKey(bench.runtime, keyA, bench.upstream, clock);

    expect(outcome).toMatchObject({ ok: false, code, httpStatus: status, message: "No." });
    expect(await failuresOf(bench)).toEqual([0, 0, 0]);
    expect((await bench.pool.preview(3)).length).toBe(3);
  });

  it("says that nobody answers", async () => {
    const bench = await openDataPlane({ baseUrl: "http://127.0.0.1:9/v1" });

    expect(await testKey(bench.runtime, keyA, bench.upstream, clock)).toMatchObject({
      ok: false,
      code: "upstream_unreachable",
    });
  });
});
