import { mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { runGateway } from "@keywheel/testkit";
import { describe, expect, it, vi } from "vitest";
import { aHome, type CommandOutcome, runCommand } from "./run-command.ts";

const secret = "sk-invented-config-0001";

function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

describe("keywheel config check", () => {
  it("needs no gateway, names every mistake with its line, and fails for warnings where it is asked to", async () => {
    using home = aHome();
    const check = (text: string, ...flags: string[]): Promise<CommandOutcome> =>
      runCommand(["config", "check", "-", ...flags], { ...home, input: text });

    const right = await check(`version: 1\nproviders:\n  openai: { keys: [ $A, ${secret} ] }\n`);
    expect([right.code, right.stdout]).toEqual([0, "standard input is right: 1 provider, 2 keys, 0 tokens.\n"]);
    expect(right.stderr).toContain("standard input:3:25: A key itself stands in the file");
    const strict = await check(`version: 1\nproviders:\n  openai: { keys: [ $A, ${secret} ] }\n`, "--strict");
    expect(strict.code).toBe(1);

    const wrong = await check(
      `version: 1\nproviders:\n  api: { keys: [ "${secret}," ] }\n  own: { base_url: ftp://x }\ntokens: { t: {} }\n`,
    );
    expect([wrong.code, wrong.stderr.split("\n")]).toEqual([
      1,
      [
        "standard input:3:3: The gateway needs the path /api itself: choose another slug",
        expect.stringMatching(/^standard input:3:3: `base_url` is missing/),
        expect.stringMatching(/^standard input:3:18: There is a comma in it/),
        expect.stringMatching(/^standard input:4:10: /),
        "standard input:5:11: Expected `tokens.t` to have either `sha256` or `token`",
        "standard input has 5 mistakes.",
        "",
      ],
    ]);
    const json = await check("version: 1\n", "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, mistakes: [{ line: 1, path: "providers" }] });
    expect([right, strict, wrong].map(({ stdout, stderr }) => stdout + stderr).join("")).not.toContain(secret);
  });
});

describe("a gateway with --config", () => {
  it("follows the file while it serves, goes on when it breaks, says so everywhere, and lets nobody else change it", async () => {
    using home = aHome();
    const file = join(home.home, "keywheel.yaml");
    writeFileSync(file, "version: 1\nproviders:\n  openai: { keys: [ $ONE ] }\n");
    await using gateway = await runGateway({ env: { KEYWHEEL_CONFIG: file, ONE: secret } });
    const keywheel = (...words: string[]): Promise<CommandOutcome> =>
      runCommand(words, { ...home, env: { KEYWHEEL_DATA_DIR: gateway.dataDir } });
    const shown = async (): Promise<string[]> => {
      const { data } = await gateway.api<{ data: { api_key: string; status: string }[] }>(
        "GET",
        "/providers/openai/keys",
      );
      return data.map(({ api_key: key, status }) => `${key} ${status}`);
    };
    expect(await shown()).toEqual(["$ONE available"]);

    replace(file, "version: 1\nproviders:\n  openai: { keys: [ $ONE, { api_key: $TWO, weight: 3 } ] }\n");
    await vi.waitFor(async () => expect(await shown()).toEqual(["$ONE available", "$TWO unresolved"]), 10_000);

    replace(file, "version: 1\nproviders:\n  openai: { keys: [ $ONE, { api_key: $TWO, weight: 300 } ] }\n");
    await vi.waitFor(
      async () =>
        expect(await gateway.api("GET", "/config")).toMatchObject({ state: "broken", mistakes: [{ line: 3 }] }),
      10_000,
    );
    expect(await shown()).toEqual(["$ONE available", "$TWO unresolved"]);
    expect(await gateway.api("GET", "/status")).toMatchObject({ config: { file, ok: false } });
    expect(await gateway.api("GET", "/notices")).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ code: "config_file_broken" })]),
    });
    const [status, config, changed] = [
      await keywheel("status"),
      await keywheel("config", "status"),
      await keywheel("provider", "set", "openai", "--name", "Other"),
    ];
    expect(status.stdout).toContain(`The configuration file ${file} cannot be taken`);
    expect([config.code, config.stderr]).toEqual([
      1,
      `${file}:3:44: Expected \`providers.openai.keys.1.weight\` to be an integer from 1 to 100, got 300\n` +
        "What was taken up before goes on.\n",
    ]);
    expect([changed.code, changed.stderr]).toEqual([1, expect.stringContaining(`Change it in ${file}`)]);

    // Over a restart too: what was taken up before is served.
    await gateway.restart();
    expect(await shown()).toEqual(["$ONE available", "$TWO unresolved"]);
    replace(file, "version: 1\nproviders:\n  openai: { keys: [ $ONE ] }\n");
    const reloaded = await keywheel("config", "reload");
    expect([reloaded.code, reloaded.stdout]).toEqual([0, expect.stringContaining(`${file} is in force`)]);
    expect(await shown()).toEqual(["$ONE available"]);
  });

  it("reaches every process of several: keys and tokens of the file count with the next request", async () => {
    using home = aHome();
    const file = join(home.home, "keywheel.yaml");
    const token = "kw_invented_token_of_this_test_0001";
    const text = (keys: string): string =>
      `version: 1\nproviders:\n  own: { base_url: "http://127.0.0.1:9/v1", keys: [ ${keys} ] }\ntokens:\n  laptop: { token: $LAPTOP }\n`;
    writeFileSync(file, text("$ONE"));
    await using gateway = await runGateway({
      env: { KEYWHEEL_CONFIG: file, ONE: secret, LAPTOP: token },
      flags: ["--workers", "2", "--require-token"],
      startTimeoutMs: 30_000,
    });
    /** Each connection goes to the process with the fewest. */
    const answers = async (bearer: string): Promise<number[]> =>
      Promise.all(
        Array.from({ length: 6 }, async () => {
          const headers = { authorization: `Bearer ${bearer}`, connection: "close" };
          return (await fetch(`${gateway.url}/own/models`, { headers })).status;
        }),
      );

    // Nothing listens at the provider: 502 is what a client with a token and a gateway with a key get.
    expect(new Set(await answers(token))).toEqual(new Set([502]));
    expect(new Set(await answers("kw_not_this_one_000000000000000"))).toEqual(new Set([401]));
    replace(file, text(""));
    await gateway.api("POST", "/config/reload", {});
    expect(new Set(await answers(token))).toEqual(new Set([503]));
  });

  it("is left with what it has when it is started without the file", async () => {
    using home = aHome();
    const file = join(home.home, "keywheel.yaml");
    writeFileSync(file, "version: 1\nproviders:\n  openai: { keys: [ $ONE ] }\n");
    await using gateway = await runGateway({ env: { KEYWHEEL_CONFIG: file, ONE: secret } });
    const env = { KEYWHEEL_DATA_DIR: gateway.dataDir };
    await gateway.kill("SIGTERM");

    // While no gateway runs it is the file's all the same.
    const refused = await runCommand(["provider", "set", "openai", "--name", "Other"], { ...home, env });
    expect(refused.code).toBe(1);

    await using again = await runGateway({ dataDir: gateway.dataDir });
    expect(await again.api("GET", "/config")).toMatchObject({ file: null, state: "none" });
    expect(await again.api("PATCH", "/providers/openai", { name: "Other" })).toMatchObject({ managed_by: null });
  });

  it("does not start with a file that was never right, and says every mistake", async () => {
    using home = aHome();
    writeFileSync(join(home.home, "keywheel.yaml"), "version: 1\nproviders:\n  openai: { keys: [ $ONE, $ONE ] }\n");

    const { code, stderr } = await runCommand(["start", "--port", "0", "--config", "keywheel.yaml"], {
      ...home,
      env: { KEYWHEEL_LOG_LEVEL: "silent" },
    });

    expect(code).toBe(1);
    expect(stderr).toContain("keywheel.yaml:3:27: This key stands in the list twice");
    expect((await runCommand(["start", "--config", "absent.yaml"], home)).code).toBe(2);
  });
});

