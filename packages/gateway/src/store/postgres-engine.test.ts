import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { healthy } from "@keywheel/pool";
import { freePort } from "../../../testkit/src/free-port.ts";
import { createTestDatabase, postgresPassword, queryPostgres, startPostgres } from "../../../testkit/src/postgres.ts";
import { aKeyRecord, aProviderRecord, fillStore } from "../../../testkit/src/store-suite.ts";
import { testCertificate, testCertificateKey } from "../data-plane/certificate.test-bench.ts";
import { openStore, type OpenStoreOptions } from "./open-store.ts";
import { examinePostgres } from "./postgres-check.ts";
import type { OpenedStore } from "./store.ts";

const masterKey = Buffer.alloc(32, 1).toString("base64");

let databaseUrl: string;
let folder: string;
const opened: OpenedStore[] = [];
beforeAll(async () => {
  databaseUrl = await createTestDatabase();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "keywheel-store-"));
  await queryPostgres(databaseUrl, "drop schema public cascade; create schema public");
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  await rm(folder, { recursive: true });
});

/** As another gateway does: with a data directory of its own. */
async function open(options: Partial<OpenStoreOptions> = {}): Promise<OpenedStore> {
  const dataDir = join(folder, `data-${opened.length}`);
  const store = await openStore({ dataDir, databaseUrl, masterKey, ...options });
  opened.push(store);
  return store;
}

