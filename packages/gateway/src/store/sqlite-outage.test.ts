import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CompiledQuery, type DatabaseConnection, type Dialect, type Driver } from "kysely";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  aDisabledRecord,
  aHealthRecord,
  aTokenRecord,
  aTouchedSession,
  fillStore,
} from "../../../testkit/src/store-suite.ts";
import { StoreJournal } from "./journal.ts";
import { openStore, type OpenStoreOptions } from "./open-store.ts";
import { createSqliteEngine } from "./sqlite-engine.ts";
import { SqliteError, SqliteThread } from "./sqlite-thread.ts";
import type { OpenedStore } from "./store.ts";

describe("while the disk is full", () => {
  it("writes are refused with the reason, nothing is half written, and all is well once there is room", async () => {
    const { store, dataDir, onWriter } = await aStoreWithBackDoor({ probeEveryMs: 20 });
    await fillStore(store);
    await onWriter("PRAGMA max_page_count = 1");
    const sessions = Array.from({ length: 5000 }, (_, n) => aTouchedSession(n));

    await expect(store.saveSessions(sessions)).rejects.toMatchObject({
      code: "store_unavailable",
      message: `The disk that holds ${join(dataDir, "keywheel.db")} is full`,
      hint: "Free some space.",
    });
    expect(store.trouble?.message).toMatch(/is full/);
    expect((await store.listSessions({ limit: 1 })).sessions).toEqual([]);
    await onWriter("PRAGMA max_page_count = 1000000");

    await vi.waitFor(() => expect(store.trouble).toBeUndefined(), { timeout: 10_000 });
    await store.saveSessions(sessions);
    expect((await store.listSessions({ limit: 1 })).sessions[0]?.id).toBe("chat-4999");
  });
});

describe("while the database cannot be written", () => {
  it("is opened anew with the next write, in case its file was replaced", async () => {
    const { store, onWriter } = await aStoreWithBackDoor({});
    await onWriter("PRAGMA query_only = ON");

    await expect(store.insertToken(aTokenRecord())).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(/keywheel\.db cannot be written$/),
    });

    await store.insertToken(aTokenRecord());
    expect(store.trouble).toBeUndefined();
  });
});

describe("while the database is not where it was", () => {
  it("writes are refused rather than lost with the old file, and go on once it is back", async () => {
    const dataDir = aDataDir();
    const file = join(dataDir, "keywheel.db");
    const store = await open({ dataDir });
    renameSync(file, `${file}.away`);

    await expect(store.insertToken(aTokenRecord())).rejects.toMatchObject({
      code: "store_unavailable",
      message: `${file} cannot be used as it is: the file was moved away or replaced`,
    });
    expect(existsSync(file)).toBe(false);
    renameSync(`${file}.away`, file);

    await store.insertToken(aTokenRecord());
    expect((await store.load()).tokens.length).toBe(1);
  });
});

describe("while another process writes to the database", () => {
  // Real time: what is tested is that a thread which waits for a lock of the operating system holds up nobody else.
  it(
    "requests wait two seconds at most, the event loop does not, and every record lands",
    { timeout: 20_000 },
    async () => {
      const dataDir = aDataDir();
      const store = await open({ dataDir });
      await fillStore(store, 100);
      const journal = new StoreJournal({ store });
      const holder = await holdWriteLock(dataDir, 3000);
      const delay = measureLoopDelay();

      const startedAt = performance.now();
      const waits = Array.from({ length: 100 }, async (_, index) => {
        const keyId = `key_${index + 1}`;
        await journal.saveHealth(aHealthRecord({ keyId }));
        await journal.disableKey(aDisabledRecord({ keyId }));
        return performance.now() - startedAt;
      });
      const longestMs = Math.max(...(await Promise.all(waits)));
      await holder.ended;
      expect(await journal.flush(10_000)).toBe(true);

      expect(longestMs).toBeLessThan(6000);
      // A loop that waited for the lock would be away for three seconds; this much a busy machine may take.
      expect(delay.stop()).toBeLessThan(1500);
      const { keys, health } = await store.load();
      expect(keys.every(({ enabled }) => !enabled)).toBe(true);
      expect(health.length).toBe(100);
      expect(store.trouble).toBeUndefined();
    },
  );

  it("reads go on", async () => {
    const dataDir = aDataDir();
    const store = await open({ dataDir });
    await fillStore(store);
    await store.saveSessions([aTouchedSession(1)]);
    const other = new DatabaseSync(join(dataDir, "keywheel.db"));
    onTestFinished(() => other.close());
    other.exec("begin immediate");

    const writing = store.insertToken(aTokenRecord());
    const { sessions } = await store.listSessions({ limit: 10 });
    other.exec("commit");
    await writing;

    expect(sessions.length).toBe(1);
  });

  it("a record is written once the lock is gone, however long it was held", async () => {
    const dataDir = aDataDir();
    const store = await open({ dataDir, busyTimeoutMs: 10 });
    await fillStore(store);
    const troubles: (string | undefined)[] = [];
    const journal = new StoreJournal({ store, waitMs: 50, onTrouble: (trouble) => troubles.push(trouble) });
    const other = new DatabaseSync(join(dataDir, "keywheel.db"));
    onTestFinished(() => other.close());
    other.exec("begin immediate");

    await journal.disableKey(aDisabledRecord());
    expect(journal.pending).toBe(1);
    await vi.waitFor(() => expect(journal.trouble).toMatch(/locked by another process/), { timeout: 10_000 });
    other.exec("commit");
    await vi.waitFor(() => expect(journal.pending).toBe(0), { timeout: 10_000 });

    expect((await store.load()).keys[0]?.enabled).toBe(false);
    expect(troubles.at(-1)).toBeUndefined();
  });
});