describe("a key in a file", () => {
  it("is sent, is changed in place without a restart, and is missing without harm to the others", async () => {
    using home = aHome();
    const sent: string[] = [];
    const provider = createServer((request, response) => {
      sent.push(String(request.headers.authorization));
      response.setHeader("content-type", "application/json").end("{}");
    });
    await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
    const { port } = provider.address() as AddressInfo;
    const secrets = join(home.home, "secrets");
    mkdirSync(secrets);
    writeFileSync(join(secrets, "one"), "sk-invented-file-0001\n");
    await using gateway = await runGateway({ flags: ["--secrets-dir", secrets] });
    await gateway.api("POST", "/providers", { slug: "own", base_url: `http://127.0.0.1:${port}/v1` });
    const key = await gateway.api<{ id: string }>("POST", "/providers/own/keys", { api_key: `file:${secrets}/one` });
    const ask = (): Promise<Response> => fetch(`${gateway.url}/own/models`);

    expect((await ask()).status).toBe(200);
    writeFileSync(join(secrets, "one"), "sk-invented-file-0002\n");
    await vi.waitFor(async () => {
      await ask();
      expect(sent.at(-1)).toBe("Bearer sk-invented-file-0002");
    }, 10_000);
    unlinkSync(join(secrets, "one"));
    await vi.waitFor(
      async () =>
        expect(await gateway.api("GET", `/keys/${key.id}`)).toMatchObject({
          status: "unresolved",
          api_key: `file:${secrets}/one`,
          status_reason: { message: expect.stringContaining("there is no such file") },
        }),
      10_000,
    );
    expect((await ask()).status).toBe(503);
    const outside = await gateway.api("POST", "/providers/own/keys", { api_key: `file:${gateway.dataDir}/master.key` });
    expect(outside).toMatchObject({
      status: "unresolved",
      status_reason: { message: expect.stringContaining("--secrets-dir") },
    });
    expect(gateway.logs()).not.toContain("sk-invented-file");
    provider.close();
  });
});

