import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Secret } from "@keywheel/pool";
import { describe, expect, it, onTestFinished } from "vitest";
import { aKeyRecord, aProviderRecord, aWebhookRecord } from "../../../testkit/src/store-suite.ts";
import { rotateMasterKey, type RotationOptions, type RotationStep } from "./master-key-rotation.ts";
import { openStore } from "./open-store.ts";

const keyCount = 300;
const given = randomBytes(32).toString("base64");
const other = randomBytes(32).toString("base64");

describe("a rotation of the master key", { timeout: 60_000 }, () => {
  it("seals every value anew, and leaves one new file of mode 0600", async () => {
    const dataDir = await aFilledDataDir();
    const before = contentsOf(dataDir, "master.key");

    const outcome = await rotateMasterKey({ dataDir });

    expect(outcome).toEqual({ resealed: { providers: 1, keys: keyCount }, file: join(dataDir, "master.key") });
    expect(contentsOf(dataDir, "master.key")).not.toBe(before);
    expect(statSync(join(dataDir, "master.key")).mode & 0o777).toBe(0o600);
    expect(readdirSync(dataDir).sort()).toEqual(["keywheel.db", "lock", "master.key"]);
    await expectAllReadable({ dataDir });
  });

  it("leaves nothing in the files that the old key opens", async () => {
    const dataDir = await aFilledDataDir();
    const sealed = sealedIn(dataDir);
    expect(sealed.length).toBeGreaterThan(keyCount);

    await rotateMasterKey({ dataDir });

    const now = sealedIn(dataDir);
    expect(sealed.filter((value) => now.includes(value))).toEqual([]);
  });

  it("keeps finding values that are held already", async () => {
    const dataDir = await aFilledDataDir();

    await rotateMasterKey({ dataDir });

    const store = await openStore({ dataDir });
    onTestFinished(() => store.close());
    expect(await store.findHeld("prv_1", [valueOf(7)])).toEqual(["key_7"]);
    await expect(store.insertKeys([aKeyRecord({ id: "key_again", secret: valueOf(7) })])).rejects.toMatchObject({
      code: "conflict",
    });
  });

  it("goes from a given key to another, and touches no file", async () => {
    const dataDir = await aFilledDataDir(given);

    expect(await rotateMasterKey({ dataDir, masterKey: given, newMasterKey: other })).toMatchObject({
      file: undefined,
    });

    expect(existsSync(join(dataDir, "master.key"))).toBe(false);
    await expectAllReadable({ dataDir, masterKey: other });
    expect(await matches({ dataDir, masterKey: given })).toBe(false);
  });

  it("goes from a file to a given key, and removes the file that opens nothing any more", async () => {
    const dataDir = await aFilledDataDir();

    await rotateMasterKey({ dataDir, newMasterKey: other });

    expect(existsSync(join(dataDir, "master.key"))).toBe(false);
    await expectAllReadable({ dataDir, masterKey: other });
  });

  it("goes from a given key to a file", async () => {
    const dataDir = await aFilledDataDir(given);

    await rotateMasterKey({ dataDir, masterKey: given });

    await expectAllReadable({ dataDir });
  });

  it("keeps the old key where it is told to, and never over a file that is there", async () => {
    const dataDir = await aFilledDataDir();
    const before = contentsOf(dataDir, "master.key");
    const keepOldIn = join(dataDir, "old.key");

    await rotateMasterKey({ dataDir, keepOldIn });

    expect(readFileSync(keepOldIn, "utf8")).toBe(before);
    expect(statSync(keepOldIn).mode & 0o777).toBe(0o600);
    const now = contentsOf(dataDir, "master.key");
    await expect(rotateMasterKey({ dataDir, keepOldIn })).rejects.toMatchObject({ code: "conflict" });
    expect(contentsOf(dataDir, "master.key")).toBe(now);
  });

  it("is refused while a gateway has the directory", async () => {
    const dataDir = await aFilledDataDir();
    const store = await openStore({ dataDir });
    onTestFinished(() => store.close());

    await expect(rotateMasterKey({ dataDir })).rejects.toMatchObject({ code: "conflict" });
  });

  it.each([
    ["the present key is not the one", { masterKey: other, newMasterKey: randomBytes(32).toString("base64") }],
    ["the new key is the present one", { masterKey: given, newMasterKey: given }],
    ["the new key is none", { masterKey: given, newMasterKey: "c2hvcnQ=" }],
  ])("is refused where %s, and changes nothing", async (_, keys) => {
    const dataDir = await aFilledDataDir(given);

    await expect(rotateMasterKey({ dataDir, ...keys })).rejects.toThrow(/master key|MASTER_KEY/);

    expect(readdirSync(dataDir).sort()).toEqual(["keywheel.db", "lock"]);
    await expectAllReadable({ dataDir, masterKey: given });
  });

  it("is refused where one value cannot be opened, which would be lost", async () => {
    const dataDir = await aFilledDataDir();
    execFileSync(process.execPath, [
      "--disable-warning=ExperimentalWarning",
      "-e",
      `const { DatabaseSync } = require("node:sqlite");
       new DatabaseSync(process.argv[1]).exec("UPDATE keys SET secret_sealed = 'v1.AAAA' WHERE id = 'key_5'")`,
      join(dataDir, "keywheel.db"),
    ]);
    const before = contentsOf(dataDir, "master.key");

    await expect(rotateMasterKey({ dataDir })).rejects.toMatchObject({
      code: "store_unavailable",
      message: "The stored value of key key_5 cannot be opened: it is damaged",
    });

    expect(contentsOf(dataDir, "master.key")).toBe(before);
    expect(readdirSync(dataDir).sort()).toEqual(["keywheel.db", "lock", "master.key"]);
  });
});

