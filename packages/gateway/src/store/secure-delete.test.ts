import { type ChildProcessByStdio, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Readable, Writable } from "node:stream";
import { Secret } from "@keywheel/pool";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { aKeyRecord, aProviderRecord } from "../../../testkit/src/store-suite.ts";
import { chunksOf } from "./chunks.ts";
import type { DatabaseEngine } from "./engine.ts";
import { openStore, type OpenStoreOptions } from "./open-store.ts";
import { createSqliteEngine } from "./sqlite-engine.ts";
import type { OpenedStore } from "./store.ts";

const keyCount = 2000;
const pieceLength = 24;

const patience = { timeout: 10_000, interval: 50 };

describe("a value that was deleted or replaced", { timeout: 30_000 }, () => {
  it("is gone from the database and its log while the gateway goes on, other keys untouched", async () => {
    const { store, dataDir } = await aStore();
    await store.insertKeys(manyKeys());
    const doomed = new Set<string>();

    await churn(store, dataDir, doomed);

    expect(doomed.size).toBeGreaterThan(keyCount);
    await vi.waitFor(() => expect(leftOf(doomed, dataDir)).toEqual([]), patience);
    const { keys } = await store.load();
    expect(keys.length).toBe(keyCount / 2);
    expect(keys.every(({ secret }) => secret.kind === "literal")).toBe(true);
  });

  it("is gone at the end of a process that ends right behind it", async () => {
    const { store, dataDir } = await aStore();
    await store.insertKeys(manyKeys());
    const doomed = new Set<string>();
    await churn(store, dataDir, doomed);

    await store.close();

    expect(leftOf(doomed, dataDir)).toEqual([]);
  });

  it("takes no session, health or later key with it", async () => {
    const { store, dataDir } = await aStore();
    await store.insertKeys(manyKeys());
    await store.saveOutcomes([
      {
        kind: "health",
        record: {
          poolId: "prv_1",
          keyId: "key_2",
          secretVersion: 1,
          model: "",
          health: { failures: 3, cooldowns: 1, failuresSeen: 3, cooledAt: 1, coolUntil: 2, wait: "ladder" },
          reason: undefined,
        },
      },
    ]);
    await store.deleteKeys(["key_1", `key_${keyCount}`]);
    await store.close();

    const again = await openStore({ dataDir });
    onTestFinished(() => again.close());
    const { health, keys } = await again.load();
    expect(health.map(({ keyId }) => keyId)).toEqual(["key_2"]);
    expect(keys.map(({ id }) => id)).toEqual(
      manyKeys()
        .slice(1, -1)
        .map(({ id }) => id),
    );
    // The order of creation goes on where it was, also behind a deleted last key.
    await again.insertKeys([aKeyRecord({ id: "key_new" })]);
    expect((await again.load()).keys.at(-1)?.id).toBe("key_new");
  });

  it("is gone after the next start, where the process was killed right behind the deletion", async () => {
    const { store, dataDir } = await aStore();
    await store.insertKeys(manyKeys());
    await store.close();
    const doomed = new Set(sealedIn(dataDir).values());

    await deleteAndDie(dataDir);
    expect(leftOf(doomed, dataDir).length).toBeGreaterThan(0);
    const again = await openStore({ dataDir });
    onTestFinished(() => again.close());

    await vi.waitFor(() => expect(leftOf(doomed, dataDir)).toEqual([]), patience);
  });

  it("is tried again while somebody else reads the database", async () => {
    const tries: boolean[] = [];
    const createEngine: OpenStoreOptions["createEngine"] = (options) => {
      const engine = createSqliteEngine(options);
      const scrub: DatabaseEngine["scrub"] = async (db) => {
        const isDone = await engine.scrub(db);
        tries.push(isDone);
        return isDone;
      };
      return { ...engine, scrub };
    };
    const { store, dataDir } = await aStore({ probeEveryMs: 20, createEngine });
    await store.insertKeys(manyKeys());
    const doomed = new Set(sealedIn(dataDir).values());
    const endReading = await readInChild(dataDir);
    await store.deleteKeys(manyKeys().map(({ id }) => id));
    await vi.waitFor(() => expect(tries.length).toBeGreaterThan(1), { timeout: 5000 });
    expect(tries).not.toContain(true);
    expect(leftOf(doomed, dataDir).length).toBeGreaterThan(0);

    await endReading();

    await vi.waitFor(() => expect(leftOf(doomed, dataDir)).toEqual([]), patience);
  });
});

