import { copyFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type KeyView, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { eventually, poolOf, type PooledProvider, storedKey } from "../pooled-provider.ts";
import { runCommand } from "../program/run-command.ts";
import { halve, overwrite, overwriteTable } from "./broken-file.ts";

/** A gateway with keys and some traffic behind it, whose database is whole in its one file. */
async function aGatewayWithPast() {
  const gateway = await runGateway();
  const pool = await poolOf(gateway, { weights: [1, 1, 1, 1] });
  for (let at = 0; at < 8; at++) await (await pool.send({ session: `past-${at}` })).arrayBuffer();
  await gateway.stop();
  return {
    gateway,
    pool,
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

const unusable: readonly (readonly [string, (file: string) => void])[] = [
  ["its header destroyed", (file) => overwrite(file, 0, 100)],
  ["a text in its place", (file) => writeFileSync(file, "not what it was\n".repeat(1_000))],
  ["no bytes", (file) => truncateSync(file, 0)],
  ["half of its bytes", halve],
  ["the table of keys destroyed", (file) => overwriteTable(file, "keys")],
  ["the table of providers destroyed", (file) => overwriteTable(file, "providers")],
  ["the table of cooldowns destroyed", (file) => overwriteTable(file, "key_healths")],
  ["the table of tokens destroyed", (file) => overwriteTable(file, "tokens")],
];

describe("a start with a database that cannot be used", () => {
  it.each(unusable)(
    "case 96: with %s is refused, the file left as it is, and a backup brings all back",
    async (_, damage) => {
      await using past = await aGatewayWithPast();
      const { gateway, pool } = past;
      const file = gateway.databaseFile;
      copyFileSync(file, `${file}.backup`);
      damage(file);
      const damaged = readFileSync(file);

      const start = await gateway.restart().then(() => "started", String);
      const doctor = await runCommand(["doctor", "--data-dir", gateway.dataDir], { home: join(gateway.dataDir, "..") });
      const untouched = readFileSync(file).equals(damaged);
      copyFileSync(`${file}.backup`, file);
      await gateway.restart();

      expect(start).toContain(`${file} is damaged: `);
      expect(start).toMatch(/`keywheel doctor`.*Put a backup in its place/s);
      expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringMatching(/fail +database .*is damaged.*backup/s)]);
      expect(untouched).toBe(true);
      expect((await gateway.keys(pool.record)).map(({ label }) => label).join("")).toBe("ABCD");
    },
  );

  it("is refused where a later version has changed it, and says which start it needs", async () => {
    await using past = await aGatewayWithPast();
    const { gateway } = past;
    const database = new DatabaseSync(gateway.databaseFile);
    database.exec("insert into migrations values ('0999-tomorrow', 1)");
    database.close();
    const before = readFileSync(gateway.databaseFile);

    const start = await gateway.restart().then(() => "started", String);

    expect(start).toMatch(/made by a newer version.*0999-tomorrow.*Start that version/s);
    expect(readFileSync(gateway.databaseFile).equals(before)).toBe(true);
  });

  it("warns where the log of a gateway that was killed is gone", async () => {
    await using past = await aGatewayWithPast();
    const { gateway, pool } = past;
    await gateway.restart();
    await gateway.kill("SIGKILL");
    rmSync(`${gateway.databaseFile}-wal`);

    await gateway.restart();

    expect(gateway.logs()).toMatch(/"level":"warn".*keywheel\.db-wal.*its last changes may be missing/);
    expect(await gateway.keys(pool.record)).toHaveLength(4);
  });
});

/** Whatever a gateway with a damaged database has to say, in all places. */
async function expectDamageTold(gateway: RunningGateway): Promise<void> {
  const readiness = (): Promise<unknown> => fetch(`${gateway.url}/readyz`).then(async (answer) => answer.json());
  await eventually(readiness, (body) => JSON.stringify(body).includes("damaged"), {
    what: "/readyz",
    timeoutMs: 15_000,
  });
  const { store } = await gateway.api<{ store: object }>("GET", "/status");
  const { data: notices } = await eventually(
    () => gateway.api<{ data: { code: string; hint: string; resolved_at: string | null }[] }>("GET", "/notices"),
    ({ data }) => data.some(({ code }) => code === "store_damaged"),
    { what: "the notice" },
  );

  expect(await readiness()).toEqual({ status: "not_ready", detail: "the database is damaged" });
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  expect(store).toEqual({
    ok: false,
    damaged: true,
    trouble: expect.stringContaining("is damaged: "),
    hint: expect.stringMatching(/`keywheel doctor`.*Put a backup in its place/s),
  });
  expect(notices.find(({ code }) => code === "store_damaged")).toMatchObject({
    hint: expect.stringMatching(/^Traffic goes on.*backup/),
    resolved_at: null,
  });
  const said = /"level":"error".*"trouble":"[^"]* is damaged: .*The database is damaged/;
  await eventually(() => said.test(gateway.logs()), Boolean, { what: "a line in the log" });
}

