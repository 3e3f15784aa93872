import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Kysely, sql } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";
import { aKeyRecord } from "../../../testkit/src/store-suite.ts";
import { contentsOf, keptMasterKey, readKept } from "./kept-schema.test-bench.ts";
import { migrate, migrations } from "./migrations.ts";
import { openStore } from "./open-store.ts";
import type { Database } from "./schema.ts";
import { createSqliteEngine } from "./sqlite-engine.ts";
import type { OpenedStore } from "./store.ts";

const released = migrations.map(({ name }) => name);

// A migration without its file fails here: make it with `npm run keep-schema`.
describe.each(released)("a database as the version with %s left it", (name) => {
  it("is opened with everything that was in it, and taken on", async () => {
    const dataDir = aKeptDataDir(name);

    const store = await open(dataDir);

    expect(await contentsOf(store)).toEqual(readKept(name).contents);
    await store.insertKeys([aKeyRecord({ id: "key_9" })]);
    await store.close();
    const again = await open(dataDir);
    expect((await again.load()).keys.map(({ id }) => id)).toEqual(["key_1", "key_2", "key_3", "key_9"]);
  });

  it("gets the very tables that a new one has", async () => {
    const [kept, fresh] = [aKeptDataDir(name), aDataDir()];
    for (const dataDir of [kept, fresh]) await (await open(dataDir)).close();

    expect(shapeOf(kept)).toEqual(shapeOf(fresh));
    expect(ask(kept, "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  });
});

describe("migrations", () => {
  it("are applied in their order, each once", async () => {
    const done: string[] = [];
    const list = ["0001-first", "0002-then", "0003-last"].map((name) => ({
      name,
      up: async () => void done.push(name),
    }));
    const { run } = aDatabase();

    await run(list.slice(0, 2));
    await run(list);
    await run(list);

    expect(done).toEqual(["0001-first", "0002-then", "0003-last"]);
  });

  it("leave all as it was when one of them fails", async () => {
    const dataDir = aKeptDataDir(released[0] ?? "");
    const before = shapeOf(dataDir);
    const { run } = aDatabase(dataDir);
    const adds = {
      name: "0998-adds",
      up: async (db: Kysely<Database>) => void (await sql`alter table keys add column more text`.execute(db)),
    };
    const fails = { name: "0999-fails", up: () => Promise.reject(new Error("no room")) };

    await expect(run([...migrations, adds, fails])).rejects.toThrow("no room");

    expect(shapeOf(dataDir)).toEqual(before);
    expect(await contentsOf(await open(dataDir))).toEqual(readKept(released[0] ?? "").contents);
  });
});

function aDatabase(dataDir = aDataDir()) {
  const engine = createSqliteEngine({ dataDir, busyTimeoutMs: 1_000 });
  return {
    run: async (list: Parameters<typeof migrate>[2]["migrations"] & {}) => {
      const db = new Kysely<Database>({ dialect: engine.writer });
      try {
        await db.transaction().execute((trx) => migrate(trx, engine, { now: 1, migrations: list }));
      } finally {
        await db.destroy();
      }
    },
  };
}

function aKeptDataDir(name: string): string {
  const dataDir = aDataDir();
  writeFileSync(join(dataDir, "keywheel.db"), readKept(name).bytes, { mode: 0o600 });
  return dataDir;
}

async function open(dataDir: string): Promise<OpenedStore> {
  const store = await openStore({ dataDir, masterKey: keptMasterKey });
  onTestFinished(() => store.close());
  return store;
}

/** Tables and indexes as they were declared, and which migrations made them. */
function shapeOf(dataDir: string): unknown {
  return [
    ask(dataDir, "select type, name, sql from sqlite_schema where name not like 'sqlite_%' order by type, name"),
    ask(dataDir, "select name from migrations order by name"),
  ];
}

function ask(dataDir: string, query: string): readonly unknown[] {
  const database = new DatabaseSync(join(dataDir, "keywheel.db"), { readOnly: true });
  try {
    return database.prepare(query).all();
  } finally {
    database.close();
  }
}

function aDataDir(): string {
  const folder = mkdtempSync(join(tmpdir(), "keywheel-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
