import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished } from "vitest";
import { fillStore } from "../../../testkit/src/store-suite.ts";
import { openStore } from "./open-store.ts";

const keyCount = 50;

it("loses nothing that was acknowledged when it is killed in the middle of writes", { timeout: 30_000 }, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "keywheel-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const filled = await openStore({ dataDir });
  await fillStore(filled, keyCount);
  await filled.close();

  const acknowledged: string[] = [];
  // Killed at different depths of the write-ahead log, the last time behind its first checkpoint.
  for (const [round, writes] of [3, 17, 90, 400].entries()) {
    acknowledged.push(...(await writeUntilKilled(dataDir, { round, writes })));
    const store = await openStore({ dataDir });
    const { tokens, health } = await store.load();
    const stored = new Set([
      ...tokens.map(({ id }) => `token ${id}`),
      ...health.map(({ keyId, model }) => `health ${keyId} ${model}`),
    ]);
    await store.close();

    expect(acknowledged.filter((name) => !stored.has(name))).toEqual([]);
    expect(stored.size).toBeGreaterThanOrEqual(acknowledged.length);
  }
});

/** Lets a gateway write, and kills it once it has acknowledged so many. @returns all that it acknowledged */
async function writeUntilKilled(
  dataDir: string,
  { round, writes }: { readonly round: number; readonly writes: number },
): Promise<readonly string[]> {
  const args = ["--conditions=source", "--disable-warning=ExperimentalWarning", "--input-type=module", "-e"];
  const script = scriptOf(dataDir, round);
  const child = spawn(process.execPath, [...args, script], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const acknowledged: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    acknowledged.push(line);
    if (acknowledged.length === writes) child.kill("SIGKILL");
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return acknowledged;
}

/** Four writers at once, each of which says what it wrote as soon as it may rely on it. */
function scriptOf(dataDir: string, round: number): string {
  return `
    import { writeSync } from "node:fs";
    import { openStore } from ${JSON.stringify(import.meta.resolve("./open-store.ts"))};
    import { StoreJournal } from ${JSON.stringify(import.meta.resolve("./journal.ts"))};
    const store = await openStore({ dataDir: ${JSON.stringify(dataDir)} });
    const journal = new StoreJournal({ store, waitMs: 60_000 });
    const health = { failures: 1, cooldowns: 1, failuresSeen: 1, cooledAt: 1, coolUntil: 2, wait: "ladder" };
    const say = (what) => writeSync(1, what + "\\n");
    async function writeTokens(writer) {
      for (let n = 0; ; n++) {
        const id = "tok_${round}_" + writer + "_" + n;
        await store.insertToken({ id, name: "", hash: id, prefix: "", providerIds: null, createdAt: 1, lastUsedAt: null });
        say("token " + id);
      }
    }
    async function writeHealths(writer) {
      for (let n = 0; ; n++) {
        const keyId = "key_" + (n % ${keyCount} + 1), model = "${round}_" + writer + "_" + n;
        await journal.saveHealth({ poolId: "prv_1", keyId, secretVersion: 1, model, health, reason: undefined });
        say("health " + keyId + " " + model);
      }
    }
    await Promise.all([writeTokens(1), writeTokens(2), writeHealths(3), writeHealths(4)]);
  `;
}
