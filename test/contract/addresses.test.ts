import { runGateway, type RunningGateway, type ScriptedKind } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { callOnWire } from "../wire-client.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

/** Where the request for `slug + asked` arrives at a provider whose base URL has the path `base`. */
async function arrivesAt(kind: ScriptedKind, base: string, asked: string): Promise<string | undefined> {
  await using pool = await poolOf(gateway, { kind, weights: [1], provider: { basePath: base, kind: playedBy(kind) } });
  await callOnWire(gateway.url, { path: `/${pool.record.slug}${asked}` });
  return pool.provider.requests[0]?.url;
}

/** Kinds with a path of their own choosing are played by the generic provider, which answers anywhere. */
function playedBy(kind: ScriptedKind): ScriptedKind {
  return kind === "openai" ? "openai-compatible" : kind;
}

describe("contract: No doubled or missing slash, no doubled version segment", () => {
  it.each<[ScriptedKind, base: string, asked: string, expected: string]>([
    ["openai", "/v1", "/chat/completions", "/v1/chat/completions"],
    ["openai", "/v1", "/v1/chat/completions", "/v1/chat/completions"],
    ["openai", "/v1/", "/v1/chat/completions", "/v1/chat/completions"],
    ["openai", "/v1/", "/chat/completions", "/v1/chat/completions"],
    ["openai", "/v1", "/v10/models", "/v1/v10/models"],
    ["openai", "/v1", "/v1beta/models", "/v1/v1beta/models"],
    ["openai", "/v1", "/models?a=1&a=2", "/v1/models?a=1&a=2"],
    ["openai", "/v1", "/models?q=%20+%2B&flag&empty=", "/v1/models?q=%20+%2B&flag&empty="],
    ["openai", "/v1", "/files/a%2Fb%20c", "/v1/files/a%2Fb%20c"],
    ["openai", "/v1", "/models/caf%C3%A9;v=1,2", "/v1/models/caf%C3%A9;v=1,2"],
    ["openai-compatible", "", "/chat/completions", "/chat/completions"],
    ["openai-compatible", "", "/v1/chat/completions", "/v1/chat/completions"],
    ["openai-compatible", "/openai/v1", "/v1/chat/completions", "/openai/v1/chat/completions"],
    ["openai-compatible", "/openai/v1", "/openai/v1/chat/completions", "/openai/v1/chat/completions"],
    ["openai-compatible", "/api/paas/v4", "/chat/completions", "/api/paas/v4/chat/completions"],
    ["openai-compatible", "/api/paas/v4", "/v4/chat/completions", "/api/paas/v4/chat/completions"],
    ["openai-compatible", "/api/paas/v4", "/v1/chat/completions", "/api/paas/v4/v1/chat/completions"],
    ["anthropic", "/v1", "/v1/messages/count_tokens?beta=true", "/v1/messages/count_tokens?beta=true"],
    ["anthropic", "/v1", "/messages", "/v1/messages"],
    ["gemini", "/v1beta", "/v1beta/models/gemini-test:generateContent", "/v1beta/models/gemini-test:generateContent"],
    ["gemini", "/v1beta", "/models/gemini-test:generateContent", "/v1beta/models/gemini-test:generateContent"],
    ["gemini", "/v1beta", "/upload/v1beta/files", "/upload/v1beta/files"],
    ["azure-openai", "/openai", "/openai/v1/models", "/openai/v1/models"],
    ["azure-openai", "/openai", "/v1/models", "/openai/v1/models"],
    [
      "azure-openai",
      "/openai",
      "/deployments/d/chat/completions?api-version=1",
      "/openai/deployments/d/chat/completions?api-version=1",
    ],
  ])("%s with base %j: %s arrives at %s", async (kind, base, asked, expected) => {
    expect(await arrivesAt(kind, base, asked)).toBe(expected);
  });

  it.each([
    "/../admin",
    "/v1/../../admin",
    "/%2e%2e/admin",
    "/v1/%2E%2E/admin",
    "/v1/..%2fadmin",
    "/v1/%252e%252e/admin",
    "/v1/..\\admin",
    "/v1/..%5cadmin",
    "/./models",
  ])("refuses %s, which could leave the base path", async (asked) => {
    await using pool = await poolOf(gateway, { weights: [1] });

    const answer = await callOnWire(gateway.url, { path: `/${pool.record.slug}${asked}` });

    expect([answer.status, answer.header("x-keywheel-error")]).toEqual([400, "invalid_request"]);
    expect(pool.provider.requests).toHaveLength(0);
  });

  it.each(["//evil.example/x", "/http://evil.example/x", "/@evil.example/x", "/v1//models"])(
    "never takes %s for another host",
    async (asked) => {
      await using pool = await poolOf(gateway, {
        kind: "openai",
        weights: [1],
        provider: { kind: "openai-compatible", basePath: "/v1" },
      });

      await callOnWire(gateway.url, { path: `/${pool.record.slug}${asked}` });

      for (const request of pool.provider.requests) {
        expect(request.url).toMatch(/^\/v1\//);
        expect(request.header("host")).toBe(new URL(pool.provider.origin).host);
      }
    },
  );

  it("reaches any method and any endpoint", async () => {
    await using pool = await poolOf(gateway, { kind: "openai-compatible", weights: [1] });

    for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "POST"]) {
      await callOnWire(gateway.url, { method, path: `/${pool.record.slug}/any/thing` });
    }

    expect(pool.provider.requests.map((request) => `${request.method} ${request.url}`)).toEqual(
      ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "POST"].map((method) => `${method} /any/thing`),
    );
  });
});
