import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Secret } from "@keywheel/pool";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  aDisabledRecord,
  aHealthRecord,
  aKeyRecord,
  aProviderRecord,
  aTouchedSession,
  fillStore,
} from "../../../testkit/src/store-suite.ts";
import { openStore, type OpenStoreOptions } from "./open-store.ts";
import type { OpenedStore } from "./store.ts";

describe("what lies in the data directory", () => {
  it("is closed to everybody else, also where it was open to them before", async () => {
    const dataDir = aDataDir();
    await (await open({ dataDir })).close();
    for (const name of readdirSync(dataDir)) chmodSync(join(dataDir, name), 0o666);
    chmodSync(dataDir, 0o777);

    const store = await open({ dataDir });
    await fillStore(store);
    await store.listSessions({ limit: 1 });

    const modes = readdirSync(dataDir).map((name) => [name, statSync(join(dataDir, name)).mode & 0o777]);
    expect(Object.fromEntries(modes)).toEqual({
      "keywheel.db": 0o600,
      "keywheel.db-shm": 0o600,
      "keywheel.db-wal": 0o600,
      lock: 0o600,
      "master.key": 0o600,
    });
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  });

  it("holds no piece of a key's value, also of a replaced or deleted one", async () => {
    const dataDir = aDataDir();
    const store = await open({ dataDir });
    const values = [1, 2, 3, 4].map(() => `sk-${randomBytes(24).toString("hex")}`);
    const [first, second, third, ofProvider] = values.map(
      (value) => ({ kind: "literal", value: new Secret(value) }) as const,
    );

    await store.insertProvider(aProviderRecord({ apiKey: ofProvider! }));
    await store.insertKeys([aKeyRecord({ secret: first! }), aKeyRecord({ id: "key_2", secret: second! })]);
    const files = [contentsOf(dataDir)];
    await store.updateKeys([{ id: "key_1", patch: { secret: third!, secretVersion: 2 } }]);
    await store.deleteKeys(["key_2"]);
    files.push(contentsOf(dataDir));
    await store.close();
    files.push(contentsOf(dataDir));

    expect(files[0]).toContain("key_2");
    const pieces = values.flatMap((value) => slicesOf(value, 12));
    expect(pieces.filter((piece) => files.some((contents) => contents.includes(piece)))).toEqual([]);
  });

  it("belongs to one gateway at a time", async () => {
    const dataDir = aDataDir();
    const first = await open({ dataDir });

    await expect(open({ dataDir })).rejects.toMatchObject({ code: "conflict" });
    await first.close();

    await expect(open({ dataDir })).resolves.toBeDefined();
  });
});

describe("a master key that is not the right one", () => {
  it("is told at the start, and shows masks in place of the values", async () => {
    const { store } = await reopenedWithAnotherKey();

    const { providers, keys } = await store.load();

    expect(store.masterKeyMatches).toBe(false);
    expect(providers[0]?.apiKey).toEqual({ kind: "undecryptable", masked: "sk-…cdef" });
    expect(keys.map(({ secret }) => secret)).toEqual([
      { kind: "undecryptable", masked: "sk-…6789" },
      { kind: "reference", name: "OPENAI_KEY" },
    ]);
  });

  it("seals nothing, and changes everything else", async () => {
    const { store } = await reopenedWithAnotherKey();
    const { secret } = aKeyRecord({ id: "key_3" });

    const refusal = {
      code: "store_unavailable",
      message: "The stored keys were encrypted with another master key",
      hint: expect.stringContaining("Restore the right one"),
    };
    await expect(store.insertKeys([aKeyRecord({ id: "key_3" })])).rejects.toMatchObject(refusal);
    await expect(store.updateKeys([{ id: "key_1", patch: { secret, secretVersion: 2 } }])).rejects.toMatchObject(
      refusal,
    );
    await expect(store.updateProvider("prv_1", { apiKey: secret })).rejects.toMatchObject(refusal);
    await store.updateKeys([{ id: "key_1", patch: { label: "changed" } }]);
    await store.insertKeys([aKeyRecord({ id: "key_4", secret: { kind: "reference", name: "OTHER" } })]);

    expect(store.trouble).toBeUndefined();
    expect((await store.load()).keys.map(({ label }) => label)).toEqual(["changed", "", ""]);
  });

  it("loses nothing: the right one opens everything again", async () => {
    const { store, dataDir, masterKey } = await reopenedWithAnotherKey();
    await store.close();

    const right = await open({ dataDir, masterKey });

    expect(right.masterKeyMatches).toBe(true);
    const [key] = (await right.load()).keys;
    expect(key?.secret.kind === "literal" && key.secret.value.reveal()).toBe("sk-value-of-key_1-0123456789");
  });

  it("becomes the right one when nothing is left that the old one sealed", async () => {
    const { store, dataDir, otherKey } = await reopenedWithAnotherKey();

    await store.deleteKeys(["key_1"]);
    await store.updateProvider("prv_1", { apiKey: null });
    await store.insertKeys([aKeyRecord({ id: "key_3" })]);

    expect(store.masterKeyMatches).toBe(true);
    await store.close();
    const again = await open({ dataDir, masterKey: otherKey });
    expect(again.masterKeyMatches).toBe(true);
    expect((await again.load()).keys.map(({ secret }) => secret.kind)).toEqual(["reference", "literal"]);
  });
});

