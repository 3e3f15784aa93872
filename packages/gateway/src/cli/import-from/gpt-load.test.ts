import { createCipheriv, createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { foreignFolder, type Row, taken } from "./foreign.test-bench.ts";

const { file, database } = foreignFolder();

/** Hex of nonce and AES-256-GCM, its tag at the end, as both versions write it. */
function sealed(text: string, key: Buffer): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString("hex");
}

describe("gpt-load 1.x", () => {
  /** As gorm makes its tables. @see internal/models/types.go (08bafd8; 96659a3 with header rules and notes) */
  const schema = `
    CREATE TABLE \`groups\` (\`id\` integer PRIMARY KEY AUTOINCREMENT, \`name\` varchar(255) NOT NULL UNIQUE,
      \`display_name\` varchar(255), \`proxy_keys\` text, \`description\` varchar(512), \`group_type\` varchar(50) DEFAULT 'standard',
      \`upstreams\` json NOT NULL, \`validation_endpoint\` varchar(255), \`channel_type\` varchar(50) NOT NULL,
      \`sort\` integer DEFAULT 0, \`test_model\` varchar(255) NOT NULL DEFAULT '', \`param_overrides\` json, \`config\` json,
      \`header_rules\` json, \`model_redirect_rules\` json);
    CREATE TABLE \`api_keys\` (\`id\` integer PRIMARY KEY AUTOINCREMENT, \`key_value\` text NOT NULL,
      \`key_hash\` varchar(128), \`group_id\` integer NOT NULL, \`status\` varchar(50) NOT NULL DEFAULT 'active',
      \`notes\` varchar(255) DEFAULT '');`;
  const database1 = (fill: (insert: (table: string, fields: Row) => void) => void): string => {
    const rows: [string, Row][] = [];
    fill((table, fields) => rows.push([table, fields]));
    return database("gpt-load.db", schema, rows);
  };
  const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

  it("brings groups with their keys, and says what of them is left behind", async () => {
    const path = database1((insert) => {
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
      insert("groups", { name: "all", group_type: "aggregate", channel_type: "openai", upstreams: "[]" });
      insert("groups", {
        name: "zhipu",
        channel_type: "openai-response",
        upstreams: '[{"url":"https://models.example/api/paas"}]',
        validation_endpoint: "/v4/chat/completions",
      });
      insert("api_keys", { key_value: "sk-invented-1", key_hash: sha256("sk-invented-1"), group_id: 1, notes: "Ada" });
      insert("api_keys", { key_value: "sk-invented-2", key_hash: "", group_id: 1, status: "invalid" });
      insert("api_keys", { key_value: "sk-invented-3", group_id: 2 });
      insert("api_keys", { key_value: "sk-invented-4", group_id: 5 });
    });

    expect(await taken("gpt-load", path)).toEqual({
      pools: {
        "openai https://api.openai.com/v1 (openai)": ["sk-invented-1 Ada×1", "[sk-invented-2 ×1]"],
        // Its clients put the version behind it; ours may leave it out.
        "claude https://relay.example/a/v1 (anthropic)": ["sk-invented-3 ×1"],
        "zhipu https://models.example/api/paas (openai-compatible)": ["sk-invented-4 ×1"],
      },
      left: [
        '1 more upstreams of group "main": a provider has one base URL here: the keys go to the first upstream alone',
        'config of group "main": its own settings',
        'proxy_keys of group "main": keys of its clients: make gateway tokens instead',
        'group "other": its channel type suno is not known here',
        'group "all": it has no keys of its own: the groups that it joins are taken',
      ],
    });
  });

  it("opens values that are encrypted with its ENCRYPTION_KEY, and takes none of them for a key without it", async () => {
    const key = pbkdf2Sync("invented-encryption-key", "gpt-load-encryption-v1", 100_000, 32, "sha256");
    const path = database1((insert) => {
      insert("groups", { name: "main", channel_type: "openai", upstreams: '[{"url":"https://api.openai.com"}]' });
      const hash = createHmac("sha256", key).update("sk-invented-1").digest("hex");
      insert("api_keys", { key_value: sealed("sk-invented-1", key), key_hash: hash, group_id: 1 });
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

describe("gpt-load 2.x", () => {
  /** @see internal/storage/migrations/0001_initial.go (9d63f40) */
  const schema = `
    CREATE TABLE \`groups\` (\`id\` integer PRIMARY KEY AUTOINCREMENT, \`name\` varchar(255) NOT NULL,
      \`channel_id\` varchar(64) NOT NULL, \`connection_type\` varchar(32) NOT NULL DEFAULT 'api_key', \`params\` json NOT NULL,
      \`models\` json NOT NULL, \`weight_manual\` integer, \`validation_model\` varchar(255), \`overrides\` json,
      \`enabled\` numeric NOT NULL DEFAULT true, \`created_at_ms\` integer NOT NULL DEFAULT 0, \`updated_at_ms\` integer NOT NULL DEFAULT 0);
    CREATE TABLE \`credentials\` (\`id\` integer PRIMARY KEY AUTOINCREMENT, \`group_id\` integer NOT NULL, \`data\` text NOT NULL,
      \`fingerprint\` varchar(128) NOT NULL, \`status\` varchar(32) NOT NULL DEFAULT 'active', \`weight_manual\` integer);
    CREATE TABLE \`access_keys\` (\`id\` integer PRIMARY KEY AUTOINCREMENT, \`name\` varchar(255) NOT NULL);`;
  /** What it makes for itself: 32 bytes as hex, in a line. @see internal/platform/encryption/encryption.go (31847b0) */
  const material = randomBytes(32).toString("hex");
  const key = pbkdf2Sync(material, "gpt-load-encryption-v1", 100_000, 32, "sha256");
  const credential = (group: number, data: object, fields: Row = {}): readonly [string, Row] => {
    const text = JSON.stringify(data);
    const fingerprint = createHmac("sha256", key).update(text).digest("hex");
    return ["credentials", { group_id: group, data: sealed(text, key), fingerprint, ...fields }];
  };
  const group = (fields: Row): readonly [string, Row] => ["groups", { params: "{}", models: "[]", ...fields }];

  const rows = (): (readonly [string, Row])[] => [
    group({ name: "main", channel_id: "openai", models: '[{"id":"gpt-5"}]' }),
    group({ name: "relay", channel_id: "newapi", params: '{"base_url":"https://relay.example"}', enabled: 0 }),
    group({ name: "claude", channel_id: "anthropic", params: '{"base_url":"https://claude.example/v1"}' }),
    group({ name: "kimi", channel_id: "moonshotai", overrides: '{"affinity_enabled":true}' }),
    group({ name: "plan", channel_id: "codex", connection_type: "subscription" }),
    group({ name: "bedrock", channel_id: "aws_bedrock" }),
    group({ name: "azure", channel_id: "azure_openai", params: '{"endpoint":"https://mine.openai.azure.com"}' }),
    credential(1, { api_key: "sk-invented-1" }, { weight_manual: 3 }),
    credential(1, { api_key: "sk-invented-2" }, { status: "disabled" }),
    credential(2, { api_key: "sk-invented-3" }),
    credential(3, { api_key: "sk-invented-4" }),
    credential(4, { api_key: "sk-invented-5" }),
    credential(7, { client_id: "a", client_secret: "b", tenant_id: "c" }),
    ["access_keys", { name: "client" }],
  ];

  it("brings groups with their credentials, opened with the key that lies beside the file", async () => {
    const path = database("gpt-load.db", schema, rows());
    file("encryption.key", `${material}\n`);

    const found = await taken("gpt-load", path);

    expect(found).toEqual({
      pools: {
        "openai https://api.openai.com/v1 (openai)": ["sk-invented-1 ×3", "[sk-invented-2 ×1]"],
        "[relay https://relay.example/v1 (openai-compatible)]": ["sk-invented-3 ×1"],
        "claude https://claude.example/v1 (anthropic)": ["sk-invented-4 ×1"],
        "moonshot https://api.moonshot.cn/v1 (openai-compatible)": ["sk-invented-5 ×1"],
      },
      left: [
        'models of group "main": requests go on as clients send them, with the names of the provider\'s own models',
        'overrides of group "kimi": its own settings',
        'group "plan": a sign-in of a subscription is no API key, and belongs to the program that made it',
        'group "bedrock": keys of its channel aws_bedrock cannot be sent on as they are',
        'credential 6 of group "azure": it has no API key',
        "1 access keys: keys of clients: make gateway tokens instead (keywheel token create)",
        "provider azure: it has no key that could be taken",
      ],
    });
    // Where it is given one, that lies nowhere.
    rmSync(join(dirname(path), "encryption.key"));
    expect(await taken("gpt-load", path, { ENCRYPTION_KEY: material })).toEqual(found);
  });

  it("says that credentials are encrypted where the key is not there, or is another one", async () => {
    const path = database("gpt-load.db", schema, rows());
    const others: Record<string, string>[] = [{}, { ENCRYPTION_KEY: "another-key" }];
    for (const environment of others) {
      const { pools, left } = await taken("gpt-load", path, environment);
      expect(pools).toEqual({});
      expect(left.join("\n")).toMatch(/2 keys of group "main": their values are encrypted.*encryption\.key/);
    }
  });
});
