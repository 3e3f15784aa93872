import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinPath, refusePath } from "./addresses.ts";
import type { ProviderKind } from "./kinds.ts";

describe("joining a client's path to the base path (case 61)", () => {
  it.each<[kind: ProviderKind, base: string, rest: string, joined: string]>([
    ["openai", "/v1", "/chat/completions", "/v1/chat/completions"],
    ["openai", "/v1", "/v1/chat/completions", "/v1/chat/completions"],
    ["openai", "/v1/", "/v1/chat/completions", "/v1/chat/completions"],
    ["openai", "/v1", "//chat/completions", "/v1/chat/completions"],
    ["openai", "/v1", "/v10/chat", "/v1/v10/chat"],
    ["openai", "/v1", "/v1beta/chat", "/v1/v1beta/chat"],
    ["openai", "/v1", "/v1", "/v1"],
    ["openai", "/v1", "", "/v1"],
    ["openai", "/v1", "/", "/v1"],
    ["openai", "/v1", "/files/v1/content", "/v1/files/v1/content"],
    ["openai", "", "/v1/chat/completions", "/v1/chat/completions"],
    ["openai", "", "", "/"],
    ["openai-compatible", "/api/paas/v4", "/chat/completions", "/api/paas/v4/chat/completions"],
    ["openai-compatible", "/api/paas/v4", "/v4/chat/completions", "/api/paas/v4/chat/completions"],
    ["openai-compatible", "/api/v1", "/api/v1/chat/completions", "/api/v1/chat/completions"],
    ["openai-compatible", "/openai/v1", "/openai/v1/models", "/openai/v1/models"],
    ["openai-compatible", "/custom", "/custom/x", "/custom/custom/x"],
    ["openai-compatible", "/custom", "/v1/x", "/custom/v1/x"],
    ["anthropic", "/v1", "/v1/messages", "/v1/messages"],
    ["anthropic", "/v1", "/messages", "/v1/messages"],
    ["gemini", "/v1beta", "/v1beta/models/g:generateContent", "/v1beta/models/g:generateContent"],
    ["gemini", "/v1beta", "/models/g:generateContent", "/v1beta/models/g:generateContent"],
    ["gemini", "/v1beta", "/v1alpha/models/g:generateContent", "/v1alpha/models/g:generateContent"],
    ["gemini", "/v1beta", "/upload/v1beta/files", "/upload/v1beta/files"],
    ["gemini", "/proxy/v1beta", "/ws/service", "/proxy/ws/service"],
    ["gemini", "", "/v1beta/models", "/v1beta/models"],
    ["azure-openai", "/openai", "/openai/deployments/d/chat/completions", "/openai/deployments/d/chat/completions"],
    ["azure-openai", "/openai", "/deployments/d/chat/completions", "/openai/deployments/d/chat/completions"],
    ["azure-openai", "/openai/v1", "/openai/v1/responses", "/openai/v1/responses"],
  ])("%s: base %s with %s gives %s", (kind, base, rest, joined) => {
    expect(joinPath(kind, base, rest)).toBe(joined);
  });

  it("never leaves the base path nor doubles a slash at the seam, whatever the client asks for", () => {
    const segment = fc.constantFrom("v1", "chat", "a%20b", "x.y", "-", "%2e%2ex");
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 5 }), fc.nat(3), (segments, slashes) => {
        const joined = joinPath("openai", "/base/v1", "/".repeat(slashes) + segments.join("/"));
        expect(joined.startsWith("/base/v1")).toBe(true);
        expect(joined).not.toContain("//");
      }),
    );
  });
});

describe("paths that are refused (case 104)", () => {
  it.each([
    "/../admin",
    "/a/../b",
    "/a/..",
    "/./a",
    "/%2e%2e/admin",
    "/%2E./admin",
    "/.%2e/admin",
    "/a/%2e",
    "/a%2f..%2fb",
    "/a/%252e%252e/b",
    "/a%5c..%5cb",
    "/a\\..\\b",
    "/a b",
    "/ä",
  ])("%s", (path) => {
    expect(refusePath(path)).toBeTypeOf("string");
  });

  it.each([
    "",
    "/",
    "/v1/models/a..b",
    "/files/file-1.tar.gz",
    "/models/org%2Fmodel",
    "/a%20b",
    "/...",
    "/v1/.well-known/x",
  ])("but not %s", (path) => {
    expect(refusePath(path)).toBeUndefined();
  });
});