describe("two gateways on one PostgreSQL", () => {
  it("refuse a change that was planned on what the other has changed, until it is loaded", async () => {
    const [one, other] = [await open(), await open()];
    await fillStore(one);

    const planned = other.insertProvider(aProviderRecord({ id: "prv_2", slug: "two" }));
    const error: unknown = await planned.catch((reason: unknown) => reason);
    const before = [other.feed?.isOutdated(error), await other.feed?.hasNews()];
    await other.load();
    await other.insertProvider(aProviderRecord({ id: "prv_2", slug: "two" }));

    expect(before).toEqual([true, true]);
    expect([await other.feed?.hasNews(), await one.feed?.hasNews()]).toEqual([false, true]);
    expect((await one.load()).providers.map(({ id }) => id)).toEqual(["prv_1", "prv_2"]);
  });

  it("write nothing into a database that has taken the place of the one that they loaded, until that is back", async () => {
    const one = await open();
    await fillStore(one);
    await one.load();
    await queryPostgres(databaseUrl, "alter schema public rename to lost; create schema public");

    const error: unknown = await one.feed?.hasNews().catch((reason: unknown) => reason);
    const another = await open();
    await another.insertProvider(aProviderRecord({ id: "prv_9", slug: "nine" }));
    const writes = [
      () => one.feed?.hasNews(),
      () => one.load(),
      () => one.setMeta("x", "y"),
      () => one.saveActivity({ requests: [], usage: [], totals: [] }),
      () => one.insertProvider(aProviderRecord({ id: "prv_2", slug: "two" })),
    ];
    const failures: unknown[] = [];
    for (const write of writes) failures.push(await write()?.catch((reason: unknown) => reason));
    const trouble = one.trouble;
    await another.close();
    await queryPostgres(databaseUrl, "drop schema public cascade; alter schema lost rename to public");

    expect(error).toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("lost tables") as string,
    });
    const told = expect.stringContaining("emptied or replaced") as string;
    expect(failures).toEqual(writes.map(() => expect.objectContaining({ code: "store_unavailable", message: told })));
    expect(trouble).toMatchObject({ message: told, hint: expect.stringContaining("backup") as string });
    expect(await one.feed?.hasNews()).toBe(false);
    expect(one.trouble).toBeUndefined();
    expect((await one.load()).providers.map(({ id }) => id)).toEqual(["prv_1"]);
  });

  it("take a refusal down whatever the other has changed, and then hear of it", async () => {
    const [one, other] = [await open(), await open()];
    await fillStore(one);
    const reason = { code: "authentication_failed", httpStatus: 401, message: null, at: 1 } as const;
    const record = { poolId: "prv_1", keyId: "key_1", secretVersion: 1, reason };

    const took = await other.saveOutcomes([{ kind: "disable", record }]);

    expect(took).toEqual([true]);
    expect(await one.feed?.hasNews()).toBe(true);
    expect((await one.load()).keys[0]).toMatchObject({ enabled: false, disabledReason: { httpStatus: 401 } });
    // What the other had not loaded before is still to be loaded.
    expect(await other.feed?.hasNews()).toBe(true);
  });

  it("load what was there before a change that is under way, and wait neither for it nor for one another", async () => {
    const [one, other] = [await open(), await open()];
    await fillStore(one);
    await other.load();
    const client = new pg.Client(databaseUrl);
    await client.connect();
    await client.query("begin");
    await client.query("select value from meta where name = 'config_version' for update");
    await client.query("update meta set value = '1000' where name = 'config_version'");

    const during = await Promise.all([one.load(), other.load()]);
    await client.query("commit");
    await client.end();
    const news = [await one.feed?.hasNews(), await other.feed?.hasNews()];

    expect(during.map(({ providers }) => providers.map(({ id }) => id))).toEqual([["prv_1"], ["prv_1"]]);
    expect(news).toEqual([true, true]);
  }, 4_000);

  it("share out what is to be done once, and take over from one whose clock was ahead", async () => {
    let now = 1_700_000_000_000;
    const [one, other] = [await open({ now: () => now }), await open({ now: () => now })];
    const claims = async (): Promise<boolean[]> => [await one.claim("a", 1_000), await other.claim("a", 1_000)];

    const first = await claims();
    now += 999;
    const early = await claims();
    now += 1;
    const due = await claims();
    const another = await other.claim("b", 1_000);
    now -= 100_000;
    const setBack = await claims();

    expect([first, early, due, another, setBack]).toEqual([
      [true, false],
      [false, false],
      [true, false],
      true,
      [true, false],
    ]);
  });

  it("are told of a change at once", async () => {
    const [one, other] = [await open(), await open()];
    let calls = 0;
    let onNews = (): void => {};
    const begun = new Promise<void>((resolve) => (onNews = resolve));
    const listening = other.feed?.listen(() => {
      calls += 1;
      onNews();
    });
    await begun;
    const heard = new Promise<void>((resolve) => (onNews = resolve));

    await fillStore(one);
    await heard;
    await listening?.close();

    expect(calls).toBeGreaterThan(1);
  });

  it("write the same sessions at once, in any order, and lose no count", async () => {
    const [one, other] = [await open(), await open()];
    await fillStore(one, 2);
    const touched = (at: number) => ({
      poolId: "prv_1",
      keyId: `key_${(at % 2) + 1}`,
      session: { id: `s-${at}`, valueHash: `h-${at}`, carrier: "x", fingerprint: { high: at, low: at } },
      boundAt: 1000,
      lastUsedAt: 2000,
      requests: 1,
    });
    const upwards = Array.from({ length: 200 }, (_, at) => touched(at));
    const downwards = [...upwards].reverse();

    for (let round = 0; round < 5; round++) {
      await Promise.all([one.saveSessions(upwards), other.saveSessions(downwards)]);
    }

    const { sessions } = await one.listSessions({ limit: 300 });
    expect(sessions).toHaveLength(200);
    expect(new Set(sessions.map(({ requests }) => requests))).toEqual(new Set([10]));
  });

  // Three gateways at 300 requests/s: a circle of waiting transactions is broken only after a second, in which nothing is written.
  describe("wait for a row of the other's without holding one that comes behind it", () => {
    const asleep = (high: number, boundAt: number | undefined) => ({
      poolId: "prv_1",
      keyId: "key_1",
      session: { id: `s-${high}`, valueHash: `h-${high}`, carrier: "x", fingerprint: { high, low: 0 } },
      boundAt,
      lastUsedAt: 2_000,
      requests: 1,
    });
    const cooled = (keyId: string) => {
      const health = { ...healthy, failures: 1, cooldowns: 1, failuresSeen: 1, cooledAt: 1_000, coolUntil: 2_000 };
      const record = { poolId: "prv_1", keyId, secretVersion: 1, model: "", health, reason: undefined };
      return { kind: "health", record } as const;
    };
    const refused = (keyId: string) => {
      const reason = { code: "authentication_failed", httpStatus: 401, message: null, at: 1_000 } as const;
      return { kind: "disable", record: { poolId: "prv_1", keyId, secretVersion: 1, reason } } as const;
    };

    it.each<[string, (store: OpenedStore) => Promise<unknown>, { readonly held: string; readonly free: string }]>([
      [
        "a session that was bound before, and one that is newly bound",
        (store) => store.saveSessions([asleep(2, 1_500), asleep(1, undefined)]),
        {
          held: "select 1 from sessions where fingerprint_high = 1",
          free: "select 1 from sessions where fingerprint_high = 2",
        },
      ],
      [
        "a key that was refused, and one that cools",
        (store) => store.saveOutcomes([cooled("key_2"), refused("key_1")]),
        { held: "select 1 from keys where id = 'key_1'", free: "select 1 from keys where id = 'key_2'" },
      ],
      [
        "a key, and what is known of its health",
        (store) => store.saveOutcomes([cooled("key_1")]),
        { held: "select 1 from keys where id = 'key_1'", free: "select 1 from key_healths where key_id = 'key_1'" },
      ],
      [
        "keys that a person changes in an order of their own",
        (store) => store.updateKeys(["key_2", "key_1"].map((id) => ({ id, patch: { label: "new" } }))),
        { held: "select 1 from keys where id = 'key_1'", free: "select 1 from keys where id = 'key_2'" },
      ],
    ])("%s", async (_, write, { held, free }) => {
      const [store, holder] = [await open(), new pg.Client({ connectionString: databaseUrl })];
      await fillStore(store, 2);
      await store.load();
      await store.saveSessions([asleep(1, 1_000), asleep(2, 1_000)]);
      await store.saveOutcomes([cooled("key_1")]);
      await holder.connect();
      await holder.query("begin");
      await holder.query(`${held} for no key update`);

      const writing = write(store);
      await untilOneWaits();
      const looking = queryPostgres(databaseUrl, `${free} for update nowait`);
      const outcome = await looking.then((rows) => rows.length, String);
      await holder.query("commit");
      await holder.end();
      await writing;

      expect(outcome).toBe(1);
    });

    async function untilOneWaits(): Promise<void> {
      for (let tries = 0; tries < 400; tries++) {
        const waiting = await queryPostgres(databaseUrl, "select 1 from pg_locks where not granted");
        if (waiting.length > 0) return;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      throw new Error("nobody came to wait");
    }
  });

  it("leave out sessions whose key the other deletes meanwhile", async () => {
    const [one, other] = [await open(), await open()];
    await fillStore(one, 50);
    const sessions = Array.from({ length: 500 }, (_, at) => ({
      poolId: "prv_1",
      keyId: `key_${(at % 50) + 1}`,
      session: { id: `s-${at}`, valueHash: `h-${at}`, carrier: "x", fingerprint: { high: at, low: at } },
      boundAt: 1000,
      lastUsedAt: 2000,
      requests: 1,
    }));

    const deletions = one.deleteKeys(Array.from({ length: 25 }, (_, at) => `key_${at * 2 + 1}`));
    await Promise.all([deletions, other.saveSessions(sessions)]);
    await other.saveSessions(sessions);

    expect((await one.listSessions({ limit: 1000 })).sessions).toHaveLength(250);
  });

  it("number what they write down apart from each other", async () => {
    const [one, other] = [await open(), await open()];

    const lanes = [(await one.loadActivity()).lane, (await other.loadActivity()).lane];

    expect(lanes).toEqual([1, 2]);
  });

  it("keep the master key that was first, also while nothing is sealed with it", async () => {
    const first = await open();
    const second = await open({ masterKey: Buffer.alloc(32, 2).toString("base64") });
    await first.insertProvider(aProviderRecord());
    await first.insertKeys([aKeyRecord()]);
    await second.load();

    await expect(second.insertKeys([aKeyRecord({ id: "key_2" })])).rejects.toMatchObject({ code: "store_unavailable" });

    expect([first.masterKeyMatches, second.masterKeyMatches]).toEqual([true, false]);
    expect((await second.load()).keys[0]?.secret.kind).toBe("undecryptable");
  });
});

