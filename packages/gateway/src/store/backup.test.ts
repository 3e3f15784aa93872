import { execFileSync } from "node:child_process";
import {
  mkdtempSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { fillStore } from "../../../testkit/src/store-suite.ts";
import { backUp } from "./backup.ts";
import { openStore } from "./open-store.ts";

// The store is closed while a backup is made here: a process of its own makes it beside a gateway, see test/program.
describe("a backup", () => {
  it("is one whole file of mode 0600, whatever the umask, and opens with its master key", async () => {
    const dataDir = await aFilledDataDir();
    const file = join(aFolder(), "backup.db");

    const outcome = await backUp({ dataDir, file, replaces: false });

    expect(outcome).toEqual({ file, bytes: statSync(file).size, providers: 1, keys: 5 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await valuesIn(restored(file, dataDir))).toEqual(await valuesIn(dataDir));
  });

  it("holds nothing of what was deleted before, and no master key", async () => {
    const dataDir = await aFilledDataDir();
    const file = join(aFolder(), "backup.db");
    const store = await openStore({ dataDir });
    await store.deleteKeys(["key_5"]);
    await store.close();

    await backUp({ dataDir, file, replaces: false });

    const contents = readFileSync(file, "latin1");
    expect(contents).toContain("key_4");
    expect(contents).not.toContain("key_5");
    expect(contents).not.toContain(readFileSync(join(dataDir, "master.key"), "latin1").trim());
  });

  it("never takes the place of a file unless it is told to", async () => {
    const dataDir = await aFilledDataDir();
    const folder = aFolder();
    const file = join(folder, "backup.db");
    writeFileSync(file, "precious", { mode: 0o644 });

    await expect(backUp({ dataDir, file, replaces: false })).rejects.toMatchObject({
      code: "conflict",
      hint: expect.stringContaining("--force"),
    });
    expect(readFileSync(file, "utf8")).toBe("precious");
    await backUp({ dataDir, file, replaces: true });

    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await valuesIn(restored(file, dataDir))).toHaveLength(5);
    expect(readdirSync(folder)).toEqual(["backup.db"]);
  });

  it.each(["keywheel.db", "keywheel.db-wal", "master.key", "lock"])("never takes the place of %s", async (name) => {
    const dataDir = await aFilledDataDir();
    const folder = join(aFolder(), "link");
    symlinkSync(dataDir, folder);

    await expect(backUp({ dataDir, file: join(folder, name), replaces: true })).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("is a file that the gateway needs"),
    });

    expect(await valuesIn(dataDir)).toHaveLength(5);
  });

  it("leaves nothing behind where it fails, and says why", async () => {
    const dataDir = await aFilledDataDir();
    const folder = aFolder();

    await expect(
      backUp({ dataDir, file: join(folder, "missing", "backup.db"), replaces: false }),
    ).rejects.toMatchObject({ code: "store_unavailable", message: expect.stringContaining("there is no such folder") });
    await expect(backUp({ dataDir: folder, file: join(folder, "backup.db"), replaces: false })).rejects.toMatchObject({
      code: "not_found",
    });
    await expect(
      backUp({ dataDir, file: join(folder, "backup.db"), replaces: false, signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({ message: "The backup was ended early" });

    expect(readdirSync(folder)).toEqual([]);
  });

  it("is not made of a damaged database", async () => {
    const dataDir = await aFilledDataDir();
    const folder = aFolder();
    const file = join(dataDir, "keywheel.db");
    const contents = readFileSync(file);
    writeFileSync(file, Buffer.concat([contents.subarray(0, 4096), Buffer.alloc(contents.length - 4096, 0x5a)]));

    await expect(backUp({ dataDir, file: join(folder, "backup.db"), replaces: false })).rejects.toMatchObject({
      code: "store_unavailable",
    });

    expect(readdirSync(folder)).toEqual([]);
  });
});

async function aFilledDataDir(): Promise<string> {
  const dataDir = aFolder();
  const store = await openStore({ dataDir });
  await fillStore(store, 5);
  await store.close();
  return dataDir;
}

/** A data directory with this backup for its database. */
function restored(file: string, from: string): string {
  const dataDir = join(aFolder(), "restored");
  mkdirSync(dataDir);
  execFileSync("cp", [file, join(dataDir, "keywheel.db")]);
  execFileSync("cp", [join(from, "master.key"), dataDir]);
  return dataDir;
}

async function valuesIn(dataDir: string): Promise<readonly unknown[]> {
  const store = await openStore({ dataDir });
  try {
    return (await store.load()).keys.map(({ secret }) => secret.kind === "literal" && secret.value.reveal());
  } finally {
    await store.close();
  }
}

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "keywheel-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
