import { createCipheriv, createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { strToU8, zipSync } from "fflate";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { exportDocumentSchema } from "../../contract/transfer.ts";
import { documentOf } from "./document.ts";
import { readers } from "./readers.ts";
import type { ForeignTool } from "./tools.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keywheel-foreign-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, content: string | Uint8Array = ""): string => {
  const path = join(folder, name);
  if (content !== "") writeFileSync(path, content);
  return path;
};

/** Providers as `slug base URL (kind)` with their keys as `key label×weight`, those that are off in brackets; what is left. */
async function taken(tool: ForeignTool, path: string, environment: Record<string, string> = {}) {
  const { document, left } = documentOf(await readers[tool]({ path, environment }), 0);
  // What the gateway takes is what its contract says.
  expect(exportDocumentSchema.safeParse(document).success).toBe(true);
  const off = (text: string, enabled: boolean): string => (enabled ? text : `[${text}]`);
  return {
    pools: Object.fromEntries(
      document.providers.map(({ slug, base_url: url, kind, enabled, keys }) => [
        off(`${slug} ${url} (${kind})`, enabled),
        keys.map((key) =>
          off(`${typeof key.api_key === "string" ? key.api_key : "?"} ${key.label}×${key.weight}`, key.enabled),
        ),
      ]),
    ),
    left: left.map(({ what, why }) => `${what}: ${why}`),
  };
}

describe("gpt-load 1.x", () => {
  /** As gorm makes its tables. */
  function database(rows: (insert: (table: string, fields: Record<string, string | number>) => void) => void): string {
    const path = file("gpt-load.db");
    const db = new DatabaseSync(path);
    db.exec(`
      CREATE TABLE \`groups\` (\`id\` integer PRIMARY KEY AUTOINCREMENT, \`name\` varchar(255) NOT NULL UNIQUE,
        \`display_name\` varchar(255), \`proxy_keys\` text, \`description\` varchar(512), \`upstreams\` json NOT NULL,
        \`validation_endpoint\` varchar(255), \`channel_type\` varchar(50) NOT NULL, \`sort\` integer DEFAULT 0,
        \`test_model\` varchar(255) NOT NULL DEFAULT '', \`param_overrides\` json, \`config\` json, \`header_rules\` json);
      CREATE TABLE \`api_keys\` (\`id\` integer PRIMARY KEY AUTOINCREMENT, \`key_value\` text NOT NULL,
        \`key_hash\` varchar(128), \`group_id\` integer NOT NULL, \`status\` varchar(50) NOT NULL DEFAULT 'active',
        \`notes\` varchar(255) DEFAULT '');`);
    rows((table, fields) => {
      const names = Object.keys(fields);
      const query = `INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => "?").join()})`;
      db.prepare(query).run(...Object.values(fields));
    });
    db.close();
    return path;
  }
  const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

  it("brings groups with their keys, and says what of them is left behind", async () => {
    const path = database((insert) => {
      insert("groups", {
        name: "main",
        channel_type: "openai",
        upstreams: '[{"url":"https://api.openai.com","weight":1},{"url":"https://b.example","weight":1}]',
        config: '{"max_retries":3}',
        param_overrides: "{}",
        proxy_keys: "client-1",
      });
      insert("groups", {
        name: "claude",
        channel_type: "anthropic",
        upstreams: '[{"url":"https://relay.example/a/"}]',
      });
      insert("groups", { name: "other", channel_type: "suno", upstreams: "[]" });
      insert("api_keys", { key_value: "sk-invented-1", key_hash: sha256("sk-invented-1"), group_id: 1, notes: "Ada" });
      insert("api_keys", { key_value: "sk-invented-2", key_hash: "", group_id: 1, status: "invalid" });
      insert("api_keys", { key_value: "sk-invented-3", group_id: 2 });
    });

    expect(await taken("gpt-load", path)).toEqual({
      pools: {
        "openai https://api.openai.com/v1 (openai)": ["sk-invented-1 Ada×1", "[sk-invented-2 ×1]"],
        "claude https://relay.example/a (anthropic)": ["sk-invented-3 ×1"],
      },
      left: [
        '1 more upstreams of group "main": a provider has one base URL here: the keys go to the first upstream alone',
        'config of group "main": its own settings',
        'proxy_keys of group "main": keys of its clients: make gateway tokens instead',
        'group "other": its channel type suno is not known here',
      ],
    });
  });

  it("opens values that are encrypted with its ENCRYPTION_KEY, and takes none of them for a key without it", async () => {
    const key = pbkdf2Sync("invented-encryption-key", "gpt-load-encryption-v1", 100_000, 32, "sha256");
    const nonce = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", key, nonce);
    const sealed = Buffer.concat([nonce, cipher.update("sk-invented-1"), cipher.final(), cipher.getAuthTag()]);
    const path = database((insert) => {
      insert("groups", { name: "main", channel_type: "openai", upstreams: '[{"url":"https://api.openai.com"}]' });
      const hash = createHmac("sha256", key).update("sk-invented-1").digest("hex");
      insert("api_keys", { key_value: sealed.toString("hex"), key_hash: hash, group_id: 1 });
    });

    const opened = await taken("gpt-load", path, { ENCRYPTION_KEY: "invented-encryption-key" });
    expect(opened.pools).toEqual({ "openai https://api.openai.com/v1 (openai)": ["sk-invented-1 ×1"] });
    const others: Record<string, string>[] = [{}, { ENCRYPTION_KEY: "another-key" }];
    for (const environment of others) {
      const { pools, left } = await taken("gpt-load", path, environment);
      expect(pools).toEqual({});
      expect(left[0]).toContain("ENCRYPTION_KEY");
    }
  });
});

