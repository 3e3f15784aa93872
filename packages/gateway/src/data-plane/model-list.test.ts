import { reply } from "@keywheel/testkit";
import { Secret } from "@keywheel/pool";
import { describe, expect, it } from "vitest";
import { benchKeys, type Bench, openDataPlane } from "./data-plane.test-bench.ts";
import { listModels, type ModelList } from "./model-list.ts";

const secret = new Secret(benchKeys[0] ?? "");

function listOf({ runtime, upstream }: Bench): Promise<ModelList> {
  return listModels(runtime, secret, upstream);
}

describe("a provider's models", () => {
  it.each([
    ["openai", "/v1/models"],
    ["anthropic", "/v1/models?limit=1000"],
    ["gemini", "/v1beta/models?pageSize=1000"],
    ["openai-compatible", "/models"],
    ["azure-openai", "/openai/deployments?api-version=2022-12-01"],
  ] as const)("of kind %s are asked for at %s, with the key where it wants it", async (kind, path) => {
    const bench = await openDataPlane({ kind });
    bench.provider.on().next(reply.json(200, {}, { data: [{ id: "m" }] }));

    expect(await listOf(bench)).toEqual({ ok: true, models: ["m"] });

    expect(bench.provider.requests.map(({ url }) => url)).toEqual([path]);
    expect(bench.provider.picks()).toBe("A");
    expect(bench.provider.faults).toEqual([]);
  });

  it.each([
    ["OpenAI", { data: [{ id: "gpt-5" }, { id: "gpt-4" }, { id: "gpt-5" }] }, ["gpt-5", "gpt-4"]],
    [
      "Gemini",
      {
        models: [
          { name: "models/gemini-x", supportedGenerationMethods: ["generateContent"] },
          { name: "models/embed-x", supportedGenerationMethods: ["embedContent"] },
        ],
      },
      ["gemini-x"],
    ],
    ["a bare list", [{ id: "llama" }, { nothing: 1 }, 7], ["llama"]],
  ])("are read from %s", async (_, answer, models) => {
    const bench = await openDataPlane();
    bench.provider.on().next(reply.json(200, {}, answer));

    expect(await listOf(bench)).toEqual({ ok: true, models });
  });

  it("may be very many", async () => {
    const bench = await openDataPlane();
    const data = Array.from({ length: 5_000 }, (_, n) => ({ id: `model-${n}`, description: "x".repeat(200) }));
    bench.provider.on().next(reply.json(200, {}, { data }));

    expect(await listOf(bench)).toMatchObject({ ok: true, models: { length: 5_000 } });
  });

  it.each([
    [reply.json(401, {}, { error: { message: "no" } }), 401],
    [reply.json(403, {}, { error: { message: "Missing scopes: api.model.read" } }), 403],
    [reply.json(200, {}, { nothing: true }), 200],
    [reply.status(200, {}, "<html>"), 200],
    [reply.cutInBody("rst", { sent: '{"data": [' }), 200],
  ])("that are not told are no list, and judge no key (%#)", async (answer, httpStatus) => {
    const bench = await openDataPlane();
    bench.provider.on().next(answer);

    expect(await listOf(bench)).toMatchObject({ ok: false, httpStatus });

    expect(bench.events).toEqual([]);
    expect((await bench.pool.preview(3))[0]).toBe(benchKeys[0]);
  });
});