describe("kill -9 in a rotation", { timeout: 120_000 }, () => {
  it.each<RotationStep>(["prepared", "resealed", "committed", "proven", "kept", "placed", "done"])(
    "at the step `%s` leaves a directory that opens, wholly",
    async (step) => {
      const dataDir = await aFilledDataDir();
      const before = contentsOf(dataDir, "master.key");

      await rotateAndDie({ dataDir }, `onStep: (step) => step === "${step}" && process.kill(process.pid, "SIGKILL")`);
      await expectAllReadable({ dataDir });

      const isOld = step === "prepared" || step === "resealed";
      expect(contentsOf(dataDir, "master.key") === before).toBe(isOld);
      expect(readdirSync(dataDir).sort()).toEqual(["keywheel.db", "lock", "master.key"]);
      // And the next one finds nothing in its way.
      await rotateMasterKey({ dataDir });
      await expectAllReadable({ dataDir });
    },
  );

  it("between two given keys leaves a directory that opens with one of them", async () => {
    for (const step of ["resealed", "committed"] satisfies RotationStep[]) {
      const dataDir = await aFilledDataDir(given);
      const keys = { dataDir, masterKey: given, newMasterKey: other };

      await rotateAndDie(keys, `onStep: (step) => step === "${step}" && process.kill(process.pid, "SIGKILL")`);

      await expectAllReadable({ dataDir, masterKey: step === "resealed" ? given : other });
    }
  });

  it("at any other instant leaves a directory that opens, time after time", async () => {
    const dataDir = await aFilledDataDir();
    for (let round = 0; round < 12; round++) {
      // From before the key is made until behind the end: the child says when it begins, it takes some 100 ms.
      await rotateAndDie({ dataDir }, `onStep: () => {}`, round * 17);
      await expectAllReadable({ dataDir });
    }
  });

  it("is got over although the database was put back from a backup since", async () => {
    const dataDir = await aFilledDataDir();
    const backup = join(dataDir, "backup.db");
    execFileSync("cp", [join(dataDir, "keywheel.db"), backup]);
    await rotateAndDie({ dataDir }, `onStep: (step) => step === "placed" && process.kill(process.pid, "SIGKILL")`);

    for (const side of ["-wal", "-shm"]) rmSync(join(dataDir, `keywheel.db${side}`), { force: true });
    execFileSync("mv", [backup, join(dataDir, "keywheel.db")]);

    await expectAllReadable({ dataDir });
  });

  it("removes no key while none of them is the right one", async () => {
    const dataDir = await aFilledDataDir(given);
    writeFileSync(join(dataDir, "master.key.next"), other, { mode: 0o600 });

    expect(await matches({ dataDir })).toBe(false);

    expect(readdirSync(dataDir)).toContain("master.key.next");
  });
});

