import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type KeyView, runGateway } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { aHome, type CommandOutcome, runCommand } from "./run-command.ts";

const value = "sk-proj-Q7xWm2Lr9TzKp4Vb";

/** Runs commands on one data directory. */
function keywheelIn(home: string, env: Readonly<Record<string, string>> = {}) {
  const all: CommandOutcome[] = [];
  const keywheel = async (words: string, input?: string): Promise<CommandOutcome> => {
    const options = input === undefined ? { home, env } : { home, env, input };
    const outcome = await runCommand(words.split(" "), options);
    all.push(outcome);
    return outcome;
  };
  return { keywheel, said: () => all.map(({ stdout, stderr }) => stdout + stderr).join("\n") };
}

describe("before any gateway was started", () => {
  it("lists nothing where there is nothing, and says what to do", async () => {
    using place = aHome();

    const { code, stderr } = await keywheelIn(place.home).keywheel("provider list");

    expect(code).toBe(1);
    expect(stderr).toContain("There is no data directory at");
    expect(stderr).toContain("keywheel start");
  });

  it("has nothing to watch", async () => {
    using place = aHome();
    await keywheelIn(place.home).keywheel("provider add openai");

    const { code, stderr } = await keywheelIn(place.home).keywheel("status --watch");

    expect(code).toBe(1);
    expect(stderr).toContain("there is nothing to watch");
  });

  it("prepares a pool that the gateway then serves", async () => {
    using place = aHome();
    const { keywheel, said } = keywheelIn(place.home);

    expect((await keywheel("provider add openai")).code).toBe(0);
    expect((await keywheel("key add openai - --label main --weight 3", `${value}\n`)).code).toBe(0);
    writeFileSync(join(place.home, "keys.txt"), `sk-aaaaaaaaaaaaaaaa1111,second key,2\n${value}\nno key\n`);
    const { stdout } = await keywheel("key import openai keys.txt");
    expect(stdout).toContain("Added 1 key.");
    expect(stdout).toContain("Line 2 (sk-…p4Vb) was passed over");
    const status = await keywheel("status");
    expect(status.stdout).toContain("not running");
    expect(status.stdout).toContain("2 of 2 keys available");

    await using gateway = await runGateway({ dataDir: join(place.home, ".local/share/keywheel") });
    const keys = await gateway.keys({ id: "openai" });
    expect(keys.map(({ label, weight }) => [label, weight])).toEqual([
      ["main", 3],
      ["second key", 2],
    ]);
    expect(said()).not.toContain(value);
  });
});

