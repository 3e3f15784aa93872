import { describe, expect, it } from "vitest";
import { presetSlugs } from "../contract/provider.ts";
import { parseBaseUrl } from "./base-url.ts";
import { kindOfUrl, presetBySlug, presetOfKind, presetOfUrl, providerPresets } from "./presets.ts";

describe("presets", () => {
  it("are those of the contract, each once", () => {
    expect(providerPresets.map(({ slug }) => slug)).toEqual([...presetSlugs]);
  });

  it("have base URLs that are taken, but for Azure's, which holds a placeholder", () => {
    const refused = providerPresets.filter(({ baseUrl }) => !parseBaseUrl(baseUrl, { allowPrivateMetadata: false }).ok);

    expect(refused.map(({ slug }) => slug)).toEqual(["azure"]);
  });

  it("are recognised by their own base URL, but for vLLM, whose port is everybody's", () => {
    const unknown = providerPresets.filter(
      ({ slug, baseUrl }) => presetOfUrl(baseUrl.replace(/[{}]/g, ""))?.slug !== slug,
    );

    expect(unknown.map(({ slug }) => slug)).toEqual(["vllm"]);
  });

  it.each([
    ["https://eu.api.openai.com/v1", "openai"],
    ["https://my-res.cognitiveservices.azure.com/openai", "azure"],
    ["https://api.moonshot.cn/v1", "moonshot"],
    ["https://api.kimi.com/coding/", "moonshot"],
    ["https://api.z.ai/api/paas/v4", "zhipu"],
    ["https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "dashscope"],
    ["https://api.cohere.ai/compatibility/v1", "cohere"],
    ["http://127.0.0.1:11434", "ollama"],
    ["http://127.0.0.1:18080/v1", undefined],
    ["https://openai.com.evil.example/v1", undefined],
    ["https://notopenai.com/v1", undefined],
  ])("are inferred from the host: %s", (url, slug) => {
    expect(presetOfUrl(url)?.slug).toBe(slug);
  });

  it.each([
    ["https://api.anthropic.com/v1", "anthropic"],
    ["https://api.deepseek.com", "openai-compatible"],
    ["https://api.deepseek.com/anthropic", "anthropic"],
    ["https://generativelanguage.googleapis.com/v1beta", "gemini"],
    ["https://generativelanguage.googleapis.com/v1beta/openai", "openai-compatible"],
    ["https://example.com/v1", "openai-compatible"],
  ])("give the kind under %s", (url, kind) => {
    expect(kindOfUrl(url, presetOfUrl(url))).toBe(kind);
  });

  it("stand in for a kind that is one vendor's own", () => {
    expect(presetOfKind("anthropic")).toBe(presetBySlug("anthropic"));
    expect(presetOfKind("openai-compatible")).toBeUndefined();
  });
});
