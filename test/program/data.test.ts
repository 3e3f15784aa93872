import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runGateway } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { type CommandOutcome, runCommand } from "./run-command.ts";

function keywheelOn(dataDir: string, env: Readonly<Record<string, string>> = {}) {
  return (words: string, input?: string): Promise<CommandOutcome> => {
    const options = { home: dataDir, env: { KEYWHEEL_DATA_DIR: dataDir, ...env } };
    return runCommand(words.split(" "), input === undefined ? options : { ...options, input });
  };
}

describe("keywheel rotate-master-key", () => {
  it("is refused while a gateway runs, and says what to do; then serves the same keys under a new master key", async () => {
    await using gateway = await runGateway();
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    const keywheel = keywheelOn(gateway.dataDir);
    const masterKey = (): string => readFileSync(join(gateway.dataDir, "master.key"), "utf8").trim();
    const before = masterKey();

    const refused = await keywheel("rotate-master-key");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`is in use by the gateway at ${gateway.url}`);
    expect(refused.stderr).toContain("Stop it, rotate the master key, then start it again.");
    expect(masterKey()).toBe(before);

    await gateway.kill("SIGTERM");
    const { code, stdout, stderr } = await keywheel("rotate-master-key --json");
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      { resealed: { providers: 0, keys: 2 }, master_key: "file", file: join(gateway.dataDir, "master.key") },
    ]);
    expect(stdout + stderr).not.toContain(masterKey());
    expect(masterKey()).not.toBe(before);

    await gateway.restart();
    expect((await pool.send()).status).toBe(200);
    expect(await gateway.api("GET", "/status")).toMatchObject({ master_key_ok: true });
  });

  it("asks for the new key where the present one is given, and says to start with it", async () => {
    const [present, next] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
    await using gateway = await runGateway({ env: { KEYWHEEL_MASTER_KEY: present } });
    await using _pool = await poolOf(gateway, { weights: [1] });
    await gateway.kill("SIGTERM");

    const unsaid = await keywheelOn(gateway.dataDir, { KEYWHEEL_MASTER_KEY: present })("rotate-master-key");
    const done = await keywheelOn(gateway.dataDir, { KEYWHEEL_MASTER_KEY: present, KEYWHEEL_NEW_MASTER_KEY: next })(
      "rotate-master-key",
    );

    expect(unsaid.code).toBe(2);
    expect(unsaid.stderr).toContain("Give the new one as KEYWHEEL_NEW_MASTER_KEY");
    expect(done.code).toBe(0);
    expect(done.stdout).toContain("Encrypted 1 key under a new master key.");
    expect(done.stdout).toContain("start the gateway with the new one in KEYWHEEL_MASTER_KEY");
    expect(readdirSync(gateway.dataDir).filter((name) => name.startsWith("master.key"))).toEqual([]);
    for (const text of [unsaid, done].map(({ stdout, stderr }) => stdout + stderr)) {
      expect(text).not.toContain(present);
      expect(text).not.toContain(next);
    }
    expect(existsSync(join(gateway.dataDir, "keywheel.db"))).toBe(true);
    const status = await keywheelOn(gateway.dataDir, { KEYWHEEL_MASTER_KEY: next })("status --json");
    expect(JSON.parse(status.stdout)).toMatchObject({ master_key_ok: true });
  });
});