function valueOf(n: number) {
  return { kind: "literal", value: new Secret(`sk-rotated-value-number-${n}-0123456789`) } as const;
}

async function aFilledDataDir(masterKey?: string): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), "keywheel-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const store = await openStore({ dataDir, masterKey });
  await store.insertProvider(aProviderRecord({ apiKey: valueOf(0) }));
  const literal = Array.from({ length: keyCount }, (_, n) =>
    aKeyRecord({ id: `key_${n + 1}`, secret: valueOf(n + 1) }),
  );
  await store.insertKeys([
    ...literal,
    aKeyRecord({ id: "key_ref", secret: { kind: "reference", name: "OPENAI_KEY" } }),
  ]);
  await store.insertWebhook(aWebhookRecord());
  await store.close();
  return dataDir;
}

async function expectAllReadable(source: { dataDir: string; masterKey?: string }): Promise<void> {
  const store = await openStore(source);
  try {
    const { providers, keys, webhooks } = await store.load();
    const [hook] = webhooks.map(({ secret }) => (secret.kind === "literal" ? secret.value.reveal() : secret.kind));
    expect(hook).toMatch(/^whsec_/);
    const read = [...providers.map(({ apiKey }) => apiKey), ...keys.map(({ secret }) => secret)];
    const values = read.map((secret) => (secret?.kind === "literal" ? secret.value.reveal() : secret?.kind));
    expect(store.masterKeyMatches).toBe(true);
    expect(values).toEqual([...Array.from({ length: keyCount + 1 }, (_, n) => valueOf(n).value.reveal()), "reference"]);
  } finally {
    await store.close();
  }
}

async function matches(source: { dataDir: string; masterKey?: string }): Promise<boolean> {
  const store = await openStore(source);
  await store.close();
  return store.masterKeyMatches;
}

/** Rotates in a child, which kills itself at a step, or is killed so long behind its beginning. */
async function rotateAndDie(options: RotationOptions, onStep: string, killAfterMs?: number): Promise<void> {
  const script = `
    import { rotateMasterKey } from ${JSON.stringify(import.meta.resolve("./master-key-rotation.ts"))};
    process.stdout.write("begins");
    await rotateMasterKey({ ...${JSON.stringify(options)}, ${onStep} });
  `;
  const args = ["--conditions=source", "--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "exit");
  if (killAfterMs !== undefined) {
    await once(child.stdout, "data");
    await wait(killAfterMs);
    child.kill("SIGKILL");
  }
  await ended;
  if (killAfterMs === undefined && child.signalCode !== "SIGKILL") throw new Error("it came to its end");
}

function contentsOf(dataDir: string, name: string): string {
  return readFileSync(join(dataDir, name), "utf8");
}

/** Everything in the files of the database that looks like a sealed value. */
function sealedIn(dataDir: string): string[] {
  const files = readdirSync(dataDir).filter((name) => name.startsWith("keywheel.db"));
  const contents = execFileSync(
    "cat",
    files.map((name) => join(dataDir, name)),
  ).toString("latin1");
  return [...contents.matchAll(/v1\.[A-Za-z0-9+/=]{40,}/g)].map(([sealed]) => sealed.slice(0, 48));
}
