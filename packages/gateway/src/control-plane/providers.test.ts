import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ControlBench, openControlBench } from "./control-plane.test-bench.ts";

let bench: ControlBench;
beforeAll(async () => {
  bench = await openControlBench();
});
beforeEach(() => bench.clean());
afterAll(() => bench.close());

/** Everything that a refused call must leave as it was. */
async function everything(): Promise<unknown> {
  const stored = await bench.store.load();
  return { stored, shown: (await bench.call("GET", "/api/providers")).body, told: [...bench.told] };
}

describe("adding a provider", () => {
  it.each([
    [{ preset: "openai" }, { slug: "openai", name: "OpenAI", kind: "openai", base_url: "https://api.openai.com/v1" }],
    [{ kind: "anthropic" }, { slug: "anthropic", preset: "anthropic", base_url: "https://api.anthropic.com/v1" }],
    [{ base_url: "https://api.groq.com/openai/v1/" }, { slug: "groq", preset: "groq", kind: "openai-compatible" }],
    [{ preset: "gemini" }, { slug: "gemini", name: "Google Gemini", kind: "gemini" }],
    [
      { base_url: "http://127.0.0.1:9999/v1", kind: "anthropic", slug: "local" },
      { slug: "local", name: "local", preset: null, kind: "anthropic" },
    ],
    [
      { base_url: "https://api.openai.com/v1", preset: null },
      { preset: null, kind: "openai" },
    ],
    [
      { base_url: "http://10.0.0.5/v1", preset: "vllm" },
      { preset: "vllm", kind: "openai-compatible", name: "vLLM" },
    ],
    [
      { base_url: "https://llm.example.com/v1", name: "My Own" },
      { slug: "my-own", preset: null, enabled: true },
    ],
    [{ base_url: "https://llm.example.com/v1" }, { slug: "llm-example-com", name: "llm.example.com" }],
    [
      { base_url: "https://llm.example.com/v1", name: "공급자" },
      { slug: "llm-example-com", name: "공급자" },
    ],
  ])("fills in what follows from the rest: %j", async (body, expected) => {
    const { status, body: provider, headers } = await bench.call("POST", "/api/providers", body);

    expect(status).toBe(201);
    expect(provider).toMatchObject(expected);
    expect(headers.get("location")).toBe(`/api/providers/${provider.id}`);
    expect((await bench.call("GET", `/api/providers/${provider.id}`)).body).toEqual(provider);
    expect((await bench.call("GET", `/api/providers/${provider.slug}`)).body).toEqual(provider);
    expect(provider.id).toMatch(/^prv_[a-z2-7]{20}$/);
  });

  it("shows every setting, defaults filled in", async () => {
    const { body } = await bench.call("POST", "/api/providers", {
      preset: "openai",
      settings: { cooldown: { base_ms: 100 } },
    });

    expect(body.settings).toEqual({
      cooldown: { base_ms: 100, cap_ms: 900_000, scope: "key" },
      affinity: { enabled: true, idle_ttl_ms: 86_400_000 },
      retry: { provider_errors: 0 },
      timeouts: { connect_ms: 10_000, headers_ms: 900_000, idle_ms: 900_000 },
      max_body_bytes: 67_108_864,
    });
  });

  it("gives a second one of the same preset a slug of its own", async () => {
    await bench.addProvider({ preset: "openai", base_url: undefined });

    expect((await bench.call("POST", "/api/providers", { preset: "openai" })).body.slug).toBe("openai-2");
  });

  it("masks the provider-level key", async () => {
    const literal = await bench.call("POST", "/api/providers", { preset: "openai", api_key: " sk-proj-1234567890 " });
    const reference = await bench.call("POST", "/api/providers", { preset: "openai", api_key: "$NAME" });

    expect([literal.body.api_key, reference.body.api_key]).toEqual(["sk-…7890", "$NAME"]);
  });

  it("serves at once under its slug, and not while it is disabled", async () => {
    const id = await bench.addProvider({ slug: "mine" });
    expect(bench.catalog.bySlug("mine")?.record.id).toBe(id);

    await bench.call("PATCH", "/api/providers/mine", { enabled: false });

    expect(bench.catalog.bySlug("mine")?.record.enabled).toBe(false);
  });

  it("refuses a slug that is taken", async () => {
    await bench.addProvider({ slug: "mine" });
    const before = await everything();

    const { status, body } = await bench.call("POST", "/api/providers", { preset: "openai", slug: "mine" });

    expect([status, body.code, body.errors[0].path]).toEqual([409, "conflict", "slug"]);
    expect(await everything()).toEqual(before);
  });
});