function manyKeys() {
  return Array.from({ length: keyCount }, (_, n) =>
    aKeyRecord({ id: `key_${n + 1}`, label: "l".repeat(n % 40), secret: aValue(`first-${n}`) }),
  );
}

function aValue(text: string) {
  return { kind: "literal", value: new Secret(`sk-${text.padEnd(60, "x")}`) } as const;
}

/** Replaces values by longer and shorter ones in no order, so that rows move between pages, then deletes every other key. */
async function churn(store: OpenedStore, dataDir: string, doomed: Set<string>): Promise<void> {
  for (const round of [1, 2, 3, 4, 5, 6]) {
    const before = sealedIn(dataDir);
    const picked = Array.from({ length: 1500 }, (_, n) => (((n + 1) * (7919 + round * 104_729)) % keyCount) + 1);
    const ids = [...new Set(picked)].map((n) => `key_${n}`);
    const patches = ids.map((id, at) => {
      const secret = aValue(`round-${round}-${id}-`.padEnd(20 + ((at * (37 + round)) % 280), "y"));
      return { id, patch: { secret, secretVersion: round + 1 } };
    });
    for (const some of chunksOf(patches, 200)) await store.updateKeys(some);
    for (const id of ids) doomed.add(before.get(id) ?? "");
  }
  const last = sealedIn(dataDir);
  const ids = Array.from({ length: keyCount / 2 }, (_, n) => `key_${n * 2 + 1}`);
  await store.deleteKeys(ids);
  for (const id of ids) doomed.add(last.get(id) ?? "");
  doomed.delete("");
}

/** What lies in the rows now, by key. From a copy: this process must not close a handle to the database itself. */
function sealedIn(dataDir: string): Map<string, string> {
  const copy = mkdtempSync(join(tmpdir(), "keywheel-copy-"));
  try {
    execFileSync("cp", [...filesOf(dataDir), copy]);
    const database = new DatabaseSync(join(copy, "keywheel.db"));
    const rows = database.prepare("SELECT id, secret_sealed FROM keys").all();
    database.close();
    return new Map(rows.map(({ id, secret_sealed: sealed }) => [String(id), String(sealed)]));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Those of which any piece is still in the files. */
function leftOf(sealed: ReadonlySet<string>, dataDir: string): readonly string[] {
  const contents = execFileSync("cat", filesOf(dataDir), { maxBuffer: 256 * 1024 * 1024 }).toString("latin1");
  const pieces = new Set<string>();
  for (const [run] of contents.matchAll(/[A-Za-z0-9+/=]{24,}/g)) {
    for (let at = 0; at + pieceLength <= run.length; at++) pieces.add(run.slice(at, at + pieceLength));
  }
  return [...sealed].filter((value) =>
    [4, 30, value.length - pieceLength].some((at) => pieces.has(value.slice(at, at + pieceLength))),
  );
}

function filesOf(dataDir: string): string[] {
  return readdirSync(dataDir)
    .filter((name) => /^keywheel\.db(-wal|-journal)?$/.test(name))
    .map((name) => join(dataDir, name));
}

async function aStore(options: Partial<OpenStoreOptions> = {}): Promise<{ store: OpenedStore; dataDir: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), "keywheel-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const store = await openStore({ dataDir, ...options });
  onTestFinished(() => store.close());
  await store.insertProvider(aProviderRecord());
  return { store, dataDir };
}

async function deleteAndDie(dataDir: string): Promise<void> {
  const child = startChild(`
    import { openStore } from ${JSON.stringify(import.meta.resolve("./open-store.ts"))};
    const store = await openStore({ dataDir: ${JSON.stringify(dataDir)} });
    await store.deleteKeys(${JSON.stringify(manyKeys().map(({ id }) => id))});
    process.kill(process.pid, "SIGKILL");
  `);
  await once(child, "exit");
}

/** Reads in the database, as a backup does. @returns ends it */
async function readInChild(dataDir: string): Promise<() => Promise<void>> {
  const child = startChild(`
    import { DatabaseSync } from "node:sqlite";
    const database = new DatabaseSync(${JSON.stringify(join(dataDir, "keywheel.db"))}, { readOnly: true });
    database.exec("BEGIN; SELECT count(*) FROM keys");
    process.stdout.write("reading");
    process.stdin.resume().on("end", () => database.close());
  `);
  await once(child.stdout, "data");
  return async () => {
    child.stdin.end();
    await once(child, "exit");
  };
}

function startChild(script: string): ChildProcessByStdio<Writable, Readable, null> {
  const args = ["--conditions=source", "--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}
