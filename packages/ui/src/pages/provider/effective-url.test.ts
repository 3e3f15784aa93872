import { expect, it } from "vitest";
import { effectiveUrl } from "./effective-url.ts";

it.each([
  ["openai", "https://api.openai.com/v1", "/v1/chat/completions", "https://api.openai.com/v1/chat/completions"],
  ["openai", "https://api.openai.com/v1/", "/v1/chat/completions", "https://api.openai.com/v1/chat/completions"],
  [
    "openai-compatible",
    "https://api.deepseek.com",
    "/v1/chat/completions",
    "https://api.deepseek.com/v1/chat/completions",
  ],
  [
    "openai-compatible",
    "https://open.bigmodel.cn/api/paas/v4",
    "/chat/completions",
    "https://open.bigmodel.cn/api/paas/v4/chat/completions",
  ],
  ["anthropic", "https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages"],
  [
    "azure-openai",
    "https://a.openai.azure.com/openai",
    "/openai/deployments/…",
    "https://a.openai.azure.com/openai/deployments/…",
  ],
] as const)("sends a usual call of %s with the base URL %s on as it should go", (kind, baseUrl, call, sentTo) => {
  expect(effectiveUrl(kind, baseUrl)).toEqual({ call, sentTo });
});