describe("changing a provider", () => {
  beforeEach(() => bench.addProvider({ slug: "mine", base_url: "https://a.example.com/v1", name: "Mine" }));

  it("changes what is named and nothing else", async () => {
    const before = (await bench.call("GET", "/api/providers/mine")).body;
    bench.clock.advance(1_000);

    const { status, body } = await bench.call("PATCH", "/api/providers/mine", { name: "Ours" });

    expect(status).toBe(200);
    expect(body).toEqual({ ...before, name: "Ours", updated_at: "2026-01-01T00:00:01.000Z" });
    expect(bench.told.at(-1)).toBe("provider-changed");
  });

  it("takes the whole object back as GET showed it", async () => {
    const before = (await bench.call("GET", "/api/providers/mine")).body;

    const { status, body } = await bench.call("PATCH", "/api/providers/mine", before);

    expect([status, body]).toEqual([200, { ...before, updated_at: body.updated_at }]);
  });

  it("refuses to move what identifies it", async () => {
    const { status, body } = await bench.call("PATCH", "/api/providers/mine", { id: "prv_other", created_at: null });

    expect([status, body.errors.map((error: { path: string }) => error.path)]).toEqual([422, ["id", "created_at"]]);
  });

  it("moves to another slug and leaves the old one", async () => {
    await bench.call("PATCH", "/api/providers/mine", { slug: "ours" });

    expect((await bench.call("GET", "/api/providers/ours")).status).toBe(200);
    expect((await bench.call("GET", "/api/providers/mine")).body.code).toBe("unknown_provider");
    expect(bench.catalog.bySlug("ours")).toBeDefined();
  });

  it("refuses a slug that another one has", async () => {
    await bench.addProvider({ slug: "other" });

    expect((await bench.call("PATCH", "/api/providers/mine", { slug: "other" })).status).toBe(409);
  });

  it("merges settings and brings defaults back for null", async () => {
    await bench.call("PATCH", "/api/providers/mine", { settings: { cooldown: { base_ms: 500, cap_ms: 800 } } });
    const one = await bench.call("PATCH", "/api/providers/mine", { settings: { cooldown: { scope: "model" } } });
    const two = await bench.call("PATCH", "/api/providers/mine", {
      settings: { cooldown: { base_ms: null, cap_ms: null } },
    });

    expect(one.body.settings.cooldown).toEqual({ base_ms: 500, cap_ms: 800, scope: "model" });
    expect(two.body.settings.cooldown).toEqual({ base_ms: 60_000, cap_ms: 900_000, scope: "model" });
    expect((await bench.call("PATCH", "/api/providers/mine", { settings: null })).body.settings.cooldown.scope).toBe(
      "key",
    );
  });

  it("removes the provider-level key for null and keeps it when left out", async () => {
    await bench.call("PATCH", "/api/providers/mine", { api_key: "sk-proj-1234567890" });
    const kept = await bench.call("PATCH", "/api/providers/mine", { name: "Kept" });
    expect(bench.catalog.bySlug("mine")?.providerSecret()?.reveal()).toBe("sk-proj-1234567890");
    const removed = await bench.call("PATCH", "/api/providers/mine", { api_key: null });

    expect([kept.body.api_key, removed.body.api_key]).toEqual(["sk-…7890", null]);
    expect(bench.catalog.bySlug("mine")?.providerSecret()).toBeUndefined();
  });

  it("is over a restart as it was before", async () => {
    await bench.call("PATCH", "/api/providers/mine", { api_key: "$X", settings: { retry: { provider_errors: 2 } } });
    const before = (await bench.call("GET", "/api/providers")).body;

    await bench.restart();

    expect((await bench.call("GET", "/api/providers")).body).toEqual(before);
  });
});