/** Refuses key A, and says how the request fared. */
async function sendOverRefusedKey(pool: PooledProvider): Promise<readonly number[]> {
  pool.provider
    .forKey(pool.valueOf("A"))
    .always(reply.json(401, {}, { error: { message: "Incorrect API key provided" } }));
  const statuses: number[] = [];
  for (let at = 0; at < 6; at++) statuses.push((await pool.send()).status);
  return statuses;
}

describe("a start with a database that is damaged where nothing depends on it", () => {
  it.each(["sessions", "pins", "request_blocks", "request_marks", "usage_sums", "key_totals"])(
    "case 96: in the table %s serves, writes down what it can, and says what is wrong",
    async (table) => {
      await using past = await aGatewayWithPast();
      const { gateway, pool } = past;
      overwriteTable(gateway.databaseFile, table);

      await gateway.restart();
      const statuses = await sendOverRefusedKey(pool);

      expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
      expect(storedKey(gateway, pool.keys[0]?.id ?? "").enabled).toBe(0);
      await expectDamageTold(gateway);
      const saved = await gateway.api<object>("POST", "/export", {
        passphrase: "open sesame, please",
      });
      expect(JSON.stringify(saved).match(/"label":"[ABCD]"/g)).toHaveLength(4);
    },
  );
});

describe("a database that is damaged while the gateway runs", () => {
  it.each([
    ["cut to half of its bytes", halve],
    ["emptied", (file: string) => truncateSync(file, 0)],
  ])("%s: traffic goes on, nothing is taken for written, and it is said", async (_, damage) => {
    await using past = await aGatewayWithPast();
    const { gateway, pool } = past;
    await gateway.restart();
    damage(gateway.databaseFile);

    const statuses = await sendOverRefusedKey(pool);

    expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
    await expectDamageTold(gateway);
  });

  it("replaced by a text: what was answered with success is there after kill -9, or the start is refused", async () => {
    await using past = await aGatewayWithPast();
    const { gateway, pool } = past;
    await gateway.restart();
    writeFileSync(gateway.databaseFile, "not what it was\n".repeat(20_000));

    const statuses = await sendOverRefusedKey(pool);
    await expectDamageTold(gateway);
    await gateway.kill("SIGKILL");
    const start = await gateway.restart().then(() => "started", String);

    expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
    expect(start).toMatch(/is damaged/);
  });

  it.each([
    ["its log", ["-wal"]],
    ["its log and the index of that", ["-wal", "-shm"]],
  ])("loses %s: what was answered with success before and after is there after kill -9", async (_, sides) => {
    await using past = await aGatewayWithPast();
    const { gateway, pool } = past;
    await gateway.restart();
    await gateway.api("PATCH", `/keys/${pool.keys[1]?.id}`, { label: "before" });
    for (const side of sides) rmSync(`${gateway.databaseFile}${side}`);

    const statuses = await sendOverRefusedKey(pool);
    // What is said goes out a little later than the answers: a kill may come before it.
    const said = /its log \(-wal\) was moved away or replaced/;
    await eventually(() => said.test(gateway.logs()), Boolean, { what: "a line in the log" });
    const relabel = (): Promise<number> =>
      gateway.apiResponse("PATCH", `/keys/${pool.keys[2]?.id}`, { label: "after" }).then(({ status }) => status);
    await eventually(relabel, (status) => status === 200, { what: "the log to be made anew", timeoutMs: 10_000 });
    await eventually(
      () => pool.key("A"),
      ({ status }) => status === "disabled",
      { what: "the refusal" },
    );
    await eventually(
      () => fetch(`${gateway.url}/readyz`).then(({ status }) => status),
      (status) => status === 200,
      { what: "the end of the trouble", timeoutMs: 10_000 },
    );
    await gateway.kill("SIGKILL");
    await gateway.restart();

    expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
    expect(existsSync(`${gateway.databaseFile}-wal`)).toBe(true);
    expect((await gateway.keys(pool.record)).map(brief)).toEqual([
      ["A", "disabled"],
      ["before", "available"],
      ["after", "available"],
      ["D", "available"],
    ]);
  });
});

function brief({ label, status }: KeyView): readonly string[] {
  return [label, status];
}