describe("the thread of a database", () => {
  it("is replaced by a new one when it has ended", async () => {
    const { store, endWriter } = await aStoreWithBackDoor({});

    await endWriter();

    await store.insertToken(aTokenRecord());
    expect((await store.load()).tokens.length).toBe(1);
  });

  it("refuses what it is asked after its end", async () => {
    const thread = new SqliteThread();
    await thread.close();
    await thread.close();

    expect(thread.hasEnded).toBe(true);
    await expect(thread.send({ kind: "rollback" })).rejects.toBeInstanceOf(SqliteError);
  });

  it("does not make a database that has gone", async () => {
    const thread = new SqliteThread();
    onTestFinished(() => thread.close());
    const file = join(aDataDir(), "keywheel.db");

    const opening = thread.send({ kind: "open", file, readOnly: false, busyTimeoutMs: 0 });

    await expect(opening).rejects.toMatchObject({ code: 14 });
  });
});

async function open(options: OpenStoreOptions): Promise<OpenedStore> {
  const store = await openStore(options);
  onTestFinished(() => store.close());
  return store;
}

/** A store whose writing connection the test may reach, to bring about what a real disk would. */
async function aStoreWithBackDoor(options: Omit<OpenStoreOptions, "dataDir">) {
  const dataDir = aDataDir();
  let driver: Driver | undefined;
  const store = await open({
    ...options,
    dataDir,
    createEngine: (engineOptions) => {
      const engine = createSqliteEngine(engineOptions);
      return { ...engine, writer: seeDriver(engine.writer, (made) => (driver = made)) };
    },
  });
  return {
    store,
    dataDir,
    onWriter: async (sql: string) => await (await driver!.acquireConnection()).executeQuery(CompiledQuery.raw(sql)),
    endWriter: async () => {
      const connection: DatabaseConnection & { close?(): Promise<void> } = await driver!.acquireConnection();
      await connection.close?.();
    },
  };
}

function seeDriver(dialect: Dialect, see: (driver: Driver) => void): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => {
      const driver = dialect.createDriver();
      see(driver);
      return driver;
    },
  };
}

/** Another process in the middle of a write, which it ends after `forMs`. */
async function holdWriteLock(dataDir: string, forMs: number) {
  const script = `
    import { DatabaseSync } from "node:sqlite";
    const database = new DatabaseSync(${JSON.stringify(join(dataDir, "keywheel.db"))});
    database.exec("begin immediate");
    database.exec("update keys set label = 'other'");
    process.stdout.write("locked");
    setTimeout(() => database.exec("commit"), ${forMs});
  `;
  const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script];
  const holder = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void holder.kill("SIGKILL"));
  const ended = once(holder, "exit");
  await once(holder.stdout, "data");
  return { ended };
}

/** The longest time that the event loop was away, ms. */
function measureLoopDelay(): { stop(): number } {
  let longestMs = 0;
  let lastAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - lastAt);
    lastAt = now;
  }, 5);
  return {
    stop: () => {
      clearInterval(timer);
      return longestMs;
    },
  };
}

function aDataDir(): string {
  const folder = mkdtempSync(join(tmpdir(), "keywheel-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