describe("keywheel import --from", () => {
  it("says what would be made of another tool's files and what is left behind, then adds it, and prints no key", async () => {
    using home = aHome();
    await using gateway = await runGateway();
    const env = { KEYWHEEL_DATA_DIR: gateway.dataDir };
    const file = join(home.home, "config.yaml");
    writeFileSync(
      file,
      `model_list:
  - { model_name: gpt, litellm_params: { model: openai/gpt-5, api_key: os.environ/OPENAI_KEY_1, weight: 2 } }
  - { model_name: gpt, litellm_params: { model: openai/gpt-5, api_key: ${secret} } }
  - { model_name: b, litellm_params: { model: bedrock/claude } }
`,
    );
    const take = (...flags: string[]): Promise<CommandOutcome> =>
      runCommand(["import", "--from", "litellm", file, ...flags], { ...home, env });

    const planned = await take("--dry-run");
    expect([planned.code, planned.stderr]).toEqual([0, ""]);
    expect(planned.stdout).toContain("1 provider and 2 keys would be added.");
    expect(planned.stdout).toContain('new  openai: key $OPENAI_KEY_1 "gpt"');
    expect(planned.stdout).toContain("Not taken over:");
    expect(planned.stdout).toContain('  model "b": keys of `bedrock/` cannot be sent on as they are');
    expect(await gateway.api("GET", "/providers")).toEqual({ data: [] });

    const done = await take("--json");
    expect(JSON.parse(done.stdout)).toMatchObject({
      applied: true,
      keys: { added: 2 },
      left: [{ what: 'model "b"' }, {}],
    });
    expect(await gateway.api("GET", "/providers/openai/keys")).toMatchObject({
      data: [
        { api_key: "$OPENAI_KEY_1", label: "gpt", weight: 2 },
        { label: "gpt", weight: 1 },
      ],
    });
    const again = await take();
    expect(again.stdout).toContain("3 entries are here already, unchanged.");
    expect([planned, done, again].map(({ stdout, stderr }) => stdout + stderr).join("")).not.toContain(secret);

    const wrong = await runCommand(["import", "--from", "litelm", file], { ...home, env });
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("Expected --from to be one of gpt-load,")]);
    writeFileSync(file, "model_list: [{ model_name: b, litellm_params: { model: bedrock/claude } }]\n");
    const empty = await take();
    expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining("There is nothing in")]);
  });
});

describe("keywheel config export", () => {
  it("writes a file that this gateway follows without any change, once the keys are in the variables", async () => {
    using home = aHome();
    await using gateway = await runGateway();
    await gateway.api("POST", "/providers", { preset: "openai" });
    await gateway.api("POST", "/providers/openai/keys", { api_key: secret, label: "Prod", weight: 3 });
    // Of one name, as `connect --new-token` makes them on two machines; and one that is good for nothing any more.
    const gone = await gateway.api<{ id: string }>("POST", "/providers", { preset: "mistral" });
    for (const name of ["laptop", "laptop"]) await gateway.api("POST", "/tokens", { name });
    await gateway.api("POST", "/tokens", { name: "gone", providers: [gone.id] });
    await gateway.api("DELETE", `/providers/${gone.id}`);
    const file = join(home.home, "keywheel.yaml");
    const env = { KEYWHEEL_DATA_DIR: gateway.dataDir };

    const { code, stderr } = await runCommand(["config", "export", file], { ...home, env });

    expect([code, stderr]).toEqual([0, expect.stringContaining("1 key must be put into variables first")]);
    expect(readFileSync(file, "utf8")).toContain(
      "version: 1\nproviders:\n  openai:\n    keys:\n      - api_key: $OPENAI_KEY_1\n        label: Prod\n        weight: 3\n",
    );
    expect(readFileSync(file, "utf8")).not.toContain(secret);
    expect([...readFileSync(file, "utf8").matchAll(/^  (\S[^:]*):\n    sha256/gm)].map(([, name]) => name)).toEqual([
      "laptop",
      "laptop 2",
    ]);
    const before = await gateway.api<{ data: { id: string }[] }>("GET", "/providers/openai/keys");
    await gateway.kill("SIGTERM");
    await using again = await runGateway({
      dataDir: gateway.dataDir,
      env: { KEYWHEEL_CONFIG: file, OPENAI_KEY_1: secret },
    });
    expect(await again.api("GET", "/providers/openai/keys")).toMatchObject({
      data: [{ id: before.data[0]?.id, api_key: "$OPENAI_KEY_1", status: "available", managed_by: "file" }],
    });
  });
});