describe("a sealed value", () => {
  it("does not open in another row", async () => {
    const dataDir = aDataDir();
    const store = await open({ dataDir });
    await fillStore(store, 2);
    await store.close();
    onDatabase(dataDir, (database) => {
      database.exec(`update keys set secret_sealed = (select secret_sealed from keys where id = 'key_2')`);
    });

    const reopened = await open({ dataDir });

    expect(reopened.masterKeyMatches).toBe(true);
    expect((await reopened.load()).keys.map(({ secret }) => secret.kind)).toEqual(["undecryptable", "literal"]);
  });
});

describe("a database that cannot be used", () => {
  it("is refused untouched when a newer version made it", async () => {
    const dataDir = await aFilledDataDir();
    onDatabase(dataDir, (database) => database.exec(`insert into migrations values ('0999-tomorrow', 1)`));

    await expect(open({ dataDir })).rejects.toMatchObject({
      code: "store_unavailable",
      message: `${join(dataDir, "keywheel.db")} was made by a newer version of Keywheel (it knows "0999-tomorrow")`,
    });
    onDatabase(dataDir, (database) => {
      expect(database.prepare("select count(*) as count from keys").get()).toEqual({ count: 1 });
    });
  });

  it.each([
    [
      "other contents",
      (file: string) => writeFileSync(file, "this is not a database, but long enough for one".repeat(99)),
    ],
    ["no contents", (file: string) => truncateSync(file, 0)],
    ["half its pages", (file: string) => truncateSync(file, statSync(file).size / 2)],
  ])("is never replaced by an empty one when it has %s", async (_, damage) => {
    const dataDir = await aFilledDataDir();
    const file = join(dataDir, "keywheel.db");
    damage(file);
    const copy = `${file}.copy`;
    copyFileSync(file, copy);

    const opening = open({ dataDir }).then((store) => store.load());

    await expect(opening).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining(`${file} is damaged: `),
      hint: expect.stringContaining("Put a backup in its place"),
    });
    expect(readFileSync(file).equals(readFileSync(copy))).toBe(true);
  });

  it("is refused with its name when another process has locked it", async () => {
    const dataDir = await aFilledDataDir();
    const other = new DatabaseSync(join(dataDir, "keywheel.db"));
    onTestFinished(() => other.close());
    other.exec("begin immediate");

    await expect(open({ dataDir, busyTimeoutMs: 50 })).rejects.toMatchObject({
      code: "store_unavailable",
      message: `${join(dataDir, "keywheel.db")} is locked by another process`,
    });
    other.exec("rollback");

    await expect(open({ dataDir })).resolves.toBeDefined();
  });

  it("is refused where a folder lies in its place", async () => {
    const dataDir = aDataDir();
    mkdirSync(join(dataDir, "keywheel.db"));

    await expect(open({ dataDir })).rejects.toMatchObject({ code: "store_unavailable" });
  });

  it.skipIf(process.getuid?.() === 0)("is refused when its file is read-only (root could write it)", async () => {
    const dataDir = await aFilledDataDir();
    chmodSync(join(dataDir, "keywheel.db"), 0o400);
    chmodSync(dataDir, 0o500);

    await expect(open({ dataDir })).rejects.toMatchObject({ code: "store_unavailable" });
  });
});

