import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkAddress } from "./address-check.ts";
import { checkDataDir, checkDisk } from "./data-dir-checks.ts";
import { checkDatabase } from "./database-check.ts";
import { checkClock } from "./provider-checks.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keywheel-doctor-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("the data directory", () => {
  it("is as it should be while it is closed to others", () => {
    writeFileSync(join(folder, "master.key"), "", { mode: 0o600 });

    expect(checkDataDir(folder).state).toBe("ok");
  });

  it.each([0o640, 0o604, 0o666])("is warned about if others may get at a file: %o", (mode) => {
    const file = join(folder, "master.key");
    writeFileSync(file, "");
    chmodSync(file, mode);

    expect(checkDataDir(folder)).toMatchObject({ state: "warn", message: expect.stringContaining(file) as string });
  });

  it("fails if it is a file, or is not there", () => {
    const file = join(folder, "data");
    writeFileSync(file, "");

    expect([checkDataDir(file).state, checkDataDir(join(folder, "none")).state]).toEqual(["fail", "fail"]);
  });
});

it.each([
  [100, "fail"],
  [500, "warn"],
  [5_000, "ok"],
])("judges %i MiB of free space: %s", (mebibytes, state) => {
  expect(checkDisk(folder, mebibytes * 1024 * 1024).state).toBe(state);
});

it("finds the free space of a folder that is not there yet", () => {
  expect(checkDisk(join(folder, "a", "b")).message).toMatch(/\d+ MiB are free/);
});

describe("the clock", () => {
  it.each([
    [[0], "ok"],
    [[-29_000], "ok"],
    [[60_000], "warn"],
    [[-3_600_000], "fail"],
    // The provider is off, not we.
    [[3_600_000, 200], "ok"],
    [[], "warn"],
  ])("is judged by the provider whose is nearest: %j is %s", (skews, state) => {
    expect(checkClock(skews).state).toBe(state);
  });

  it("says which way it is off", () => {
    expect(checkClock([90_000]).message).toBe("It is 1 min 30 s behind the providers'.");
    expect(checkClock([-90_000]).message).toBe("It is 1 min 30 s ahead of the providers'.");
  });
});

describe("the address", () => {
  const question = { host: "127.0.0.1", port: 0, requireToken: false, tokens: 0, hasAdminToken: false };

  it.each([
    [{}, "ok"],
    [{ host: "0.0.0.0" }, "fail"],
    [{ host: "0.0.0.0", requireToken: true }, "fail"],
    [{ host: "0.0.0.0", requireToken: true, hasAdminToken: true }, "ok"],
    [{ host: "0.0.0.0", tokens: 1, hasAdminToken: true }, "ok"],
    [{ host: "192.0.2.1", requireToken: true, hasAdminToken: true }, "fail"],
  ])("is judged by the rules of the doors: %j is %s", async (parts, state) => {
    expect((await checkAddress({ ...question, ...parts })).state).toBe(state);
  });

  it("fails if something listens there", async () => {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;

    expect((await checkAddress({ ...question, port })).message).toContain("EADDRINUSE");
    server.close();
  });
});

describe("the database", () => {
  it("may not be there yet", () => {
    expect(checkDatabase(folder)).toMatchObject({ check: { state: "ok" }, hasAdminToken: false });
  });

  it("is only read, and is damaged if SQLite finds a broken page, or no database", async () => {
    const file = join(folder, "keywheel.db");
    const database = new DatabaseSync(file);
    database.exec("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT)");
    const insert = database.prepare("INSERT INTO meta VALUES (?, ?)");
    for (let n = 0; n < 500; n++) insert.run(`name ${n}`, "x".repeat(100));
    insert.run("admin_token_sha256", "00");
    database.close();
    const before = await readFile(file);
    expect(checkDatabase(folder)).toMatchObject({ check: { state: "ok" }, hasAdminToken: true });

    const whole = await readFile(file);
    expect(whole).toEqual(before);
    whole.fill(0xff, 4096 * 2, 4096 * 3);
    writeFileSync(file, whole);
    expect(checkDatabase(folder).check).toMatchObject({
      state: "fail",
      advice: expect.stringContaining("backup") as string,
    });

    writeFileSync(file, "this is no database, but it is long enough to be looked at ".repeat(20));
    expect(checkDatabase(folder).check.state).toBe("fail");
  });
});
