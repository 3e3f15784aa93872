import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { createTestDatabase, queryPostgres } from "../../../../testkit/src/postgres.ts";
import { describe, expect, inject, it } from "vitest";
import { foreignFolder, taken } from "./foreign.test-bench.ts";

const { file } = foreignFolder();

describe("channels of new-api in PostgreSQL, as pg_dump writes them", () => {
  it.each([
    ["COPY", []],
    ["INSERT", ["--inserts"]],
    ["INSERT with the names of its columns", ["--column-inserts", "--data-only"]],
  ])("by %s", async (_, options) => {
    const url = await createTestDatabase();
    // As gorm makes it. @see new-api model/channel.go (0102ffa)
    await queryPostgres(
      url,
      `CREATE TABLE channels (id bigserial PRIMARY KEY, type bigint DEFAULT 0, key text NOT NULL, open_ai_organization text,
        status bigint DEFAULT 1, name text, weight bigint DEFAULT 0, base_url text DEFAULT '', "group" varchar(64) DEFAULT 'default',
        balance numeric, priority bigint DEFAULT 0, channel_info json)`,
    );
    await queryPostgres(url, "CREATE TABLE tokens (id bigserial PRIMARY KEY, key char(48))");
    await queryPostgres(
      url,
      `CREATE FUNCTION noise() RETURNS text LANGUAGE sql AS $body$ SELECT 'INSERT INTO channels; '''; $body$`,
    );
    const info = '{"is_multi_key":true,"multi_key_size":2,"multi_key_status_list":{"1":3},"multi_key_mode":"random"}';
    await queryPostgres(
      url,
      "INSERT INTO channels (type, key, name, weight, channel_info) VALUES ($1, $2, $3, 3, $4)",
      [14, "sk-invented-1\nsk-invented-2", "A; it's\t\\(1)", info],
    );
    await queryPostgres(url, "INSERT INTO tokens (key) VALUES ('clientkey')");

    const dump = execFileSync(join(inject("postgres").bin ?? "", "pg_dump"), [...options, url]);

    const found = {
      pools: {
        "anthropic https://api.anthropic.com/v1 (anthropic)": [
          "sk-invented-1 A; it's \\(1)×3",
          "[sk-invented-2 A; it's \\(1)×3]",
        ],
      },
      left: ["1 tokens: keys of clients: make gateway tokens instead (keywheel token create)"],
    };
    expect(await taken("new-api", file("dump.sql", dump))).toEqual(found);
    await expect(taken("new-api", file("cut.sql", dump.subarray(0, -200)))).rejects.toThrow(/cut short/);
  });

  it("says what to make of one in its own format", async () => {
    const dump = execFileSync(join(inject("postgres").bin ?? "", "pg_dump"), ["-Fc", await createTestDatabase()]);

    await expect(taken("new-api", file("dump.custom", dump))).rejects.toThrow(/pg_restore -f dump\.sql/);
  });
});