describe("PostgreSQL", () => {
  it("keeps every character that JavaScript has, in names and in what is searched by", async () => {
    const store = await open();
    const name = "\0 \x1A \x1A0 \0\x1A1 \u{1F511} \uFFFD";
    await store.insertProvider(aProviderRecord({ name }));
    await store.setMeta("x", name);

    expect((await store.load()).providers[0]?.name).toBe(name);
    expect(await store.getMeta("x")).toBe(name);
  });

  it("that is away is waited for as long as patience lasts, then named", async () => {
    const waits: string[] = [];
    const begun = performance.now();

    const opening = open({
      databaseUrl: "postgres://nobody:hunter2@127.0.0.1:9/keywheel",
      patienceMs: 1200,
      onWait: (why) => waits.push(why),
    });

    await expect(opening).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(/^PostgreSQL 127\.0\.0\.1:9\/keywheel is not there.*in vain/) as string,
    });
    expect(performance.now() - begun).toBeLessThan(5000);
    expect(waits.length).toBeGreaterThan(0);
    expect(waits.join()).not.toContain("hunter2");
  });

  it("that has no such database is not waited for", async () => {
    const missing = databaseUrl.replace(/test_[0-9a-f]+/, "no_such_database");
    const waits: string[] = [];

    const opening = open({ databaseUrl: missing, patienceMs: 60_000, onWait: (why) => waits.push(why) });

    await expect(opening).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("no_such_database does not exist") as string,
      hint: expect.stringContaining("createdb") as string,
    });
    expect(waits).toEqual([]);
  });

  it("leaves the data directory free for the next try when it cannot be opened", async () => {
    const dataDir = join(folder, "mine");
    const missing = databaseUrl.replace(/test_[0-9a-f]+/, "no_such_database");
    await expect(openStore({ dataDir, databaseUrl: missing })).rejects.toMatchObject({ code: "store_unavailable" });

    const store = await open({ dataDir });

    expect(store.trouble).toBeUndefined();
    await expect(openStore({ dataDir, databaseUrl })).rejects.toMatchObject({ code: "conflict" });
  });

  it("that a newer version has changed is refused", async () => {
    await open();
    await queryPostgres(databaseUrl, "insert into migrations values ('0099-later', 1)");

    await expect(open()).rejects.toMatchObject({
      message: expect.stringContaining('a newer version of Keywheel (it knows "0099-later")') as string,
    });
  });

  it("that takes no writes is said to", async () => {
    const store = await open();
    await queryPostgres(
      databaseUrl,
      `alter database ${new URL(databaseUrl).pathname.slice(1)} set default_transaction_read_only = on`,
    );
    await queryPostgres(
      databaseUrl,
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()",
    );
    const writing = store.setMeta("x", "y").catch(() => store.setMeta("x", "y"));

    await expect(writing).rejects.toMatchObject({ message: expect.stringContaining("takes no writes") as string });
    expect(store.trouble?.message).toContain("takes no writes");

    await queryPostgres(
      `${databaseUrl}&options=${encodeURIComponent("-c default_transaction_read_only=off")}`,
      `alter database ${new URL(databaseUrl).pathname.slice(1)} reset default_transaction_read_only`,
    );
  });

  it("is spoken to over TLS as the address says, and what is wrong there is named", async () => {
    const port = await freePort();
    const network = { port, tls: { certificate: testCertificate, key: testCertificateKey } };
    await using server = await startPostgres({ network });
    const { pathname } = new URL(await server.createDatabase());
    const authority = join(folder, "ca.pem");
    await writeFile(authority, testCertificate);
    const examine = async (words: string, password = `:${postgresPassword}`, host = "localhost"): Promise<unknown> => {
      try {
        return await examinePostgres(`postgres://keywheel${password}@${host}:${port}${pathname}${words}`);
      } catch (error) {
        return (error as Error).message;
      }
    };

    expect(await examine(`?sslmode=verify-full&sslrootcert=${authority}`)).toMatchObject({ isEncrypted: true });
    expect(await examine("?sslmode=no-verify")).toMatchObject({ isEncrypted: true });
    expect(await examine("")).toMatchObject({ isEncrypted: false });
    expect(await examine("?sslmode=verify-full")).toContain("no TLS connection");
    expect(await examine(`?sslmode=verify-full&sslrootcert=${authority}x`)).toContain(
      "ca.pemx cannot be read (ENOENT)",
    );
    expect(await examine("", ":hunter2")).toMatch(/refused the sign-in(?!.*hunter2)/);
    expect(await examine("", "")).toContain("asks for a password");
  });

  it("is described without being changed", async () => {
    const finding = await examinePostgres(databaseUrl);

    expect(finding).toMatchObject({ isStandby: false, isEncrypted: false, hasAdminToken: false });
    expect(finding.versionNumber).toBeGreaterThan(140_000);
    expect(Math.abs(finding.skewMs)).toBeLessThan(1000);
    expect(await queryPostgres(databaseUrl, "select 1 from pg_tables where schemaname = 'public'")).toEqual([]);
  });
});
