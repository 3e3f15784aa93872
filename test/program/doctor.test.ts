import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runGateway, startScriptedProvider } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { aHome, runCommand } from "./run-command.ts";

interface Report {
  readonly ok: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly subject?: string;
    readonly state: "ok" | "warn" | "fail";
    readonly message: string;
    readonly advice?: string;
  }[];
}

/** Runs the doctor. @returns its exit code, what it said, and the checks that are not fine */
async function examine(home: string, words: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const { code, stdout, stderr } = await runCommand(["doctor", "--json", "--port", "0", ...words], { home, env });
  const report = JSON.parse(stdout) as Report;
  const troubles = report.checks.filter(({ state }) => state !== "ok");
  return { code, stderr, report, troubles, names: report.checks.map(({ name }) => name) };
}

it("finds nothing wrong before the first start, and makes nothing", async () => {
  using place = aHome();
  const { code, names, troubles } = await examine(place.home);

  expect([code, troubles]).toEqual([0, []]);
  expect(names).toEqual(["configuration", "data_directory", "disk", "database", "address"]);
  expect((await runCommand(["provider", "list"], { home: place.home })).stderr).toContain("There is no data directory");
});

it("looks at everything, with a running gateway and without one", async () => {
  using place = aHome();
  const dataDir = join(place.home, "data");
  await using provider = await startScriptedProvider({ kind: "openai", keys: ["sk-test-aaaaaaaaaaaaaaaa"] });
  const words = ["--data-dir", dataDir];
  const all = ["configuration", "data_directory", "disk", "database", "gateway", "master_key", "address"];
  {
    await using gateway = await runGateway({ dataDir });
    const { id } = await gateway.addProvider({ baseUrl: provider.baseUrl });
    await gateway.api("POST", `/providers/${id}/keys`, { api_key: "sk-test-aaaaaaaaaaaaaaaa" });
    const running = await examine(place.home, words);

    expect(running.troubles).toEqual([]);
    expect(running.code).toBe(0);
    expect(running.names).toEqual([...all, "references", "provider", "clock"]);
    expect(running.report.checks[4]?.message).toBe(`It runs on ${gateway.url}.`);
  }
  const stopped = await examine(place.home, words);

  expect([stopped.code, stopped.troubles]).toEqual([0, []]);
  expect(stopped.names).toEqual([...all, "references", "provider", "clock"]);
  // No key was shown to the provider.
  expect(provider.requests.length).toBe(2);
  expect(JSON.stringify(provider.requests.map(({ rawHeaders }) => rawHeaders))).not.toContain("sk-test");
});

describe("a keywheel.yaml", () => {
  const written = (place: { readonly home: string }, text: string, mode = 0o600): string => {
    const file = join(place.home, "keywheel.yaml");
    writeFileSync(file, text);
    chmodSync(file, mode);
    return file;
  };
  const aboutFile = ({ report }: Awaited<ReturnType<typeof examine>>) =>
    report.checks.filter(({ name }) => name === "configuration_file");

  it("is fine when it can be taken up and its secrets can be read", async () => {
    using place = aHome();
    const secrets = join(place.home, "secrets");
    mkdirSync(secrets);
    writeFileSync(join(secrets, "openai"), "sk-test-from-a-file-0123456789", { mode: 0o600 });
    const text = `version: 1\nproviders:\n  openai:\n    keys: [ "file:${join(secrets, "openai")}", $MY_KEY ]\n`;
    const words = ["--config", written(place, text), "--secrets-dir", secrets];

    const found = await examine(place.home, words, { MY_KEY: "sk-test-of-a-variable-0123456789" });

    expect([found.code, found.troubles]).toEqual([0, []]);
    expect(aboutFile(found)).toMatchObject([
      { state: "ok", message: expect.stringContaining("1 provider, 2 keys") as string },
    ]);
  });

  it("fails with every mistake in its line, and no key", async () => {
    using place = aHome();
    const text = "version: 1\nproviders:\n  openai:\n    keys:\n      - { api_key: sk-test-0123456789, weight: 0 }\n";

    const found = await examine(place.home, [], { KEYWHEEL_CONFIG: written(place, text) });

    expect(found.code).toBe(1);
    const [check, ...others] = found.troubles.filter(({ state }) => state === "fail");
    expect(check).toMatchObject({
      name: "configuration_file",
      message: expect.stringMatching(/1 mistake: 5:\d+.*weight/) as string,
    });
    expect(others).toEqual([]);
    expect(JSON.stringify(found.report)).not.toContain("sk-test-0123456789");
  });

  it("is warned about for secrets that are not there, and for what others may write", async () => {
    using place = aHome();
    const text = `version: 1\nproviders:\n  openai:\n    keys: [ "file:${place.home}/none", $NOT_SET, "keychain:mine" ]\n`;
    const words = ["--config", written(place, text, 0o666), "--secrets-dir", place.home];

    const found = await examine(place.home, words);

    const told = aboutFile(found);
    expect(told.map(({ state }) => state)).toEqual(["warn", "warn"]);
    expect(told[0]?.message).toMatch(/none.*NOT_SET/);
    expect(told[1]?.advice).toContain("chmod go-w");
    expect(found.code).toBe(0);
  });

  it("is asked of the gateway that follows it: what it has not taken up, it says", async () => {
    using place = aHome();
    const file = written(place, "version: 1\nproviders: {}\n");
    const dataDir = join(place.home, "data");
    await using gateway = await runGateway({ dataDir, env: { KEYWHEEL_CONFIG: file } });
    const words = ["--data-dir", dataDir];

    const before = await examine(place.home, words);
    written(place, "version: 2\n");
    await gateway.api("POST", "/config/reload", {});
    const after = await examine(place.home, words);

    expect(aboutFile(before)).toMatchObject([{ state: "ok", message: expect.stringContaining(file) as string }]);
    expect([after.code, aboutFile(after)]).toMatchObject([
      1,
      [{ state: "fail", message: expect.stringContaining("goes on") as string }],
    ]);
  });

  it("fails when it cannot be read", async () => {
    using place = aHome();
    const folder = join(place.home, "keywheel.yaml");
    mkdirSync(folder);

    const found = await examine(place.home, ["--config", folder]);

    expect(aboutFile(found)).toMatchObject([
      { state: "fail", message: expect.stringContaining("cannot be read") as string },
    ]);
  });
});

