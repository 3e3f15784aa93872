import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { strToU8, zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import chromium from "./fixtures/local-storage.json" with { type: "json" };
import { foreignFolder, type Row, taken } from "./foreign.test-bench.ts";

const { path, file, database } = foreignFolder();

// As src/renderer/src/services/BackupService.ts (00111ad) writes it.
describe("Cherry Studio 1.x", () => {
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

  describe("from where its Chromium keeps it, as that itself wrote it: two tables, compressed, and a log", () => {
    const written = Object.entries(chromium.files).map(
      ([name, bytes]) => [name, Buffer.from(bytes, "base64")] as const,
    );
    const backup = (files: readonly (readonly [string, Uint8Array])[]): Uint8Array =>
      // Format 6. @see src/main/services/BackupManager.ts (00a36a6)
      zipSync(
        Object.fromEntries(files.map(([name, bytes]) => [`Local Storage/leveldb/${name}`, new Uint8Array(bytes)])),
      );
    const keysIn = async (from: string): Promise<string[]> =>
      Object.values((await taken("cherry-studio", from)).pools).flat();

    it("brings the newest", async () => {
      // It has letters beyond Latin, which are written in another way.
      expect(await keysIn(file("a.zip", backup(written)))).toEqual(["sk-invented-1 ×1", "sk-invented-3 ×1"]);
      const tables = written.filter(([name]) => name.endsWith(".ldb"));
      expect(await keysIn(file("b.zip", backup(tables)))).toEqual(["sk-invented-1 ×1", "sk-invented-2 ×1"]);
      expect(await keysIn(file("c.zip", backup(tables.slice(0, 1))))).toEqual(["sk-invented-1 ×1"]);
    });

    it("brings it from the folder as well", async () => {
      const storage = join(path("CherryStudio"), "Local Storage", "leveldb");
      mkdirSync(storage, { recursive: true });
      for (const [name, bytes] of written) writeFileSync(join(storage, name), bytes);

      expect(await keysIn(path("CherryStudio"))).toEqual(["sk-invented-1 ×1", "sk-invented-3 ×1"]);
    });

    it("leaves out what was being written when the program ended", async () => {
      const cut = written.map(
        ([name, bytes]) => [name, name.endsWith(".log") ? bytes.subarray(0, -1) : bytes] as const,
      );

      expect(await keysIn(file("a.zip", backup(cut)))).toEqual(["sk-invented-1 ×1", "sk-invented-2 ×1"]);
    });

    it("says of a table that is damaged what to do, wherever the damage is", async () => {
      const [[name, table] = ["", Buffer.alloc(0)]] = written;
      const damaged = [
        table.subarray(0, 100),
        table.subarray(0, -1),
        Buffer.concat([table.subarray(200), table.subarray(-48)]),
      ];
      for (const bytes of damaged) {
        const zip = file("a.zip", backup([[name, bytes]]));
        const error = await taken("cherry-studio", zip).catch((reason: unknown) => reason);
        expect(String(error)).toMatch(/is damaged: its Local Storage cannot be read\. Make the backup again/);
        expect(String(error)).not.toContain("invented");
      }
    });
  });
});

describe("Cherry Studio 2.x", () => {
  /** @see src/main/data/db/schemas/userProvider.ts and its migrations (migrations/sqlite-drizzle) */
  const schema = `
    CREATE TABLE \`user_provider\` (\`provider_id\` text PRIMARY KEY NOT NULL, \`preset_provider_id\` text, \`name\` text NOT NULL,
      \`endpoint_configs\` text, \`default_chat_endpoint\` text, \`api_keys\` text DEFAULT '[]', \`auth_config\` text,
      \`api_features\` text, \`provider_settings\` text, \`is_enabled\` integer DEFAULT true NOT NULL, \`order_key\` text NOT NULL,
      \`created_at\` integer NOT NULL DEFAULT 0, \`updated_at\` integer NOT NULL DEFAULT 0);`;
  const provider = (id: string, fields: Row): readonly [string, Row] => [
    "user_provider",
    { provider_id: id, name: id, order_key: "a1", ...fields },
  ];
  const key = (value: string, isEnabled = true, label?: string) => ({ id: value, key: value, label, isEnabled });
  const made = (): string =>
    database("cherrystudio.sqlite", schema, [
      provider("silicon", {
        name: "Silicon",
        preset_provider_id: "silicon",
        default_chat_endpoint: "openai-chat-completions",
        endpoint_configs: JSON.stringify({
          "anthropic-messages": { adapterFamily: "anthropic", baseUrl: "https://api.siliconflow.cn" },
          "openai-chat-completions": { adapterFamily: "openai-compatible", baseUrl: "https://api.siliconflow.cn/v1" },
        }),
        api_keys: JSON.stringify([key("sk-invented-1", true, "Ada"), key("sk-invented-2", false)]),
        auth_config: '{"type":"api-key"}',
      }),
      provider("claude", {
        order_key: "a0",
        is_enabled: 0,
        endpoint_configs: '{"anthropic-messages":{"baseUrl":"https://relay.example"}}',
        api_keys: JSON.stringify([key("sk-invented-3")]),
        provider_settings: '{"extraHeaders":{"x-a":"b"}}',
      }),
      provider("zhipu", {
        endpoint_configs: '{"openai-chat-completions":{"baseUrl":"https://open.bigmodel.cn/api/paas/v4/"}}',
        api_keys: JSON.stringify([key("sk-invented-4")]),
      }),
      provider("vertexai", { api_keys: JSON.stringify([key("x")]), auth_config: '{"type":"iam-gcp"}' }),
      provider("nowhere", { api_keys: JSON.stringify([key("sk-invented-5")]) }),
      provider("groq", { endpoint_configs: '{"openai-chat-completions":{"baseUrl":"https://api.groq.com/openai"}}' }),
    ]);
  const found = {
    pools: {
      "[claude https://relay.example/v1 (anthropic)]": ["sk-invented-3 ×1"],
      "siliconflow https://api.siliconflow.cn/v1 (openai-compatible)": ["sk-invented-1 Ada×1", "[sk-invented-2 ×1]"],
      "zhipu https://open.bigmodel.cn/api/paas/v4 (openai-compatible)": ["sk-invented-4 ×1"],
    },
    left: [
      'extra headers of provider "claude": requests go on as clients send them',
      'anthropic-messages of provider "Silicon": a provider has one kind of API here: make one more for those, with the same keys',
      'provider "vertexai": it is not a matter of API keys that can be sent on',
      'provider "nowhere": it has no base URL',
    ],
  };

  it("brings the providers of its database, and of the folder where that lies", async () => {
    const path = made();

    expect(await taken("cherry-studio", path)).toEqual(found);
    mkdirSync(join(dirname(path), "CherryStudio", "Data"), { recursive: true });
    copyFileSync(path, join(dirname(path), "CherryStudio", "Data", "cherrystudio.sqlite"));
    expect(await taken("cherry-studio", join(dirname(path), "CherryStudio"))).toEqual(found);
  });

  // src/main/services/backup/archiveLayout.ts
  it("brings those of a backup", async () => {
    const backup = zipSync({
      "manifest.json": strToU8('{"preset":"lite"}'),
      "backup.sqlite": new Uint8Array(readFileSync(made())),
    });

    expect(await taken("cherry-studio", file("mine.cherrybackup", backup))).toEqual(found);
    await expect(taken("cherry-studio", file("cut.cherrybackup", backup.subarray(0, -40)))).rejects.toThrow(
      /cannot be unpacked\. Make the backup again/,
    );
    const bad = zipSync({ "backup.sqlite": strToU8("SQLite format 3\u0000 and no more") });
    await expect(taken("cherry-studio", file("bad.cherrybackup", bad))).rejects.toThrow(/a damaged one/);
  });
});
