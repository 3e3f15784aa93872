import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { SqliteTransaction } from "./sqlite-protocol.ts";
import { SqliteThread } from "./sqlite-thread.ts";

let folder: string;
let file: string;
let thread: SqliteThread;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "keywheel-thread-"));
  file = join(folder, "some.db");
  const made = new DatabaseSync(file);
  made.exec("create table words (id integer primary key, word text not null)");
  made.close();
  thread = new SqliteThread();
  await thread.send({ kind: "open", file, readOnly: false, busyTimeoutMs: 1_000 });
});
afterEach(async () => {
  if (!thread.hasEnded) await thread.close();
  await rm(folder, { recursive: true });
});

const insert = "insert into words (id, word) values (?, ?) on conflict (id) do nothing";

function transact(parts: SqliteTransaction["parts"], changes: Partial<SqliteTransaction> = {}) {
  return thread.send({ kind: "transaction", parts, waitMs: 50, outlivesPower: false, ...changes });
}

async function ask(sql: string): Promise<unknown> {
  const { rows } = await thread.send({ kind: "query", sql, parameters: [] });
  return Object.values(rows[0] ?? {})[0];
}

it("runs a whole transaction in one go, and tells what each row has changed", async () => {
  const { changesOf } = await transact([
    {
      sql: insert,
      rows: [
        [1, "a"],
        [2, "b"],
        [1, "again"],
      ],
    },
    {
      sql: "update words set word = ? where id > ?",
      rows: [
        ["c", 0],
        ["d", 1],
        ["e", 2],
      ],
    },
  ]);

  expect(changesOf).toEqual([
    [1, 1, 0],
    [2, 1, 0],
  ]);
  expect(await ask("select group_concat(word) from words")).toBe("c,d");
});

it("does all of it or nothing, and is good for the next one", async () => {
  const failing = transact([
    { sql: insert, rows: [[1, "a"]] },
    { sql: insert, rows: [[2, null]] },
  ]);

  await expect(failing).rejects.toThrow(/NOT NULL/);
  expect(await ask("select count(*) from words")).toBe(0);
  await transact([{ sql: insert, rows: [[3, "c"]] }]);
  expect(await ask("select count(*) from words")).toBe(1);
});

it("waits for the disk again in whatever comes behind one that did not", async () => {
  const failing = transact([{ sql: "no statement", rows: [[]] }]);
  await expect(failing).rejects.toThrow(/no statement|syntax/);
  const full = 2;

  expect(await ask("PRAGMA synchronous")).toBe(full);
  await transact([{ sql: insert, rows: [[1, "a"]] }]);
  expect(await ask("PRAGMA synchronous")).toBe(full);
});

it("gives up on a lock that somebody else holds for too long", async () => {
  const other = new DatabaseSync(file);
  other.exec("begin immediate");

  await expect(transact([{ sql: insert, rows: [[1, "a"]] }])).rejects.toThrow(/locked/);
  other.exec("rollback");
  other.close();

  expect((await transact([{ sql: insert, rows: [[1, "a"]] }])).changesOf).toEqual([[1]]);
});

it("writes nothing to a file that has taken the place of the one that was opened", async () => {
  await rm(file);
  await writeFile(file, "something else");

  await expect(transact([{ sql: insert, rows: [[1, "a"]] }])).rejects.toThrow(/moved away or replaced/);
});
