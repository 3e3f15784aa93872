import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { foreignFolder, type Row, taken } from "./foreign.test-bench.ts";

const { file, database } = foreignFolder();

describe("new-api and one-api", () => {
  /** As gorm makes its tables. @see new-api model/channel.go (0102ffa), one-api model/channel.go (00d3a78) */
  const schema = `
    CREATE TABLE \`channels\` (\`id\` integer PRIMARY KEY AUTOINCREMENT, \`type\` integer DEFAULT 0, \`key\` text NOT NULL,
      \`open_ai_organization\` text, \`test_model\` text, \`status\` integer DEFAULT 1, \`name\` text, \`weight\` integer DEFAULT 0,
      \`base_url\` text DEFAULT '', \`other\` text, \`models\` text, \`group\` varchar(64) DEFAULT 'default',
      \`model_mapping\` text, \`priority\` bigint DEFAULT 0, \`channel_info\` json, \`param_override\` text);
    CREATE TABLE \`tokens\` (\`id\` integer PRIMARY KEY AUTOINCREMENT, \`key\` char(48));`;
  const channelsIn = (channels: readonly Row[]): string =>
    database("one-api.db", schema, [
      ...channels.map((channel) => ["channels", channel] as const),
      ["tokens", { key: "clientkey" }],
    ]);

  it("brings channels of one place as one pool, several keys of one channel each with its switch", async () => {
    const path = channelsIn([
      { type: 1, key: "sk-invented-1", name: "A", weight: 3 },
      { type: 1, key: "sk-invented-2", name: "B", status: 3, priority: 5, model_mapping: '{"a":"b"}' },
      {
        type: 14,
        key: "sk-invented-3\nsk-invented-4",
        name: "C",
        channel_info:
          '{"is_multi_key":true,"multi_key_size":2,"multi_key_status_list":{"1":3},"multi_key_mode":"polling"}',
      },
      // The address of an endpoint, to new-api.
      { type: 8, key: "sk-invented-5", name: "Relay", base_url: "https://relay.example/v1/chat/completions" },
      { type: 45, key: "sk-invented-6", name: "Ark" },
      { type: 33, key: "id|secret|region", name: "AWS" },
      { type: 3, key: "sk-invented-7", name: "Azure" },
      { type: 26, key: "sk-invented-8", name: "GLM", weight: 400 },
      { type: 8, key: "sk-invented-9", name: "One", base_url: "https://relay.example/{model}" },
      { type: 25, key: "sk-invented-10", name: "Kimi", open_ai_organization: "org-Invented" },
    ]);

    expect(await taken("new-api", path)).toEqual({
      pools: {
        "openai https://api.openai.com/v1 (openai)": ["sk-invented-1 A×3", "[sk-invented-2 B×1]"],
        "anthropic https://api.anthropic.com/v1 (anthropic)": ["sk-invented-3 C×1", "[sk-invented-4 C×1]"],
        "relay https://relay.example/v1 (openai-compatible)": ["sk-invented-5 Relay×1"],
        "ark https://ark.cn-beijing.volces.com/api/v3 (openai-compatible)": ["sk-invented-6 Ark×1"],
        "zhipu https://open.bigmodel.cn/api/paas/v4 (openai-compatible)": ["sk-invented-8 GLM×100"],
        // Keys of this site are not known at the other one, where the preset is.
        "moonshot https://api.moonshot.cn/v1 (openai-compatible)": ["sk-invented-10 Kimi×1 @org-Invented"],
      },
      left: [
        'the priority of channel 2 "B": all keys of a pool take their turns; weights say how often',
        'model_mapping of channel 2 "B": requests go on as clients send them',
        'channel 6 "AWS": keys of its type (33 of new-api) cannot be sent on as they are',
        'channel 7 "Azure": it has no base URL',
        'channel 9 "One": its address is that of one single endpoint, not a base URL',
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
      { id: 4, type: 8, key: "sk-invented-4", name: "Relay", status: 1, base_url: "https://relay.example" },
      { id: 5, type: 50, key: "sk-invented-5", name: "Own", status: 1, base_url: "https://own.example/api" },
      { id: 6, type: 18, key: "a|b|c", name: "Spark", status: 1 },
    ];
    const path = file("channels.json", JSON.stringify({ success: true, data: channels }));

    expect(await taken("one-api", path)).toEqual({
      pools: {
        "groq https://api.groq.com/openai/v1 (openai-compatible)": ["gsk_invented_1 Groq×1"],
        "baichuan https://api.baichuan-ai.com/v1 (openai-compatible)": ["sk-invented-2 Baichuan×1"],
        "relay https://relay.example/v1 (openai-compatible)": ["sk-invented-4 Relay×1"],
        "own https://own.example/api (openai-compatible)": ["sk-invented-5 Own×1"],
      },
      left: [
        'channel 3 "Listed": it comes without a key, as all do that its API lists: give the database file',
        'channel 6 "Spark": keys of its type (18 of one-api) cannot be sent on as they are',
      ],
    });
  });
});

/** What mariadb-dump 10.11 wrote of that table, with its other columns left out. */
const mariaDb = (rows: string): string => `/*M!999999\\- enable the sandbox mode */
-- MariaDB dump 10.19  Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64)
--
-- Host: localhost    Database: newapi
-- ------------------------------------------------------
/*!40101 SET NAMES utf8mb4 */;

DROP TABLE IF EXISTS \`channels\`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
CREATE TABLE \`channels\` (
  \`id\` bigint(20) NOT NULL AUTO_INCREMENT,
  \`type\` bigint(20) DEFAULT 0,
  \`key\` longtext NOT NULL,
  \`status\` bigint(20) DEFAULT 1,
  \`name\` varchar(191) DEFAULT NULL,
  \`weight\` bigint(20) unsigned DEFAULT 0,
  \`base_url\` varchar(191) DEFAULT '',
  \`balance\` double DEFAULT NULL,
  \`channel_info\` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL CHECK (json_valid(\`channel_info\`)),
  PRIMARY KEY (\`id\`),
  KEY \`idx_channels_name\` (\`name\`)
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;

LOCK TABLES \`channels\` WRITE;
/*!40000 ALTER TABLE \`channels\` DISABLE KEYS */;
${rows}
/*!40000 ALTER TABLE \`channels\` ENABLE KEYS */;
UNLOCK TABLES;
CREATE TABLE \`logs\` (
  \`id\` bigint(20) NOT NULL AUTO_INCREMENT,
  \`content\` longtext DEFAULT NULL,
  PRIMARY KEY (\`id\`)
) ENGINE=InnoDB;
INSERT INTO \`logs\` VALUES
(1,'a \\'quoted\\'; thing\\\\ -- INSERT INTO \`channels\` VALUES (9)');
-- Dump completed on 2026-12-01  0:24:12
`;

const rows = String.raw`INSERT INTO ~channels~ VALUES
(2,14,'sk-invented-3\nsk-invented-4',1,'C',0,'',-1.5,'{\"is_multi_key\":true,\"multi_key_size\":2,\"multi_key_status_list\":{\"1\":3},\"multi_key_polling_index\":0,\"multi_key_mode\":\"random\"}'),
(1,1,'sk-invented-1',1,'A; it\'s (1)',3,'',NULL,NULL);`.replaceAll("~", "`");

describe("a dump of their database in MySQL", () => {
  const pools = {
    "openai https://api.openai.com/v1 (openai)": ["sk-invented-1 A; it's (1)×3"],
    "anthropic https://api.anthropic.com/v1 (anthropic)": ["sk-invented-3 C×1", "[sk-invented-4 C×1]"],
  };

  it("brings its channels", async () => {
    const dump = mariaDb(rows);

    expect(await taken("new-api", file("dump.sql", dump))).toEqual({ pools, left: [] });
    expect((await taken("new-api", file("dump.sql.gz", gzipSync(dump)))).pools).toEqual(pools);
  });

  it("brings them from a part of one that names the columns, as phpMyAdmin and --complete-insert write it", async () => {
    const names = "`id`, `type`, `key`, `status`, `name`, `weight`, `base_url`, `balance`, `channel_info`";
    const part = rows.replace("`channels` VALUES", `\`channels\` (${names}) VALUES`);

    expect((await taken("new-api", file("channels.sql", part))).pools).toEqual(pools);
  });

  it.each([
    ["was cut short between its lines", mariaDb(rows).slice(0, -60), /cut short\. Make it again/],
    ["was cut short in a row", rows.slice(0, 80), /cut short\. Make it again/],
    ["does not name its columns", rows, /--complete-insert/],
    ["has rows of another length", mariaDb(rows.replace(",NULL,NULL)", ",NULL)")), /8 values for 9 columns/],
    ["has rows that are no values", mariaDb(rows.replace("NULL,NULL)", "NULL,now())")), /no text, number or NULL/],
    ["has no such table", mariaDb(rows).replaceAll("channels", "kanaele"), /it has no table `channels`/],
    [
      "is one of SQLite",
      "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE channels (id);\n",
      /Name the database file itself/,
    ],
    ["is one in PostgreSQL's own format", "PGDMP\u0001\u000e", /pg_restore -f dump\.sql/],
    ["is damaged", Buffer.concat([gzipSync(rows).subarray(0, 60)]), /cannot be unpacked/],
  ])("says of one that %s what to do, and repeats nothing of it", async (_, content, what) => {
    const error = await taken("new-api", file("dump.sql", content)).catch((reason: unknown) => reason);

    expect(String(error)).toMatch(what);
    expect(String(error)).not.toContain("invented");
  });
});