describe("another host", () => {
  const elsewhere = { base_url: "https://b.example.com/v1" };
  beforeEach(() => bench.addProvider({ slug: "mine", base_url: "https://a.example.com/v1" }));

  it("is taken without asking while no key is stored", async () => {
    expect((await bench.call("PATCH", "/api/providers/mine", elsewhere)).body.base_url).toBe(elsewhere.base_url);
  });

  it.each([
    ["a key in the pool", async () => void (await bench.addKey("mine"))],
    [
      "a provider-level key",
      async () => void (await bench.call("PATCH", "/api/providers/mine", { api_key: "sk-proj-1" })),
    ],
  ])("needs a word of consent with %s", async (_, store) => {
    await store();
    const before = await everything();

    const refused = await bench.call("PATCH", "/api/providers/mine", elsewhere);

    expect([refused.status, refused.body.code]).toEqual([409, "conflict"]);
    expect(refused.body.detail).toBe(
      "The stored keys of this provider would be sent to b.example.com instead of a.example.com",
    );
    expect(refused.body.hint).toContain("confirm_host_change");
    expect(await everything()).toEqual(before);
    const confirmed = await bench.call("PATCH", "/api/providers/mine", { ...elsewhere, confirm_host_change: true });
    expect([confirmed.status, confirmed.body.base_url]).toEqual([200, elsewhere.base_url]);
  });

  it.each(["http://a.example.com/v1", "https://a.example.com:8443/v1"])(
    "is also another scheme or port: %s",
    async (url) => {
      await bench.addKey("mine");

      expect((await bench.call("PATCH", "/api/providers/mine", { base_url: url })).status).toBe(409);
    },
  );

  it("is not another path", async () => {
    await bench.addKey("mine");

    expect((await bench.call("PATCH", "/api/providers/mine", { base_url: "https://a.example.com/v2" })).status).toBe(
      200,
    );
  });
});

describe("deleting a provider", () => {
  it("takes its keys and its pool with it", async () => {
    const id = await bench.addProvider({ slug: "mine" });
    const key = await bench.addKey("mine");

    expect((await bench.call("DELETE", "/api/providers/mine")).status).toBe(204);

    expect((await bench.call("GET", `/api/keys/${key.id}`)).status).toBe(404);
    expect((await bench.call("GET", `/api/providers/${id}/keys`)).status).toBe(404);
    expect(bench.catalog.bySlug("mine")).toBeUndefined();
    expect(await bench.state.snapshot(id).catch(() => "no pool")).toBe("no pool");
    expect(await bench.store.load()).toMatchObject({ providers: [], keys: [] });
    expect(bench.told.at(-1)).toBe("provider-deleted");
  });

  it("answers 404 for an unknown one", async () => {
    expect((await bench.call("DELETE", "/api/providers/none")).body.code).toBe("unknown_provider");
  });
});

describe("a store that fails", () => {
  it.each([
    ["insertProvider", "POST", "/api/providers", { preset: "openai" }],
    ["updateProvider", "PATCH", "/api/providers/mine", { name: "Other" }],
    ["deleteProvider", "DELETE", "/api/providers/mine", undefined],
  ] as const)("leaves everything as it was: %s", async (method, verb, path, body) => {
    await bench.addProvider({ slug: "mine" });
    const before = await everything();
    bench.breakStore(method);

    const answer = await bench.call(verb, path, body);

    expect([answer.status, answer.body.code]).toEqual([503, "store_unavailable"]);
    bench.breakStore(undefined);
    expect(await everything()).toEqual(before);
    expect((await bench.call(verb, path, body)).status).toBeLessThan(300);
  });
});

it("lists the presets to choose from", async () => {
  const { body } = await bench.call("GET", "/api/provider-presets");

  expect(body.data).toHaveLength(22);
  expect(body.data[0]).toEqual({
    slug: "openai",
    name: "OpenAI",
    kind: "openai",
    base_url: "https://api.openai.com/v1",
  });
});