describe("while a gateway runs", () => {
  it("finds it by its data directory, and needs no token on the same machine", async () => {
    await using gateway = await runGateway();
    const { keywheel } = keywheelIn(gateway.dataDir, { KEYWHEEL_DATA_DIR: gateway.dataDir });
    await keywheel("provider add openai");
    await keywheel("key add openai - --label 한국", value);

    const { stdout, code } = await keywheel("key list");

    expect(code).toBe(0);
    const [heading = "", row = ""] = stdout.split("\n");
    expect(row).toContain("한국");
    expect(row).toContain("sk-…p4Vb");
    // Two columns for each Korean letter: what follows the label stands under its heading all the same.
    expect(row.indexOf("sk-…") + "한국".length).toBe(heading.indexOf("Key "));
    expect((await gateway.keys({ id: "openai" })).map(({ label }) => label)).toEqual(["한국"]);
  });

  it("prints with --json what the control plane answered, and nothing else", async () => {
    await using gateway = await runGateway();
    const record = await gateway.addProvider({ baseUrl: "https://api.openai.com/v1" });
    await gateway.addKeys(record, [value]);
    const { keywheel } = keywheelIn(gateway.dataDir, { KEYWHEEL_DATA_DIR: gateway.dataDir });

    for (const [words, path] of [
      ["provider list --json", "/providers"],
      ["key list openai --json", "/providers/openai/keys"],
      ["session list --json", "/sessions"],
      ["token list --json", "/tokens"],
      ["provider presets --json", "/provider-presets"],
    ] as const) {
      const { stdout, stderr } = await keywheel(words);

      expect(JSON.parse(stdout)).toEqual(await gateway.api("GET", path));
      expect(stderr).toBe("");
    }
    const status = await keywheel("status --json");
    expect(JSON.parse(status.stdout)).toMatchObject({ version: gateway.version, counts: { providers: 1 } });
  });

  it("changes keys by their labels, and removes them when told so", async () => {
    await using gateway = await runGateway();
    const record = await gateway.addProvider({ baseUrl: "https://api.openai.com/v1" });
    const [key] = await gateway.addKeys(record, [{ api_key: value, label: "main" }]);
    const { keywheel } = keywheelIn(gateway.dataDir, { KEYWHEEL_DATA_DIR: gateway.dataDir });
    const now = (): Promise<KeyView> => gateway.key(key?.id ?? "");

    expect((await keywheel("key set main --weight 7 --label other")).code).toBe(0);
    expect(await now()).toMatchObject({ weight: 7, label: "other" });
    expect((await keywheel("key disable other")).code).toBe(0);
    expect((await now()).status).toBe("disabled");
    expect((await keywheel("key enable other")).code).toBe(0);
    expect((await now()).status).toBe("available");

    const unasked = await keywheel("key remove other");
    expect(unasked.code).toBe(2);
    expect(unasked.stderr).toContain("--yes");
    expect((await keywheel("key remove other --yes")).code).toBe(0);
    expect(await gateway.keys(record)).toEqual([]);
  });

  it("makes a token whose text can be piped on, and revokes it by its name", async () => {
    await using gateway = await runGateway();
    const { keywheel } = keywheelIn(gateway.dataDir, { KEYWHEEL_DATA_DIR: gateway.dataDir });

    const { stdout, stderr } = await keywheel("token create laptop");
    expect(stdout).toMatch(/^kw_[a-z2-7]{32}\n$/);
    expect(stderr).toContain("shown once");
    expect((await keywheel("token revoke laptop --yes")).code).toBe(0);

    expect(await gateway.api("GET", "/tokens")).toEqual({ data: [] });
  });

  it("limits a token, changes it and shows what it is good for", async () => {
    await using gateway = await runGateway();
    const { keywheel } = keywheelIn(gateway.dataDir, { KEYWHEEL_DATA_DIR: gateway.dataDir });
    const tokens = async () => (await gateway.api<{ data: Record<string, unknown>[] }>("GET", "/tokens")).data;

    await keywheel("token create ci --expires 2099-01-31 --max-requests-per-minute 60 --max-concurrent 4");
    expect(await tokens()).toMatchObject([
      { name: "ci", expires_at: new Date(2099, 1, 1).toISOString(), max_requests_per_minute: 60, max_concurrent: 4 },
    ]);
    expect((await keywheel("token list")).stdout).toMatch(/ci .* 60 a minute, 4 at a time +2099-02-01 00:00/);

    const set = await keywheel("token set ci --expires never --max-requests-per-minute none --name desk");
    expect(set.stdout).toBe('Changed the token "desk": 4 at a time, expires never.\n');
    expect(await tokens()).toMatchObject([{ name: "desk", expires_at: null, max_requests_per_minute: null }]);

    const [words, range, past, nothing] = [
      await keywheel("token set desk --expires soon"),
      await keywheel("token set desk --max-concurrent 0"),
      await keywheel("token set desk --expires 2020-01-31"),
      await keywheel("token set desk"),
    ];
    expect([words.code, range.code, past.code, nothing.code]).toEqual([2, 1, 1, 2]);
    expect(words.stderr).toContain("Expected `--expires` to be a time from now such as 12h");
    expect(range.stderr).toBe("Expected `--max-concurrent` to be an integer from 1 to 10000, got 0.\n");
    expect(past.stderr).toBe("Expected `--expires` to lie in the future.\n");
  });

  it("makes the admin token anew, with a gateway and without one", async () => {
    using place = aHome();
    const dataDir = join(place.home, "data");
    const { keywheel, said } = keywheelIn(place.home, { KEYWHEEL_DATA_DIR: dataDir });
    const ask = async (url: string, token: string) =>
      (await fetch(`${url}/api/status`, { headers: { authorization: `Bearer ${token}` } })).status;
    await keywheel("provider add openai");
    const before = (await keywheel("token rotate-admin --yes")).stdout.trim();

    await using gateway = await runGateway({ dataDir, env: { KEYWHEEL_ADMIN_TOKEN: "" } });
    expect(await ask(gateway.url, before)).toBe(200);
    expect((await keywheel("token rotate-admin")).code).toBe(2);
    const { code, stdout, stderr } = await keywheel("token rotate-admin --yes");

    expect([code, stdout]).toEqual([0, expect.stringMatching(/^kwa_[a-z2-7]{32}\n$/)]);
    expect(stderr).toContain("shown once");
    expect([await ask(gateway.url, before), await ask(gateway.url, stdout.trim())]).toEqual([401, 200]);
    expect(said().split(stdout.trim()).length).toBe(2);
  });

  it("names the flag that was refused, not the field", async () => {
    await using gateway = await runGateway();
    await gateway.addProvider({ baseUrl: "https://api.openai.com/v1" });
    const { keywheel } = keywheelIn(gateway.dataDir, { KEYWHEEL_DATA_DIR: gateway.dataDir });

    const weight = await keywheel("key add openai - --weight 200", value);
    const setting = await keywheel("provider set openai --setting cooldown.base_ms=5");

    expect([weight.code, setting.code]).toEqual([1, 1]);
    expect(weight.stderr).toBe("Expected `--weight` to be an integer from 1 to 100, got 200.\n");
    expect(setting.stderr).toContain(
      "Expected `--setting cooldown.base_ms` to be an integer from 100 to 86400000, got 5.",
    );
  });

  it("says that the admin token is wrong or missing", async () => {
    await using gateway = await runGateway();
    using place = aHome();
    const wrong = keywheelIn(place.home, { KEYWHEEL_ADMIN_TOKEN: "kwa_this_is_not_the_one" });

    const refused = await wrong.keywheel(`provider list --url ${gateway.url}`);
    const missing = await keywheelIn(place.home).keywheel(`provider list --url ${gateway.url}`);
    const right = await keywheelIn(place.home, { KEYWHEEL_ADMIN_TOKEN: gateway.adminToken }).keywheel(
      `provider list --json --url ${gateway.url}`,
    );

    expect([refused.code, missing.code, right.code]).toEqual([1, 1, 0]);
    expect(refused.stderr).toContain("The admin token is wrong");
    expect(missing.stderr).toContain("Set KEYWHEEL_ADMIN_TOKEN");
  });

  it("says that nothing answers at an address", async () => {
    using place = aHome();

    const { code, stderr } = await keywheelIn(place.home, { KEYWHEEL_ADMIN_TOKEN: "kwa_0123456789abcdef" }).keywheel(
      "status --url http://127.0.0.1:1",
    );

    expect(code).toBe(1);
    expect(stderr).toBe("The gateway at http://127.0.0.1:1 cannot be reached: nothing listens there.\n");
  });
});

describe("a key in words", () => {
  it("that the shell has emptied is explained", async () => {
    using place = aHome();
    await keywheelIn(place.home).keywheel("provider add openai");

    const { code, stderr } = await runCommand(["key", "add", "openai", ""], place);

    expect(code).toBe(2);
    expect(stderr).toContain("put its name in quotes: '$NAME'");
  });

  it("is taken, with a word about the shell's history", async () => {
    using place = aHome();
    await keywheelIn(place.home).keywheel("provider add openai");

    const { code, stdout, stderr } = await runCommand(["key", "add", "openai", value], place);

    expect(code).toBe(0);
    expect(stderr).toContain("stays in the history of the shell");
    expect(stdout + stderr).not.toContain(value.slice(3));
  });
});

it("tells its version, with what a report of a fault should name", async () => {
  using place = aHome();
  const { keywheel } = keywheelIn(place.home);

  expect((await keywheel("version")).stdout).toMatch(/^keywheel \d+\.\d+\.\d+ \(Node \d+\.\d+\.\d+, \w+ \w+\)\n$/);
  expect(JSON.parse((await keywheel("version --json")).stdout)).toEqual({
    version: expect.stringMatching(/^\d/),
    node: expect.stringMatching(/^\d/),
  });
});
