import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlBench, openControlBench } from "./control-plane.test-bench.ts";

// One bench for all: each row checks that nothing has changed, so the next finds what the first one found.
let bench: ControlBench;
let keyId: string;
beforeAll(async () => {
  bench = await openControlBench();
  await bench.addProvider({ slug: "mine", base_url: "https://llm.example.com/v1" });
  keyId = (await bench.addKey("mine")).id;
});
afterAll(() => bench.close());

const keys = "/api/providers/mine/keys";

async function everything(): Promise<unknown> {
  const stored = await bench.store.load();
  const shown = [(await bench.call("GET", "/api/providers")).body, (await bench.call("GET", keys)).body];
  return { stored, shown, told: [...bench.told] };
}

const wrongProviders: [object | string, string, RegExp][] = [
  [{}, "base_url", /missing/],
  [{ preset: "azure" }, "base_url", /placeholder/],
  [{ preset: "nope" }, "preset", /^Expected `preset` to be one of openai, .*, or null, got "nope"$/],
  [{ kind: "openai " }, "kind", /one of openai, anthropic/],
  [{ preset: "openai", slug: "api" }, "slug", /needs the path/],
  [{ preset: "openai", slug: "v1" }, "slug", /needs the path/],
  [{ preset: "openai", slug: "Open AI" }, "slug", /lower-case/],
  [{ preset: "openai", slug: "" }, "slug", /lower-case/],
  [{ preset: "openai", name: "" }, "name", /1 to 200/],
  [{ preset: "openai", name: "a\nb" }, "name", /line breaks/],
  [{ preset: "openai", name: 3 }, "name", /Expected `name` to be text/],
  [{ preset: "openai", enabled: "yes" }, "enabled", /true or false, got "yes"/],
  [{ base_url: "http://169.254.169.254" }, "base_url", /metadata/],
  [{ base_url: "http://2852039166" }, "base_url", /metadata/],
  [{ base_url: "https://u:p@example.com" }, "base_url", /credentials/],
  [{ base_url: "https://example.com?x=1" }, "base_url", /query/],
  [{ base_url: "https://exam\nple.com" }, "base_url", /line break/],
  [{ base_url: "example.com" }, "base_url", /https/],
  [{ base_url: 1 }, "base_url", /URL, got 1/],
  [{ preset: "openai", api_key: "k1,k2" }, "api_key", /comma/],
  [{ preset: "openai", api_key: "sk-…9f2c" }, "api_key", /masked/],
  [{ preset: "openai", api_key: 5 }, "api_key", /Expected `api_key`/],
  [{ preset: "openai", extra: 1 }, "extra", /no field `extra`/],
  [{ preset: "openai", id: "prv_x" }, "id", /no field `id`/],
  [
    { preset: "openai", settings: { cooldown: { base_ms: 99 } } },
    "settings.cooldown.base_ms",
    /100 to 86400000, got 99/,
  ],
  [{ preset: "openai", settings: { cooldown: { base_ms: "1" } } }, "settings.cooldown.base_ms", /integer/],
  [{ preset: "openai", settings: { cooldown: { base_ms: 1e6 } } }, "settings.cooldown.cap_ms", /at least `base_ms`/],
  [{ preset: "openai", settings: { cooldown: { scope: "all" } } }, "settings.cooldown.scope", /"key" or "model"/],
  [{ preset: "openai", settings: { cooldown: 5 } }, "settings.cooldown", /object/],
  [{ preset: "openai", settings: { cooldown: { base: 5 } } }, "settings.cooldown.base", /no field/],
  [{ preset: "openai", settings: { max_body_bytes: 0.5 } }, "settings.max_body_bytes", /integer/],
  [{ preset: "openai", settings: { timeouts: { headers_ms: -1 } } }, "settings.timeouts.headers_ms", /got -1/],
  [{ preset: "openai", settings: { retry: { provider_errors: 11 } } }, "settings.retry.provider_errors", /0 to 10/],
  [[], "", /the body to be an object/],
  ["null", "", /the body to be an object, got null/],
  ['"text"', "", /the body to be an object/],
];

