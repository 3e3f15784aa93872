import { describe, expect, it } from "vitest";
import type { ProviderKind } from "./kinds.ts";
import { organizationIn } from "./organizations.ts";

const answer = {
  "openai-organization": "acme-inc",
  "anthropic-organization-id": "9f2c6a3e-0000-4000-8000-000000000001",
  "openai-project": "proj_test",
};

describe("the organization of an answer", () => {
  it.each<[ProviderKind, string | undefined]>([
    ["openai", "acme-inc"],
    ["openai-compatible", "acme-inc"],
    ["anthropic", "9f2c6a3e-0000-4000-8000-000000000001"],
    ["gemini", undefined],
    ["azure-openai", undefined],
  ])("of %s is %s", (kind, organization) => {
    expect(organizationIn(kind, (name) => answer[name as keyof typeof answer])).toBe(organization);
  });

  it.each([undefined, "", "  ", "two words", "x".repeat(201), "bad\u0007sign"])("is none in %j", (told) => {
    expect(organizationIn("openai", () => told)).toBeUndefined();
  });
});
