import { randomBytes } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { runGateway } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { aHome, type CommandOutcome, runCommand } from "./run-command.ts";

function keywheelOn(dataDir: string, env: Readonly<Record<string, string>> = {}) {
  return (words: string, input?: string, home = dataDir): Promise<CommandOutcome> => {
    const options = { home, env: { KEYWHEEL_DATA_DIR: dataDir, ...env } };
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

describe("keywheel backup", () => {
  it("is whole while the gateway serves and takes writes, and holds them up for no one", async () => {
    await using gateway = await runGateway();
    await using pool = await poolOf(gateway, { weights: [3, 2, 1] });
    using place = aHome();
    const keywheel = keywheelOn(gateway.dataDir);
    const load = { isOver: false, requests: 0, failures: 0, tokens: 0 };
    const writers = [1, 2, 3].map(async (client) => {
      for (let n = 0; !load.isOver; n++) {
        const { status } = await pool.send({ session: `chat-${client}-${n}` });
        load.requests += 1;
        if (status !== 200) load.failures += 1;
        await gateway.api("POST", "/tokens", { name: `token ${client}.${n}` });
        load.tokens += 1;
      }
    });

    const files = [1, 2, 3, 4].map((n) => join(place.home, `backup-${n}.db`));
    const counts: number[] = [];
    for (const file of files) {
      const atLeast = load.tokens;
      const { code, stdout, stderr } = await keywheel(`backup ${file}`);
      expect([code, stderr]).toEqual([0, expect.stringContaining("The master key is not in it.")]);
      expect(stdout).toContain("1 provider, 3 keys");
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const [tokens, verdict] = readCopy(file);
      expect(verdict).toBe("ok");
      expect(tokens).toBeGreaterThanOrEqual(atLeast);
      counts.push(tokens);
    }
    load.isOver = true;
    await Promise.all(writers);

    expect(load.failures).toBe(0);
    expect(load.requests).toBeGreaterThan(20);
    expect(counts).toEqual(counts.toSorted((one, other) => one - other));
    expect(await gateway.api("GET", "/status")).toMatchObject({ store: { trouble: null } });
    expect(readdirSync(place.home).sort()).toEqual(files.map((file) => basename(file)));
  });

  it("brings a gateway back on another machine, with the master key beside it", async () => {
    await using gateway = await runGateway();
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    using place = aHome();
    const dataDir = join(place.home, "data");
    mkdirSync(dataDir);
    const file = join(dataDir, "keywheel.db");
    const keywheel = keywheelOn(gateway.dataDir);
    const { stdout } = await keywheel(`backup ${file} --json`);
    expect(JSON.parse(stdout)).toEqual({
      file,
      bytes: statSync(file).size,
      providers: 1,
      keys: 2,
      includes_master_key: false,
      master_key: join(gateway.dataDir, "master.key"),
    });
    const again = await keywheel(`backup ${file}`);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("--force")]);
    copyFileSync(join(gateway.dataDir, "master.key"), join(dataDir, "master.key"));

    await using other = await runGateway({ dataDir });

    expect((await other.keys({ id: pool.record.slug })).map(({ status }) => status)).toEqual([
      "available",
      "available",
    ]);
    const answer = await fetch(`${other.baseUrlOf({ slug: pool.record.slug })}/models`);
    expect(answer.status).toBe(200);
  });

  it("is made as well while no gateway runs", async () => {
    await using gateway = await runGateway();
    await using _pool = await poolOf(gateway, { weights: [1] });
    await gateway.kill("SIGKILL");
    using place = aHome();
    const file = join(place.home, "backup.db");

    expect((await keywheelOn(gateway.dataDir)(`backup ${file}`)).code).toBe(0);

    expect(readCopy(file)[1]).toBe("ok");
    const modes = readdirSync(gateway.dataDir).map((name) => statSync(join(gateway.dataDir, name)).mode & 0o777);
    expect(new Set(modes)).toEqual(new Set([0o600]));
  });
});

