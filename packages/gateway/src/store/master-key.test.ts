import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { deriveOperatorToken, loadMasterKey, readMasterKey } from "./master-key.ts";

const given = Buffer.alloc(32, 7).toString("base64");

describe("the master key", () => {
  it("is made once, for the owner's eyes only", () => {
    const dataDir = aDataDir();

    const first = deriveOperatorToken(loadMasterKey({ dataDir }));

    expect(deriveOperatorToken(loadMasterKey({ dataDir }))).toBe(first);
    expect(statSync(join(dataDir, "master.key")).mode & 0o777).toBe(0o600);
    expect(Buffer.from(readFileSync(join(dataDir, "master.key"), "utf8"), "base64").length).toBe(32);
    expect(readdirSync(dataDir)).toEqual(["master.key"]);
  });

  it("is the same for processes that make it at the same time", async () => {
    const dataDir = aDataDir();

    const tokens = await Promise.all([1, 2, 3, 4].map(() => loadInChild(dataDir)));

    expect(new Set(tokens).size).toBe(1);
    expect(tokens[0]).toBe(deriveOperatorToken(loadMasterKey({ dataDir })));
  });

  it("is closed to others again when its file was opened to them", () => {
    const dataDir = aDataDir();
    loadMasterKey({ dataDir });
    chmodSync(join(dataDir, "master.key"), 0o644);

    loadMasterKey({ dataDir });

    expect(statSync(join(dataDir, "master.key")).mode & 0o777).toBe(0o600);
  });

  it("is taken from the environment where it is given, and no file is made", () => {
    const dataDir = aDataDir();

    const token = deriveOperatorToken(loadMasterKey({ dataDir, masterKey: `${given}\n` }));

    expect(token).toMatch(/^kwl_[A-Za-z0-9_-]{43}$/);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it.each([
    ["32 bytes without padding", given.replaceAll("=", "")],
    ["the alphabet for addresses", Buffer.alloc(32, 0xff).toString("base64url")],
  ])("may be given as %s", (_, masterKey) => {
    expect(() => loadMasterKey({ dataDir: aDataDir(), masterKey })).not.toThrow();
  });

  it.each([
    ["", "got 0 bytes"],
    ["c2hvcnQ=", "got 5 bytes"],
    [Buffer.alloc(33).toString("base64"), "got 33 bytes"],
    ["correct horse battery staple!!!!", "got text that is not base64"],
  ])("is refused as %j without repeating it", (masterKey, got) => {
    const message = `Expected \`KEYWHEEL_MASTER_KEY\` to be 32 bytes in base64, ${got}`;

    expect(() => loadMasterKey({ dataDir: aDataDir(), masterKey })).toThrow(
      expect.objectContaining({ code: "validation_failed", message }),
    );
  });

  it.each(["", "c2hvcnQ=", "not base64 at all"])("is never replaced when its file holds %j", (text) => {
    const dataDir = aDataDir();
    writeFileSync(join(dataDir, "master.key"), text);

    expect(() => loadMasterKey({ dataDir })).toThrow(expect.objectContaining({ code: "store_unavailable" }));
    expect(readFileSync(join(dataDir, "master.key"), "utf8")).toBe(text);
  });

  it("is not made by whoever only reads it", () => {
    const dataDir = aDataDir();

    expect(readMasterKey({ dataDir })).toBeUndefined();
    expect(readdirSync(dataDir)).toEqual([]);
  });
});

async function loadInChild(dataDir: string): Promise<string> {
  const script = `
    import { deriveOperatorToken, loadMasterKey } from ${JSON.stringify(import.meta.resolve("./master-key.ts"))};
    process.stdout.write(deriveOperatorToken(loadMasterKey({ dataDir: ${JSON.stringify(dataDir)} })));
  `;
  const args = ["--conditions=source", "--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script];
  return (await promisify(execFile)(process.execPath, args)).stdout;
}

function aDataDir(): string {
  const folder = mkdtempSync(join(tmpdir(), "keywheel-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
