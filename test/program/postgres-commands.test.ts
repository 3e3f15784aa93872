import { existsSync } from "node:fs";
import { join } from "node:path";
import { runGateway } from "@keywheel/testkit";
import { beforeAll, expect, it } from "vitest";
import { createTestDatabase } from "../../packages/testkit/src/postgres.ts";
import { poolOf } from "../pooled-provider.ts";
import { aHome, runCommand } from "./run-command.ts";

let databaseUrl: string;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  databaseUrl = await createTestDatabase();
  env = { KEYWHEEL_DATABASE_URL: databaseUrl };
});

it("migrate moves a gateway to PostgreSQL, with its keys, cooldowns, sessions, tokens and requests", async () => {
  using place = aHome();
  const dataDir = join(place.home, "data");
  const words = ["migrate", "--to", databaseUrl, "--data-dir", dataDir];
  await using gateway = await runGateway({ dataDir });
  await using pool = await poolOf(gateway, { weights: [3, 1] });
  await gateway.api("POST", "/tokens", { name: "ci" });
  for (let at = 0; at < 6; at++) await (await pool.send({ session: `session-${at}` })).arrayBuffer();
  const ask = async (): Promise<unknown> => ({
    keys: await gateway.keys(pool.record),
    tokens: await gateway.api("GET", "/tokens"),
    sessions: await gateway.api("GET", "/sessions"),
    requests: await gateway.api("GET", "/requests"),
    usage: (await gateway.api<{ total: object }>("GET", "/usage")).total,
  });
  const whileItRuns = await runCommand(words, { home: place.home });
  await gateway.restart();
  const before = await ask();
  await gateway.stop();

  const migration = await runCommand(words, { home: place.home });
  const again = await runCommand([...words, "--json"], { home: place.home });
  await gateway.restart({ env });
  const after = await ask();

  expect(whileItRuns.code).toBe(1);
  expect(whileItRuns.stderr).toContain("Stop it");
  expect([migration.code, migration.stdout]).toEqual([0, expect.stringContaining("and compared each")]);
  expect(migration.stderr).toContain("keys: 2 rows, the same on both sides");
  expect(JSON.parse(again.stdout)).toMatchObject({ was_done: true, rows: { keys: 2 } });
  expect(after).toEqual(before);
  expect((await pool.send()).status).toBe(200);
});

it("commands for managing work on the database while no gateway runs", async () => {
  using place = aHome();

  const added = await runCommand(["provider", "add", "deepseek"], { home: place.home, env });
  const listed = await runCommand(["provider", "list", "--json", "--database-url", databaseUrl], { home: place.home });

  expect([added.code, added.stderr]).toEqual([0, ""]);
  expect(listed.stdout).toContain('"deepseek"');
  expect(existsSync(join(place.home, ".keywheel", "keywheel.db"))).toBe(false);
});

it("backup and rotate-master-key say what to do instead", async () => {
  using place = aHome();

  const backup = await runCommand(["backup", "x.db"], { home: place.home, env });
  const rotation = await runCommand(["rotate-master-key"], { home: place.home, env });

  expect([backup.code, rotation.code]).toEqual([1, 1]);
  expect(backup.stderr).toContain("pg_dump");
  expect(rotation.stderr).toContain("export --with-secrets");
  expect(existsSync(join(place.home, "x.db"))).toBe(false);
});

it("doctor looks at the server, and names one that is not there", async () => {
  using place = aHome();
  const away = "postgres://somebody:hunter2@127.0.0.1:9/keywheel";

  const fine = await runCommand(["doctor", "--port", "0"], { home: place.home, env });
  const wrong = await runCommand(["doctor", "--port", "0", "--database-url", away], { home: place.home });

  expect(fine.code).toBe(0);
  expect(fine.stdout).toMatch(/PostgreSQL .* answers, version \d+.*, without TLS/);
  expect(fine.stdout).toContain("Its clock and this machine's agree");
  expect(wrong.code).toBe(1);
  expect(wrong.stdout).toContain("PostgreSQL 127.0.0.1:9/keywheel is not there");
  expect(wrong.stdout + wrong.stderr).not.toContain("hunter2");
});

it("a start with a database that refuses ends at once, and gives no password away", async () => {
  using place = aHome();
  const missing = databaseUrl.replace(/test_[0-9a-f]+/, "no_such_database").replace("&user", "&password=hunter2&user");

  const { code, stderr } = await runCommand(["start", "--port", "0", "--database-url", missing], { home: place.home });

  expect(code).toBe(1);
  expect(stderr).toContain("no_such_database does not exist");
  expect(stderr).not.toContain("hunter2");
});
