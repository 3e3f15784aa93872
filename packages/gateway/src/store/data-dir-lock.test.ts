import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { lockDataDir } from "./data-dir-lock.ts";

describe("the lock of a data directory", () => {
  it("lets one gateway in, and the next one once it is released", () => {
    const dataDir = aDataDir();
    const lock = lockDataDir(dataDir);

    expect(() => lockDataDir(dataDir)).toThrow(
      expect.objectContaining({
        code: "conflict",
        message: `The data directory ${dataDir} is in use by another gateway`,
      }),
    );
    lock.release();
    lock.release();

    lockDataDir(dataDir).release();
  });

  it("names the gateway that has it", () => {
    const dataDir = aDataDir();
    const lock = lockDataDir(dataDir);
    onTestFinished(() => lock.release());
    writeFileSync(
      join(dataDir, "gateway.json"),
      JSON.stringify({ url: "http://127.0.0.1:8787", pid: 42, version: "1" }),
    );

    expect(() => lockDataDir(dataDir)).toThrow(/in use by the gateway at http:\/\/127\.0\.0\.1:8787 \(process 42\)/);
  });

  it("leaves one file behind, closed to others", () => {
    const dataDir = aDataDir();
    writeFileSync(join(dataDir, "lock"), "");
    chmodSync(join(dataDir, "lock"), 0o644);

    const lock = lockDataDir(dataDir);

    expect(readdirSync(dataDir)).toEqual(["lock"]);
    expect(statSync(join(dataDir, "lock")).mode & 0o777).toBe(0o600);
    lock.release();
  });

  it("ends with the process that has it, also under kill -9", async () => {
    const dataDir = aDataDir();
    const script = `
      import { lockDataDir } from ${JSON.stringify(import.meta.resolve("./data-dir-lock.ts"))};
      const lock = lockDataDir(${JSON.stringify(dataDir)});
      process.stdout.write("locked");
      setInterval(() => lock, 1000);
    `;
    const args = ["--conditions=source", "--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script];
    const holder = spawn(process.execPath, args);
    onTestFinished(() => void holder.kill("SIGKILL"));
    await once(holder.stdout, "data");
    expect(() => lockDataDir(dataDir)).toThrow(/in use/);

    holder.kill("SIGKILL");
    await once(holder, "exit");

    lockDataDir(dataDir).release();
  });
});

function aDataDir(): string {
  const folder = mkdtempSync(join(tmpdir(), "keywheel-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
