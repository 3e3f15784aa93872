import type { Provider } from "../../api/openapi.ts";

/** Text to copy into a terminal or a program. */
export interface Snippet {
  readonly id:
    | "snippetCurl"
    | "snippetOpenAiPython"
    | "snippetOpenAiJs"
    | "snippetAnthropicPython"
    | "snippetAnthropicJs"
    | "snippetClaudeCode"
    | "snippetCodex"
    | "snippetGeminiPython"
    | "snippetGeminiJs"
    | "snippetGeminiCli";
  readonly code: string;
}

export interface SnippetOptions {
  readonly kind: Provider["kind"];
  /** `http://127.0.0.1:8787/openai`. */
  readonly url: string;
  /** What stands where the client wants a key. */
  readonly token: string;
}

/** The calls that a client of this kind of provider makes, aimed at the gateway. */
export function snippetsFor({ kind, url, token }: SnippetOptions): readonly Snippet[] {
  switch (kind) {
    case "openai":
    case "openai-compatible":
      return openAi(url, token);
    case "anthropic":
      return anthropic(url, token);
    case "gemini":
      return gemini(url, token);
    case "azure-openai":
      return azure(url, token);
  }
}

function openAi(url: string, token: string): readonly Snippet[] {
  return [
    {
      id: "snippetCurl",
      code: `curl ${url}/v1/chat/completions \\
  -H "authorization: Bearer ${token}" \\
  -H "content-type: application/json" \\
  -d '{"model": "gpt-5-mini", "messages": [{"role": "user", "content": "Hello"}]}'`,
    },
    {
      id: "snippetOpenAiPython",
      code: `from openai import OpenAI

client = OpenAI(base_url="${url}/v1", api_key="${token}")`,
    },
    {
      id: "snippetOpenAiJs",
      code: `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${url}/v1", apiKey: "${token}" });`,
    },
    {
      id: "snippetCodex",
      // As `keywheel connect codex` writes it.
      code: `# ~/.codex/config.toml
model_provider = "keywheel"

[model_providers.keywheel]
name = "Keywheel"
base_url = "${url}/v1"
wire_api = "responses"
experimental_bearer_token = "${token}"`,
    },
  ];
}

function anthropic(url: string, token: string): readonly Snippet[] {
  return [
    {
      id: "snippetCurl",
      code: `curl ${url}/v1/messages \\
  -H "x-api-key: ${token}" \\
  -H "anthropic-version: 2023-06-01" \\
  -H "content-type: application/json" \\
  -d '{"model": "claude-sonnet-5-5", "max_tokens": 64, "messages": [{"role": "user", "content": "Hello"}]}'`,
    },
    {
      id: "snippetClaudeCode",
      code: `export ANTHROPIC_BASE_URL="${url}"
export ANTHROPIC_AUTH_TOKEN="${token}"
claude`,
    },
    {
      id: "snippetAnthropicPython",
      code: `from anthropic import Anthropic

client = Anthropic(base_url="${url}", api_key="${token}")`,
    },
    {
      id: "snippetAnthropicJs",
      code: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: "${url}", apiKey: "${token}" });`,
    },
  ];
}

function gemini(url: string, token: string): readonly Snippet[] {
  return [
    {
      id: "snippetCurl",
      code: `curl ${url}/v1beta/models/gemini-2.5-flash:generateContent \\
  -H "x-goog-api-key: ${token}" \\
  -H "content-type: application/json" \\
  -d '{"contents": [{"parts": [{"text": "Hello"}]}]}'`,
    },
    {
      id: "snippetGeminiPython",
      code: `from google import genai

client = genai.Client(api_key="${token}", http_options={"base_url": "${url}"})`,
    },
    {
      id: "snippetGeminiJs",
      code: `import { GoogleGenAI } from "@google/genai";

const client = new GoogleGenAI({ apiKey: "${token}", httpOptions: { baseUrl: "${url}" } });`,
    },
    {
      id: "snippetGeminiCli",
      code: `export GOOGLE_GEMINI_BASE_URL="${url}"
export GEMINI_API_KEY="${token}"
gemini`,
    },
  ];
}

function azure(url: string, token: string): readonly Snippet[] {
  return [
    {
      id: "snippetCurl",
      code: `curl "${url}/deployments/YOUR-DEPLOYMENT/chat/completions?api-version=2024-10-21" \\
  -H "api-key: ${token}" \\
  -H "content-type: application/json" \\
  -d '{"messages": [{"role": "user", "content": "Hello"}]}'`,
    },
    {
      id: "snippetOpenAiPython",
      code: `from openai import AzureOpenAI

client = AzureOpenAI(azure_endpoint="${url}", api_key="${token}", api_version="2024-10-21")`,
    },
    {
      id: "snippetOpenAiJs",
      code: `import { AzureOpenAI } from "openai";

const client = new AzureOpenAI({ endpoint: "${url}", apiKey: "${token}", apiVersion: "2024-10-21" });`,
    },
  ];
}
