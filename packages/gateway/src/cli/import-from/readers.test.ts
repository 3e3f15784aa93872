import { createCipheriv, randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { foreignFolder, taken } from "./foreign.test-bench.ts";
import { readers } from "./readers.ts";
import { foreignTools } from "./tools.ts";

const { path, file } = foreignFolder();

describe("LiteLLM", () => {
  // As its page on config.yaml has it (https://docs.litellm.ai/docs/proxy/configs, of 2026-10-13).
  it("brings the keys of its models, references as references", async () => {
    file(
      "config.yaml",
      `include: [more.yaml]
model_list:
  - model_name: gpt
    litellm_params: { model: openai/gpt-5, api_key: os.environ/OPENAI_KEY_1, rpm: 60, weight: 2, organization: org-Invented }
  - model_name: gpt
    litellm_params: { model: gpt-5-mini, api_key: sk-invented-2 }
  - model_name: gpt-cheap
    litellm_params: { model: openai/gpt-5-nano, api_key: os.environ/OPENAI_KEY_1 }
  - model_name: claude
    litellm_params: { model: anthropic/claude-opus, api_key: sk-invented-3 }
  - model_name: own
    litellm_params: { model: hosted_vllm/llama, api_base: "http://10.0.0.7:8000/v1", api_key: sk-invented-4 }
  - model_name: azure-gpt
    litellm_params: { model: azure/gpt, api_base: os.environ/AZURE_BASE, api_key: os.environ/AZURE_KEY }
  - model_name: bedrock
    litellm_params: { model: bedrock/claude, aws_region_name: eu }
  - model_name: local
    litellm_params: { model: ollama/llama }
  - model_name: unset
    litellm_params: { model: openai/x, api_base: os.environ/NOT_SET, api_key: sk-invented-5 }
general_settings: { master_key: sk-invented-master }
`,
    );
    file(
      "more.yaml",
      "model_list:\n  - model_name: included\n    litellm_params: { model: xai/grok, api_key: xai-invented }\n",
    );

    const found = await taken("litellm", path("."), { AZURE_BASE: "https://mine.openai.azure.com/openai" });

    expect(found.pools).toEqual({
      "openai https://api.openai.com/v1 (openai)": ["$OPENAI_KEY_1 gpt×2 @org-Invented", "sk-invented-2 gpt×1"],
      "anthropic https://api.anthropic.com/v1 (anthropic)": ["sk-invented-3 claude×1"],
      "10-0-0-7 http://10.0.0.7:8000/v1 (openai-compatible)": ["sk-invented-4 own×1"],
      "azure https://mine.openai.azure.com/openai (azure-openai)": ["$AZURE_KEY azure-gpt×1"],
      "xai https://api.x.ai/v1 (openai-compatible)": ["xai-invented included×1"],
    });
    expect(found.left.map((line) => line.split(":")[0])).toEqual([
      'model "bedrock"',
      'model "local"',
      'model "unset"',
      "the names of models (`model_name`) and their prices",
      "general_settings",
    ]);
    expect(found.left.join()).not.toContain("invented");
  });

  it("takes what a model does not say from its credential, and then from the variable of its vendor", async () => {
    const config = file(
      "config.yaml",
      `credential_list:
  - credential_name: relay
    credential_values: { api_key: os.environ/RELAY_KEY, api_base: "https://relay.example/v1" }
    credential_info: { description: "a relay" }
environment_variables: { GROQ_API_KEY: gsk-invented-1 }
model_list:
  - model_name: gpt
    litellm_params: { model: openai/gpt-5, litellm_credential_name: relay }
  - model_name: gone
    litellm_params: { model: openai/gpt-5, litellm_credential_name: other }
  - model_name: claude
    litellm_params: { model: anthropic/claude-opus }
  - model_name: llama
    litellm_params: { model: groq/llama }
  - model_name: qwen
    litellm_params: { model: dashscope/qwen-max }
`,
    );

    const { pools, left } = await taken("litellm", config);

    expect(pools).toEqual({
      "relay-example https://relay.example/v1 (openai-compatible)": ["$RELAY_KEY gpt×1"],
      "anthropic https://api.anthropic.com/v1 (anthropic)": ["$ANTHROPIC_API_KEY claude×1"],
      "groq https://api.groq.com/openai/v1 (openai-compatible)": ["gsk-invented-1 llama×1"],
      // Its keys are of the site for the rest of the world, and are not known at the other one.
      "dashscope https://dashscope-intl.aliyuncs.com/compatible-mode/v1 (openai-compatible)": [
        "$DASHSCOPE_API_KEY qwen×1",
      ],
    });
    expect(left[0]).toBe('model "gone": its `litellm_credential_name` is in no `credential_list`');
  });

  it("says which included file is not there", async () => {
    const config = file("config.yaml", "include: [absent.yaml]\nmodel_list: []\n");

    await expect(taken("litellm", config)).rejects.toThrow(/absent\.yaml cannot be read: there is no such file/);
  });
});

// As its config.example.yaml has it (000913a, 7.x).
it("CLIProxyAPI: brings the keys of its sections, and none of its sign-ins", async () => {
  file(
    "config.yaml",
    `port: 8317
auth-dir: "~/.cli-proxy-api"
api-keys: [client-1, client-2]
gemini-api-key:
  - api-key: AIzaSyInvented1
    weight: 5
  - api-key: AIzaSyInvented2
    base-url: "https://generativelanguage.googleapis.com"
    excluded-models: [a]
claude-api-key:
  - api-key: sk-invented-3
    weight: 0
  - api-key: sk-invented-9
    base-url: "https://claude.example"
codex-api-key:
  - api-key: sk-invented-4
    base-url: "https://relay.example/v1"
openai-compatibility:
  - name: openrouter
    base-url: "https://openrouter.ai/api/v1"
    api-key-entries: [{ api-key: sk-invented-5, weight: 1000 }, { api-key: sk-invented-6 }]
  - name: old
    disabled: true
    base-url: "https://old.example/v1"
    api-keys: [sk-invented-7]
vertex-api-key:
  - api-key: vk-invented-8
`,
  );
  mkdirSync(path("auths"));
  file("auths/codex-ada@example.com.json", '{"type":"codex","access_token":"invented-token"}');

  const found = await taken("cliproxyapi", path("."));

  expect(found.pools).toEqual({
    "gemini https://generativelanguage.googleapis.com/v1beta (gemini)": [
      "AIzaSyInvented1 gemini-api-key 1×5",
      "AIzaSyInvented2 gemini-api-key 2×1",
    ],
    "anthropic https://api.anthropic.com/v1 (anthropic)": ["[sk-invented-3 claude-api-key 1×1]"],
    "claude-example https://claude.example/v1 (anthropic)": ["sk-invented-9 claude-api-key 2×1"],
    "relay-example https://relay.example/v1 (openai-compatible)": ["sk-invented-4 codex-api-key 1×1"],
    "openrouter https://openrouter.ai/api/v1 (openai-compatible)": [
      "sk-invented-5 openrouter 1×100",
      "sk-invented-6 openrouter 2×1",
    ],
    "[old https://old.example/v1 (openai-compatible)]": ["sk-invented-7 old×1"],
  });
  expect(found.left.map((line) => line.split(":")[0])).toEqual([
    "codex-ada@example.com.json (codex)",
    "2 of `api-keys`",
    "vertex-api-key",
    "excluded-models of its keys",
    "the sign-ins in ~/.cli-proxy-api",
    "the weight 1000 of openrouter",
  ]);
  expect(found.left.join()).not.toMatch(/invented/i);
});

// As packages/daemon/src/config.ts (00de0ca) and secrets (481b9cf) have it.
describe("omnicross", () => {
  const masterKey = randomBytes(32);
  const sealed = (text: string): string => {
    const nonce = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", masterKey, nonce);
    const body = Buffer.concat([cipher.update(text), cipher.final()]);
    return ["enc", "v1", ...[nonce, cipher.getAuthTag(), body].map((part) => part.toString("base64"))].join(":");
  };
  const config = (): string =>
    JSON.stringify({
      providers: [
        {
          id: "p",
          apiFormat: "openai",
          baseUrl: "https://api.openai.com/v1",
          apiKey: "sk-unused",
          apiKeys: [
            { id: "k1", apiKey: sealed("sk-invented-1"), weight: 3, label: "Production" },
            { id: "k2", apiKey: "$OAI", enabled: false },
          ],
        },
        {
          id: "single",
          name: "Single",
          apiFormat: "anthropic",
          baseUrl: "https://relay.example",
          apiKey: "sk-invented-2",
        },
      ],
      admin: { token: "invented" },
    });

  it("brings its pools, sealed values with its master key", async () => {
    const configFile = file("config.json", config());

    expect(await taken("omnicross", configFile, { OMNICROSS_MASTER_KEY: masterKey.toString("base64") })).toEqual({
      pools: {
        "openai https://api.openai.com/v1 (openai)": ["sk-invented-1 Production×3", "[$OAI k2×1]"],
        "single https://relay.example (anthropic)": ["sk-invented-2 ×1"],
      },
      left: ["`admin`: it is about omnicross itself"],
    });
    file("master.key", masterKey);
    expect((await taken("omnicross", dirname(configFile))).left).toHaveLength(1);
  });

  it("says which values it cannot open", async () => {
    const configFile = file("config.json", config());
    const { left } = await taken("omnicross", configFile, { OMNICROSS_MASTER_KEY: "a".repeat(64) });

    expect(left[0]).toMatch(/^key k1 of provider "p": it is sealed/);
  });
});

it.each(foreignTools)(
  "says of a file that is not one of %s that it is none, and repeats nothing of it",
  async (tool) => {
    for (const content of [
      "api_key: *sk-invented-1\n- x",
      '{"apiKey": "sk-invented-1",',
      '{"apiKey": "sk-invented-1"}',
      "PK\u0003\u0004sk-invented-1",
    ]) {
      const other = file("other", content);
      const error = await readers[tool]({ path: other, environment: {} }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(Error);
      expect(String(error)).toContain(other);
      expect(String(error)).not.toContain("invented");
    }
    await expect(readers[tool]({ path: path("absent"), environment: {} })).rejects.toThrow("there is no such file");
  },
);
