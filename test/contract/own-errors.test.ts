import { createServer, type Socket } from "node:net";
import { reply, runGateway, startScriptedProvider, type RunningGateway, type ScriptedKind } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { callOnWire } from "../wire-client.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const kinds: ScriptedKind[] = ["openai", "anthropic", "gemini", "azure-openai", "openai-compatible"];

/** What an SDK of this kind looks for in an error's body. */
const shapes: Record<ScriptedKind, object> = {
  openai: { error: { message: expect.any(String), type: expect.any(String), param: null, code: expect.any(String) } },
  "azure-openai": { error: { message: expect.any(String), code: expect.any(String) } },
  "openai-compatible": { error: { message: expect.any(String) } },
  anthropic: { type: "error", error: { type: expect.any(String), message: expect.any(String) } },
  gemini: { error: { code: expect.any(Number), message: expect.any(String), status: expect.any(String) } },
};

async function expectOwnError(response: Response, kind: ScriptedKind, code: string, status: number): Promise<void> {
  expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([status, code]);
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  expect(await response.json()).toMatchObject(shapes[kind]);
}

describe.each(kinds)("contract: errors that the gateway itself makes have the provider's shape (%s)", (kind) => {
  it("pool_exhausted, 429, with retry-after in whole seconds until the first key is back", async () => {
    await using pool = await poolOf(gateway, { kind, settings: { cooldown: { base_ms: 2_500, cap_ms: 5_000 } } });
    for (const value of pool.values) pool.provider.forKey(value).always(reply.status(429));

    const response = await pool.send();

    expect(response.headers.get("retry-after")).toBe("3");
    await expectOwnError(response, kind, "pool_exhausted", 429);
  });

  it(`pool_exhausted, ${kind === "anthropic" ? 529 : 503}, when overload alone emptied the pool`, async () => {
    await using pool = await poolOf(gateway, { kind });
    for (const value of pool.values) pool.provider.forKey(value).always(reply.status(529));

    await expectOwnError(await pool.send(), kind, "pool_exhausted", kind === "anthropic" ? 529 : 503);
  });

  it("no_usable_key, 503", async () => {
    await using pool = await poolOf(gateway, { kind, weights: [] });

    await expectOwnError(await pool.send(), kind, "no_usable_key", 503);
  });

  it("upstream_unreachable, 502", async () => {
    await using pool = await poolOf(gateway, { kind });
    await pool.provider.close();

    await expectOwnError(await pool.send(), kind, "upstream_unreachable", 502);
    expect((await pool.key("A")).status).toBe("available");
  });

  it("upstream_timeout, 504, when no response headers come in time", async () => {
    await using pool = await poolOf(gateway, { kind, settings: { timeouts: { headers_ms: 150 } } });
    pool.provider.on().always(reply.hang());

    const response = await pool.send();

    await expectOwnError(response, kind, "upstream_timeout", 504);
    expect(pool.provider.picks()).toBe("A");
    expect(await pool.key("A")).toMatchObject({ status: "available", consecutive_failures: 0 });
  });

  it("body_too_large, 413, told by length and found out on the way", async () => {
    await using pool = await poolOf(gateway, { kind, settings: { max_body_bytes: 1_000 } });

    const told = await pool.send({ body: "x".repeat(1_001) });
    const chunked = await fetch(`${pool.baseUrl}/x`, {
      method: "POST",
      body: new Blob(["x".repeat(1_001)]).stream(),
      duplex: "half",
    });

    await expectOwnError(told, kind, "body_too_large", 413);
    await expectOwnError(chunked, kind, "body_too_large", 413);
    expect(pool.provider.requests.filter((request) => request.bodyComplete)).toHaveLength(0);
  });

  it("invalid_request, 400, for what cannot be forwarded", async () => {
    await using pool = await poolOf(gateway, { kind });

    const answer = await callOnWire(gateway.url, { path: `/${pool.record.slug}/..%2f..` });

    expect([answer.status, answer.header("x-keywheel-error")]).toEqual([400, "invalid_request"]);
    expect(answer.json()).toMatchObject(shapes[kind]);
  });

  it("unknown_provider, 404, while the provider is disabled", async () => {
    await using pool = await poolOf(gateway, { kind });

    await gateway.api("PATCH", `/providers/${pool.record.id}`, { enabled: false });

    await expectOwnError(await pool.send(), kind, "unknown_provider", 404);
    expect(pool.provider.requests).toHaveLength(0);
  });
});

describe("contract: errors that the gateway itself makes", () => {
  it("unknown_provider, 404, for a slug that nobody has", async () => {
    const response = await fetch(`${gateway.url}/nobody/v1/models`);

    expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([404, "unknown_provider"]);
    expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
  });

  it("blames no key while the network is down, and serves with the first request after", async () => {
    await using pool = await poolOf(gateway);
    const { port } = pool.provider;
    await pool.provider.close();

    const down = await Promise.all(Array.from({ length: 20 }, () => pool.send()));
    await using back = await startScriptedProvider({ keys: pool.values, port });
    const up = await pool.send();

    expect(new Set(down.map((response) => response.status))).toEqual(new Set([502]));
    expect(up.status).toBe(200);
    expect(back.requests).toHaveLength(1);
    const keys = await gateway.keys(pool.record);
    expect(keys.map((key) => [key.status, key.consecutive_failures])).toEqual([
      ["available", 0],
      ["available", 0],
    ]);
  });

  it("answers at once when every key rests, and never waits a cooldown out", async () => {
    await using pool = await poolOf(gateway);
    for (const value of pool.values) pool.provider.forKey(value).always(reply.status(429));
    await (await pool.send()).arrayBuffer();

    const began = performance.now();
    const response = await pool.send();

    expect(response.status).toBe(429);
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it("tells a provider that accepts and says nothing from one that cannot be reached", async () => {
    // Connections stand, and nothing is ever said on them.
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as { port: number };
    const provider = await gateway.addProvider({
      slug: "silent",
      baseUrl: `http://127.0.0.1:${port}/v1`,
      settings: { timeouts: { headers_ms: 150 } },
    });
    await gateway.addKeys(provider, ["sk-test-silent-0123456789abcdef"]);

    const response = await fetch(`${gateway.baseUrlOf(provider)}/models`);

    expect(response.headers.get("x-keywheel-error")).toBe("upstream_timeout");
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
});