describe("new-api and one-api", () => {
  function database(channels: readonly Record<string, string | number>[]): string {
    const path = file("one-api.db");
    const db = new DatabaseSync(path);
    db.exec(`
      CREATE TABLE \`channels\` (\`id\` integer PRIMARY KEY AUTOINCREMENT, \`type\` integer DEFAULT 0, \`key\` text NOT NULL,
        \`status\` integer DEFAULT 1, \`name\` text, \`weight\` integer DEFAULT 0, \`base_url\` text DEFAULT '',
        \`other\` text, \`models\` text, \`group\` varchar(64) DEFAULT 'default', \`model_mapping\` text,
        \`priority\` bigint DEFAULT 0, \`channel_info\` json, \`param_override\` text);
      CREATE TABLE \`tokens\` (\`id\` integer PRIMARY KEY AUTOINCREMENT, \`key\` char(48));
      INSERT INTO tokens (key) VALUES ('clientkey');`);
    for (const channel of channels) {
      const names = Object.keys(channel);
      const query = `INSERT INTO channels (${names.map((name) => `\`${name}\``).join()}) VALUES (${names.map(() => "?").join()})`;
      db.prepare(query).run(...Object.values(channel));
    }
    db.close();
    return path;
  }

  it("brings channels of one place as one pool, several keys of one channel each with its switch", async () => {
    const path = database([
      { type: 1, key: "sk-invented-1", name: "A", weight: 3 },
      { type: 1, key: "sk-invented-2", name: "B", status: 3, priority: 5, model_mapping: '{"a":"b"}' },
      {
        type: 14,
        key: "sk-invented-3\nsk-invented-4",
        name: "C",
        channel_info:
          '{"is_multi_key":true,"multi_key_size":2,"multi_key_status_list":{"1":3},"multi_key_mode":"polling"}',
      },
      { type: 8, key: "sk-invented-5", name: "Relay", base_url: "https://relay.example" },
      { type: 45, key: "sk-invented-6", name: "Ark" },
      { type: 33, key: "id|secret|region", name: "AWS" },
      { type: 3, key: "sk-invented-7", name: "Azure" },
      { type: 26, key: "sk-invented-8", name: "GLM", weight: 400 },
    ]);

    expect(await taken("new-api", path)).toEqual({
      pools: {
        "openai https://api.openai.com/v1 (openai)": ["sk-invented-1 A×3", "[sk-invented-2 B×1]"],
        "anthropic https://api.anthropic.com/v1 (anthropic)": ["sk-invented-3 C×1", "[sk-invented-4 C×1]"],
        "relay https://relay.example/v1 (openai-compatible)": ["sk-invented-5 Relay×1"],
        "ark https://ark.cn-beijing.volces.com/api/v3 (openai-compatible)": ["sk-invented-6 Ark×1"],
        "zhipu https://open.bigmodel.cn/api/paas/v4 (openai-compatible)": ["sk-invented-8 GLM×100"],
      },
      left: [
        'the priority of channel 2 "B": all keys of a pool take their turns; weights say how often',
        'model_mapping of channel 2 "B": requests go on as clients send them',
        'channel 6 "AWS": keys of its type (33 of new-api) cannot be sent on as they are',
        'channel 7 "Azure": it has no base URL',
        "1 tokens: keys of clients: make gateway tokens instead (keywheel token create)",
        'the weight 400 of zhipu: key "GLM": it is 100: they go from 1 to 100',
      ],
    });
  });

  it("reads the numbers of one-api as one-api has them, and a list as JSON", async () => {
    const channels = [
      { id: 1, type: 29, key: "gsk_invented_1", name: "Groq", status: 1 },
      { id: 2, type: 26, key: "sk-invented-2", name: "Baichuan", status: 1 },
      { id: 3, type: 1, key: "", name: "Listed", status: 1 },
    ];
    const path = file("channels.json", JSON.stringify({ success: true, data: channels }));

    expect(await taken("one-api", path)).toEqual({
      pools: { "groq https://api.groq.com/openai/v1 (openai-compatible)": ["gsk_invented_1 Groq×1"] },
      left: [
        'channel 2 "Baichuan": keys of its type (26 of one-api) cannot be sent on as they are',
        'channel 3 "Listed": it comes without a key, as all do that its API lists: give the database file',
      ],
    });
  });
});

it("LiteLLM: brings the keys of its models, references as references", async () => {
  const path = file(
    "config.yaml",
    `model_list:
  - model_name: gpt
    litellm_params: { model: openai/gpt-5, api_key: os.environ/OPENAI_KEY_1, rpm: 60, weight: 2 }
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
  - model_name: unsaid
    litellm_params: { model: groq/llama }
  - model_name: unset
    litellm_params: { model: openai/x, api_base: os.environ/NOT_SET, api_key: sk-invented-5 }
general_settings: { master_key: sk-invented-master }
`,
  );

  const found = await taken("litellm", path, { AZURE_BASE: "https://mine.openai.azure.com/openai" });

  expect(found.pools).toEqual({
    "openai https://api.openai.com/v1 (openai)": ["$OPENAI_KEY_1 gpt×2", "sk-invented-2 gpt×1"],
    "anthropic https://api.anthropic.com/v1 (anthropic)": ["sk-invented-3 claude×1"],
    "10-0-0-7 http://10.0.0.7:8000/v1 (openai-compatible)": ["sk-invented-4 own×1"],
    "azure https://mine.openai.azure.com/openai (azure-openai)": ["$AZURE_KEY azure-gpt×1"],
  });
  expect(found.left.map((line) => line.split(":")[0])).toEqual([
    'model "bedrock"',
    'model "unsaid"',
    'model "unset"',
    "the names of models (`model_name`) and their prices",
    "general_settings",
  ]);
  expect(found.left.join()).not.toContain("invented");
});

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
  mkdirSync(join(folder, "auths"));
  file("auths/codex-ada@example.com.json", '{"type":"codex","access_token":"invented-token"}');

  const found = await taken("cliproxyapi", folder);

  expect(found.pools).toEqual({
    "gemini https://generativelanguage.googleapis.com/v1beta (gemini)": [
      "AIzaSyInvented1 gemini-api-key 1×5",
      "AIzaSyInvented2 gemini-api-key 2×1",
    ],
    "anthropic https://api.anthropic.com/v1 (anthropic)": ["[sk-invented-3 claude-api-key 1×1]"],
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
    const path = file("config.json", config());

    expect(await taken("omnicross", path, { OMNICROSS_MASTER_KEY: masterKey.toString("base64") })).toEqual({
      pools: {
        "openai https://api.openai.com/v1 (openai)": ["sk-invented-1 Production×3", "[$OAI k2×1]"],
        "single https://relay.example (anthropic)": ["sk-invented-2 ×1"],
      },
      left: ["`admin`: it is about omnicross itself"],
    });
    writeFileSync(join(folder, "master.key"), masterKey);
    expect((await taken("omnicross", folder)).left).toHaveLength(1);
  });

  it("says which values it cannot open", async () => {
    const path = file("config.json", config());
    const { left } = await taken("omnicross", path, { OMNICROSS_MASTER_KEY: "a".repeat(64) });

    expect(left[0]).toMatch(/^key k1 of provider "p": it is sealed/);
  });
});

describe("Cherry Studio", () => {
  const backup = (): string =>
    JSON.stringify({
      time: 1,
      version: 5,
      localStorage: {
        "persist:cherry-studio": JSON.stringify({
          llm: JSON.stringify({
            providers: [
              {
                id: "openai",
                name: "OpenAI",
                type: "openai",
                apiKey: "sk-invented-1, sk-invented-2",
                apiHost: "https://api.openai.com",
                enabled: true,
                models: [],
              },
              {
                id: "zhipu",
                name: "ZhiPu",
                type: "openai",
                apiKey: "sk-invented-3",
                apiHost: "https://open.bigmodel.cn/api/paas/v4/",
                enabled: false,
                models: [],
              },
              {
                id: "u-1",
                name: "Mine",
                type: "anthropic",
                apiKey: "sk-invented-4",
                apiHost: "https://relay.example",
                enabled: true,
                models: [],
              },
              {
                id: "u-2",
                name: "One path",
                type: "openai",
                apiKey: "sk-invented-5",
                apiHost: "https://x.example/chat#",
                enabled: true,
                models: [],
              },
              {
                id: "vertexai",
                name: "VertexAI",
                type: "vertexai",
                apiKey: "x",
                apiHost: "",
                enabled: true,
                models: [],
              },
              {
                id: "groq",
                name: "Groq",
                type: "openai",
                apiKey: "",
                apiHost: "https://api.groq.com/openai",
                enabled: false,
                models: [],
              },
            ],
          }),
        }),
      },
      indexedDB: {},
    });

  it("brings the providers of a backup that have keys", async () => {
    const zip = file(
      "cherry-studio.zip",
      zipSync({ "data.json": strToU8(backup()), "Data/Files/a.txt": strToU8("x") }),
    );
    const plain = file("data.json", backup());

    const found = await taken("cherry-studio", zip);
    expect(found).toEqual({
      pools: {
        "openai https://api.openai.com/v1 (openai)": ["sk-invented-1 ×1", "sk-invented-2 ×1"],
        "[zhipu https://open.bigmodel.cn/api/paas/v4 (openai-compatible)]": ["sk-invented-3 ×1"],
        "mine https://relay.example/v1 (anthropic)": ["sk-invented-4 ×1"],
      },
      left: [
        'provider "One path": its address is that of one single endpoint (`#`), not a base URL',
        'provider "VertexAI": it is not a matter of API keys that can be sent on',
      ],
    });
    expect(await taken("cherry-studio", plain)).toEqual(found);
  });

  it("says of a newer backup that it cannot be read, and what to do", async () => {
    const zip = file(
      "new.zip",
      zipSync({ "Local Storage/leveldb/000003.log": strToU8("x"), "metadata.json": strToU8("{}") }),
    );

    await expect(taken("cherry-studio", zip)).rejects.toThrow(/backup of format 6[^]*keywheel key import/);
  });
});

it.each(["gpt-load", "new-api", "one-api", "litellm", "cliproxyapi", "omnicross", "cherry-studio"] as const)(
  "says of a file that is not one of %s that it is none, and repeats nothing of it",
  async (tool) => {
    for (const content of [
      "api_key: *sk-invented-1\n- x",
      '{"apiKey": "sk-invented-1",',
      '{"apiKey": "sk-invented-1"}',
      "PK\u0003\u0004sk-invented-1",
    ]) {
      const path = file("other", content);
      const error = await readers[tool]({ path, environment: {} }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(Error);
      expect(String(error)).toContain(path);
      expect(String(error)).not.toContain("invented");
    }
    await expect(readers[tool]({ path: join(folder, "absent"), environment: {} })).rejects.toThrow(
      "there is no such file",
    );
  },
);