describe("the end of a store", () => {
  it("comes after what was begun, and nothing is begun behind it", async () => {
    const dataDir = aDataDir();
    const store = await open({ dataDir });
    await fillStore(store);

    const saving = store.saveOutcomes([{ kind: "health", record: aHealthRecord() }]);
    await store.close();

    expect(await saving).toEqual([true]);
    await expect(store.load()).rejects.toMatchObject({ code: "store_unavailable", message: "The database is closed" });
  });
});

describe("what was stored", () => {
  it("is read whole after a restart", async () => {
    const dataDir = aDataDir();
    const store = await open({ dataDir });
    await fillStore(store, 2);
    await store.saveOutcomes([
      { kind: "health", record: aHealthRecord() },
      { kind: "disable", record: aDisabledRecord({ keyId: "key_2" }) },
    ]);
    await store.saveSessions([aTouchedSession(1)]);
    await store.close();

    const again = await open({ dataDir });

    const { keys, health } = await again.load();
    expect(keys.map(({ enabled }) => enabled)).toEqual([true, false]);
    expect(health).toEqual([aHealthRecord()]);
    expect((await again.listSessions({ limit: 1 })).sessions[0]?.id).toBe("chat-1");
    expect(again.operatorToken).toBe(store.operatorToken);
  });
});

/** Closed again with the test, if the test does not close it. */
async function open(options: OpenStoreOptions): Promise<OpenedStore> {
  const store = await openStore(options);
  onTestFinished(() => store.close());
  return store;
}

async function aFilledDataDir(): Promise<string> {
  const dataDir = aDataDir();
  const store = await open({ dataDir });
  await fillStore(store);
  await store.close();
  return dataDir;
}

interface Reopened {
  readonly store: OpenedStore;
  readonly dataDir: string;
  readonly masterKey: string;
  readonly otherKey: string;
}

/** A provider with a key of its own, a key with a value and one with a reference, under a key that is not at hand. */
async function reopenedWithAnotherKey(): Promise<Reopened> {
  const dataDir = aDataDir();
  const [masterKey, otherKey] = [aMasterKey(), aMasterKey()];
  const store = await open({ dataDir, masterKey });
  await store.insertProvider(
    aProviderRecord({ apiKey: { kind: "literal", value: new Secret("sk-provider-0123456789abcdef") } }),
  );
  await store.insertKeys([
    aKeyRecord(),
    aKeyRecord({ id: "key_2", secret: { kind: "reference", name: "OPENAI_KEY" } }),
  ]);
  await store.close();
  return { store: await open({ dataDir, masterKey: otherKey }), dataDir, masterKey, otherKey };
}

function aMasterKey(): string {
  return randomBytes(32).toString("base64");
}

function onDatabase(dataDir: string, use: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(join(dataDir, "keywheel.db"));
  try {
    use(database);
  } finally {
    database.close();
  }
}

/**
 * All bytes of all files. Read by another process: were they opened here, closing them would end the locks that SQLite
 * holds on them for this one.
 */
function contentsOf(dataDir: string): string {
  const contents = execFileSync(
    "cat",
    readdirSync(dataDir).map((name) => join(dataDir, name)),
    {
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  return contents.toString("latin1");
}

function slicesOf(text: string, length: number): string[] {
  return Array.from({ length: text.length - length + 1 }, (_, start) => text.slice(start, start + length));
}

function aDataDir(): string {
  const folder = mkdtempSync(join(tmpdir(), "keywheel-"));
  onTestFinished(() => {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}
