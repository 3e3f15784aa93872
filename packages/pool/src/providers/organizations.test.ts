import { describe, expect, it } from "vitest";
import type { ProviderKind } from "./kinds.ts";
import { organizationIn, ownerAt, projectIn } from "./organizations.ts";

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

  it.each<[ProviderKind, string | undefined]>([
    ["openai", "proj_test"],
    ["openai-compatible", "proj_test"],
    ["anthropic", undefined],
    ["azure-openai", undefined],
  ])("has as its project, of %s, %s", (kind, project) => {
    expect(projectIn(kind, (name) => answer[name as keyof typeof answer])).toBe(project);
  });

  it.each<[ProviderKind, string, string | undefined]>([
    ["azure-openai", "mine.openai.azure.com", "mine.openai.azure.com"],
    ["azure-openai", "mine.cognitiveservices.azure.com", "mine.cognitiveservices.azure.com"],
    ["azure-openai", "mine.services.ai.azure.com", "mine.services.ai.azure.com"],
    ["azure-openai", "mine.openai.azure.us", "mine.openai.azure.us"],
    ["azure-openai", "api.example.com", undefined],
    ["azure-openai", "openai.azure.com.example.com", undefined],
    ["openai", "mine.openai.azure.com", undefined],
  ])("is that of the address, of %s at %s: %s", (kind, host, owner) => {
    expect(ownerAt(kind, host)).toBe(owner);
  });

  it.each([undefined, "", "  ", "two words", "x".repeat(201), "bad\u0007sign"])("is none in %j", (told) => {
    expect(organizationIn("openai", () => told)).toBeUndefined();
  });
});
