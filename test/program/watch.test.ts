import { once } from "node:events";
import { reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import type { FullStatus } from "../../packages/gateway/src/cli/commands/status-affinity.ts";
import { eventually, poolOf } from "../pooled-provider.ts";
import { aHome, spawnCommand } from "./run-command.ts";
import { lastScreen, runInTerminal } from "./terminal.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const enterScreen = "\u001b[?1049h\u001b[?25l";
const leaveScreen = "\u001b[?25h\u001b[?1049l";

describe("status --watch on a terminal", () => {
  it("shows every key with its state, its countdown and its rate, and leaves the screen as it was on Ctrl-C", async () => {
    using place = aHome();
    await using pool = await poolOf(gateway, { keys: [{ api_key: "sk-test-watch-0123456789abc1", label: "main" }] });
    await using terminal = runInTerminal(["status", "--watch"], {
      ...place,
      env: { KEYWHEEL_DATA_DIR: gateway.dataDir },
      columns: 140,
    });

    await terminal.shows(/main +available/);
    await pool.turns(3);
    await terminal.shows(/main +available +1 +3 +3 /);
    pool.provider.forKey(pool.values[0] ?? "").always(reply.status(429));
    await pool.send().then((response) => response.arrayBuffer());
    await terminal.shows(/cooling down, (1 min|59 s) left/);
    await terminal.shows(/cooling down, 5[0-8] s left/);
    const screen = lastScreen(terminal.output()).join("\n");
    terminal.type("\u0003");

    expect(await terminal.ended).toBe(0);
    expect(screen).toMatch(/Provider +Key +State +Weight +Last min +Requests +Sessions +Reason/);
    expect(terminal.output().startsWith(enterScreen)).toBe(true);
    expect(terminal.output().trimEnd().endsWith(leaveScreen)).toBe(true);
  });

  it("fits its lines to the screen, and to another size of it", async () => {
    using place = aHome();
    const keys = Array.from({ length: 20 }, (_, at) => ({
      api_key: `sk-test-many-0123456789ab${at + 10}`,
      label: `key ${at}`,
    }));
    await using _pool = await poolOf(gateway, { keys });
    await using terminal = runInTerminal(["status", "--watch"], {
      ...place,
      env: { KEYWHEEL_DATA_DIR: gateway.dataDir },
      columns: 60,
      rows: 12,
    });

    await terminal.shows("for which there is no room");
    const small = lastScreen(terminal.output());
    await terminal.resize(120, 40);
    await terminal.shows(/key 19/);
    const large = lastScreen(terminal.output());
    terminal.type("\u0003");
    await terminal.ended;

    expect(small.length).toBeLessThanOrEqual(12);
    expect(Math.max(...small.map((line) => line.length))).toBeLessThanOrEqual(60);
    expect(large.join("\n")).toContain("key 0 ");
    expect(large.length).toBeGreaterThan(20);
  });
});

describe("status --watch of pools that sessions stay in", () => {
  it("shows what part of the requests kept their key, and of the input came from the cache", async () => {
    using place = aHome();
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    const usage = { prompt_tokens: 100, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 40 } };
    const answer = reply.json(200, {}, { choices: [{ message: { content: "Hi" } }], usage });
    const answers = pool.provider.on().always(answer);
    await pool.turns(3, { session: "a chat" });
    await using terminal = runInTerminal(["status", "--watch"], {
      ...place,
      env: { KEYWHEEL_DATA_DIR: gateway.dataDir },
      columns: 140,
      rows: 40,
    });

    await terminal.shows(/Provider +State +Keys +Kept key +Cached/);
    await terminal.shows(new RegExp(`${pool.record.slug} +serving +2 of 2 keys available +100% +40%`));
    answers.clear().next(reply.status(429)).always(answer);
    await pool.turns(1, { session: "a chat" });
    await terminal.shows(new RegExp(`${pool.record.slug} +serving +1 of 2 .* 66\\.7% +40%`));
    terminal.type("\u0003");

    expect(await terminal.ended).toBe(0);
  }, 30_000);

  it("tells programs the same, once a second", async () => {
    using place = aHome();
    await using pool = await poolOf(gateway, { weights: [1] });
    await pool.turns(2, { session: "a chat" });
    const child = spawnCommand(["status", "--watch", "--json"], {
      ...place,
      env: { KEYWHEEL_DATA_DIR: gateway.dataDir },
    });

    const [first] = (await once(child.stdout!, "data")) as [Buffer];
    child.kill("SIGINT");
    await once(child, "exit");

    const { providers } = JSON.parse(String(first)) as FullStatus;
    expect(providers.find(({ id }) => id === pool.record.id)?.affinity).toMatchObject({ requests: 2, kept_share: 1 });
  });
});

describe("status --watch elsewhere", () => {
  it("says a line for each change", async () => {
    using place = aHome();
    await using pool = await poolOf(gateway, { keys: [{ api_key: "sk-test-lines-0123456789abc1", label: "main" }] });
    const child = spawnCommand(["status", "--watch"], { ...place, env: { KEYWHEEL_DATA_DIR: gateway.dataDir } });
    let output = "";
    child.stdout?.on("data", (text) => (output += String(text)));
    const says = (what: RegExp): Promise<string> =>
      eventually(
        async () => output,
        (text) => what.test(text),
        { what: `${what} in the output`, timeoutMs: 20_000 },
      );

    await says(new RegExp(`^\\d{4}-\\d\\d-\\d\\dT[\\d:]+Z  ${pool.record.slug} main: available$`, "m"));
    pool.provider.revoke(pool.values[0] ?? "");
    await pool.send().then((response) => response.arrayBuffer());
    await says(new RegExp(`${pool.record.slug} main: disabled, authentication failed`, "m"));
    await says(new RegExp(`${pool.record.slug}: no usable key$`, "m"));
    const lines = output.split("\n").length;
    child.kill("SIGINT");
    const [code] = (await once(child, "exit")) as [number | null];

    expect(code).toBe(0);
    expect(output).not.toContain("\u001b");
    expect(lines).toBeLessThan(60);
  });

  it("ends once nobody reads it any more", async () => {
    using place = aHome();
    const child = spawnCommand(["status", "--watch", "--json"], {
      ...place,
      env: { KEYWHEEL_DATA_DIR: gateway.dataDir },
    });

    const [first] = (await once(child.stdout!, "data")) as [Buffer];
    child.stdout?.destroy();
    const [code] = (await once(child, "exit")) as [number | null];

    expect(JSON.parse(String(first))).toHaveProperty("providers");
    expect(code).toBe(0);
  });
});