it("says what is wrong and what to do, in a line each, and fails", async () => {
  using place = aHome();
  const dataDir = join(place.home, "data");
  const keywheel = (words: string, env = {}) =>
    runCommand(words.split(" "), { home: place.home, env: { KEYWHEEL_DATA_DIR: dataDir, ...env } });
  await keywheel("provider add custom --kind openai --slug gone --base-url http://127.0.0.1:1/v1");
  await keywheel("provider add other --kind openai --slug metadata --base-url http://169.254.169.254/v1", {
    KEYWHEEL_ALLOW_PRIVATE_METADATA: "true",
  });
  await keywheel("key add gone $MISSING_KEY");
  chmodSync(join(dataDir, "master.key"), 0o644);

  const { stdout, stderr, code } = await keywheel("doctor --host 0.0.0.0");

  expect(code).toBe(1);
  expect(stdout).toMatch(/^warn {2}data directory .*master\.key/m);
  expect(stdout).toMatch(/^fail {2}address .*On 0\.0\.0\.0 this gateway can be reached from other machines/m);
  expect(stdout).toMatch(/^warn {2}references .*1 key cannot be resolved: \$MISSING_KEY \(gone\)/m);
  expect(stdout).toMatch(/^fail {2}provider .*gone: The provider's address refuses connections/m);
  expect(stdout).toMatch(
    /^fail {2}provider .*metadata: .*169\.254\.169\.254 is a link-local or cloud metadata address/m,
  );
  expect(stdout).toMatch(/^ok .*database/m);
  expect(stderr).toBe("3 checks failed.\n");
});

it("says that the configuration, the database or the master key is wrong", async () => {
  using place = aHome();
  const dataDir = join(place.home, "data");
  const env = { KEYWHEEL_DATA_DIR: dataDir };
  const provider = "provider add custom --kind openai --slug mine --base-url http://127.0.0.1:1/v1";
  await runCommand(provider.split(" "), { home: place.home, env });
  await runCommand(["key", "add", "mine", "-"], { home: place.home, env, input: "sk-test-aaaaaaaaaaaaaaaa\n" });

  const otherKey = Buffer.alloc(32, 7).toString("base64");
  const wrongKey = await examine(place.home, [], { ...env, KEYWHEEL_MASTER_KEY: otherKey });
  expect([wrongKey.code, wrongKey.troubles.find(({ state }) => state === "fail")?.name]).toEqual([1, "master_key"]);
  expect(JSON.stringify(wrongKey.report)).not.toContain(otherKey);

  const wrongWords = await examine(place.home, [], { ...env, KEYWHEEL_GRACE_SECONDS: "soon" });
  expect([wrongWords.code, wrongWords.names]).toEqual([1, ["configuration"]]);
  expect(wrongWords.troubles[0]?.message).toContain("KEYWHEEL_GRACE_SECONDS");

  for (const file of ["keywheel.db-wal", "keywheel.db"])
    writeFileSync(join(dataDir, file), "no database ".repeat(400), { mode: 0o600 });
  const damaged = await examine(place.home, [], env);
  expect([damaged.code, damaged.troubles[0]?.name, damaged.report.ok]).toEqual([1, "database", false]);
});