describe("keywheel export and import", () => {
  it("move a pool to a gateway that runs, with a passphrase from a file", async () => {
    await using source = await runGateway();
    await using pool = await poolOf(source, { weights: [3, 1] });
    await using target = await runGateway();
    using place = aHome();
    const [file, secret] = [join(place.home, "gateway.json"), join(place.home, "passphrase")];
    writeFileSync(secret, "a long and quiet passphrase\n");
    const [out, into] = [keywheelOn(source.dataDir), keywheelOn(target.dataDir)];

    const written = await out(`export ${file} --passphrase-file ${secret}`);
    expect([written.code, written.stdout]).toEqual([0, `Exported 1 provider and 2 keys to ${file}.\n`]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const refused = await out(`export ${file}`);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("--force")]);

    const unasked = await into(`import ${file}`);
    expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining("--passphrase-file")]);
    const wrong = await keywheelOn(target.dataDir, { KEYWHEEL_PASSPHRASE: "not the right one" })(`import ${file}`);
    expect([wrong.code, wrong.stderr]).toEqual([1, "The passphrase is wrong.\nNothing was imported.\n"]);
    const dry = await into(`import ${file} --passphrase-file ${secret} --dry-run`);
    expect([dry.code, dry.stdout]).toEqual([0, expect.stringContaining("1 provider and 2 keys would be added.")]);
    expect(await target.api("GET", "/providers")).toEqual({ data: [] });

    const { code, stdout } = await into(`import ${file} --passphrase-file ${secret}`);
    expect([code, stdout]).toEqual([0, "Added 1 provider and 2 keys.\n"]);
    const { slug } = pool.record;
    expect((await target.keys({ id: slug })).map(({ weight }) => weight)).toEqual([3, 1]);
    const answer = await fetch(`${target.baseUrlOf({ slug })}/models`);
    expect(answer.status).toBe(200);
    expect(pool.values).toContain(pool.provider.requests.at(-1)?.key);

    const again = await into(`import ${file} --passphrase-file ${secret} --json`);
    expect(JSON.parse(again.stdout)).toMatchObject({ applied: true, keys: { added: 0, unchanged: 2 } });
    const said = [written, refused, unasked, wrong, dry, again].map(({ stdout, stderr }) => stdout + stderr).join();
    for (const text of [said, readFileSync(file, "utf8"), source.logs(), target.logs()]) {
      for (const value of [...pool.values, "a long and quiet passphrase"]) expect(text).not.toContain(value);
    }
  });

  it.each([
    ["", "it is not valid JSON"],
    ['{"format": "keywheel-export", "version": 1, "provid', "it is not valid JSON"],
    ['{"providers": []}', "is no export of Keywheel"],
    ['{"format": "keywheel-export", "version": 9}', "was made by a newer version of Keywheel"],
    ['{"format": "keywheel-export", "version": 1}', "`document.providers` is missing"],
  ])("refuse what is no whole export: %s", async (text, sentence) => {
    using place = aHome();

    const { code, stderr } = await keywheelOn(join(place.home, "data"))("import -", text, place.home);

    expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)]);
  });

  it("work while no gateway runs, and say what stays behind without a passphrase", async () => {
    using one = aHome();
    using other = aHome();
    const keywheel = keywheelOn(join(one.home, "data"));
    const elsewhere = keywheelOn(join(other.home, "data"));
    const value = "sk-proj-Q7xWm2Lr9TzKp4Vb";
    await keywheel("provider add openai", "", one.home);
    await keywheel("key add openai - --label main", value, one.home);
    await keywheel("key add openai $OPENAI_KEY_1 --weight 2", "", one.home);

    const printed = await keywheel("export", "", one.home);
    expect(printed.code).toBe(0);
    expect(printed.stderr).toContain("The value of 1 key is not in it: --with-secrets takes them along");
    expect(printed.stdout).not.toContain(value);
    const taken = await elsewhere("import -", printed.stdout, other.home);

    expect(taken.code).toBe(0);
    expect(taken.stdout).toBe(
      [
        "Added 1 provider and 1 key.",
        '  missing  openai: key sk-…p4Vb "main"  Its value is not in the file',
        "The value of 1 key is missing: add them with `keywheel key add`, or export with --with-secrets.",
        "",
      ].join("\n"),
    );
    await elsewhere("provider set openai --name Other", "", other.home);
    const conflict = await elsewhere("import -", printed.stdout, other.home);
    expect([conflict.code, conflict.stdout]).toEqual([
      1,
      expect.stringContaining("conflict  provider openai  It is here with another name"),
    ]);
    expect(conflict.stderr).toContain("Nothing was imported: 1 entry differs from what is here.");
    expect((await elsewhere("import - --keep", printed.stdout, other.home)).code).toBe(0);
  });
});

/** How many tokens it holds, and what SQLite says of it. */
function readCopy(file: string): [number, unknown] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const tokens = database.prepare("SELECT count(*) AS count FROM tokens").get()?.["count"];
    return [Number(tokens), database.prepare("PRAGMA integrity_check").get()?.["integrity_check"]];
  } finally {
    database.close();
  }
}