describe("a wrong provider", () => {
  it.each(wrongProviders)("adds nothing: %j", async (body, path, message) => {
    const before = await everything();

    const answer = await bench.call("POST", "/api/providers", body);

    expect(answer.status).toBe(422);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.body).toMatchObject({ status: 422, code: "validation_failed" });
    expect(answer.body.errors).toContainEqual(
      expect.objectContaining({ path, message: expect.stringMatching(message), code: expect.any(String) }),
    );
    expect(await everything()).toEqual(before);
  });

  it.each(wrongProviders.filter(([body]) => !Array.isArray(body) && JSON.stringify(body).length > 20))(
    "changes nothing: %j",
    async (body, path) => {
      const before = await everything();

      // Presets and ids are no mistake in a change where they are one in a new provider.
      const answer = await bench.call("PATCH", "/api/providers/mine", body);

      expect(answer.status).toBe(422);
      expect(answer.body.errors.map((error: { path: string }) => error.path)).toContain(path);
      expect(await everything()).toEqual(before);
    },
  );

  it.each(["/api/providers", keys, `${keys}/import`, "/api/tokens"])(
    "misses its fields where nothing was sent to %s",
    async (path) => {
      const answer = await bench.call("POST", path);

      expect([answer.status, answer.body.code]).toEqual([422, "validation_failed"]);
      expect(answer.body.errors[0]?.message).toMatch(/ is missing/);
    },
  );

  it("names every wrong field at once", async () => {
    const { body } = await bench.call("POST", "/api/providers", { preset: "x", name: "", enabled: 1, more: 2 });

    expect(body.errors.map((error: { path: string }) => error.path).sort()).toEqual([
      "enabled",
      "more",
      "name",
      "preset",
    ]);
  });
});

const wrongKeys: [object, string, RegExp][] = [
  [{ weight: 0 }, "weight", /^Expected `weight` to be an integer from 1 to 100, got 0$/],
  [{ weight: 101 }, "weight", /got 101$/],
  [{ weight: -3 }, "weight", /got -3$/],
  [{ weight: 1.5 }, "weight", /got 1.5$/],
  [{ weight: "3" }, "weight", /got "3"$/],
  [{ weight: null }, "weight", /got null$/],
  [{ enabled: "true" }, "enabled", /true or false/],
  [{ enabled: null }, "enabled", /true or false/],
  [{ order: 1.5 }, "order", /integer/],
  [{ order: "1" }, "order", /integer/],
  [{ label: "x".repeat(201) }, "label", /200 characters/],
  [{ label: "a\r\nb" }, "label", /line breaks/],
  [{ label: 7 }, "label", /text/],
  [{ label: null }, "label", /text/],
  [{ api_key: "" }, "api_key", /empty/],
  [{ api_key: " \ufeff\n" }, "api_key", /empty/],
  [{ api_key: null }, "api_key", /Expected `api_key`/],
  [{ api_key: 12345 }, "api_key", /Expected `api_key`/],
  [{ api_key: ["k1"] }, "api_key", /got a list/],
  [{ api_key: "k1,k2" }, "api_key", /comma/],
  [{ api_key: "k1\nk2" }, "api_key", /line break at position 3/],
  [{ api_key: "k1 k2" }, "api_key", /white space at position 3/],
  [{ api_key: "sk-abc123••••" }, "api_key", /masked/],
  [{ api_key: "sk-…9f2c" }, "api_key", /masked/],
  [{ api_key: "${NAME}" }, "api_key", /braces/],
  [{ api_key: "$" }, "api_key", /no name/],
  [{ api_key: "$A$B" }, "api_key", /single/],
  [{ api_key: "x".repeat(5000) }, "api_key", /4096/],
  [{ unknown: 1 }, "unknown", /no field `unknown`/],
  [{ apiKey: "k" }, "apiKey", /no field `apiKey`/],
];

describe("a wrong key", () => {
  it.each(wrongKeys)("adds nothing: %j", async (fields, path, message) => {
    const before = await everything();

    const { status, body } = await bench.call("POST", keys, { api_key: "sk-good-value-1", ...fields });

    expect([status, body.code]).toEqual([422, "validation_failed"]);
    expect(body.errors).toContainEqual(
      expect.objectContaining({ path, message: expect.stringMatching(message), code: expect.any(String) }),
    );
    expect(await everything()).toEqual(before);
  });

  it.each(wrongKeys)("changes nothing: %j", async (fields, path, message) => {
    const before = await everything();

    const { status, body } = await bench.call("PATCH", `/api/keys/${keyId}`, { label: "new", ...fields });

    expect(status).toBe(422);
    expect(body.errors).toContainEqual(
      expect.objectContaining({ path, message: expect.stringMatching(message), code: expect.any(String) }),
    );
    expect(await everything()).toEqual(before);
  });

  it("never repeats what was typed as a key", async () => {
    const { body } = await bench.call("POST", keys, { api_key: { secret: "sk-typed-secret" }, weight: 0 });
    const other = await bench.call("POST", keys, { api_key: "sk-typed-secret\nmore" });

    expect(JSON.stringify([body, other.body])).not.toContain("typed");
  });

  it("misses the key itself", async () => {
    expect((await bench.call("POST", keys, { label: "x" })).body.errors).toEqual([
      {
        path: "api_key",
        message: "`api_key` is missing: expected a key, or `$NAME` for an environment variable",
        code: "missing",
      },
    ]);
  });
});
