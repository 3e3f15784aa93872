import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Secret } from "@keywheel/pool";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ControlBench, openControlBench } from "../../control-plane/control-plane.test-bench.ts";
import { ConfigFileWatch } from "./config-file.ts";

const variables: Record<string, string | undefined> = {};
let bench: ControlBench;
let folder: string;
let file: string;
let watch: ConfigFileWatch;
let said: string[];

beforeAll(async () => {
  bench = await openControlBench({ variables });
});
afterAll(() => bench.close());

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keywheel-config-"));
  file = join(folder, "keywheel.yaml");
  said = [];
  const log = (level: string) => (fields: object, text?: string) =>
    void said.push(`${level} ${text} ${JSON.stringify(fields)}`);
  watch = new ConfigFileWatch({
    file,
    declared: bench.catalog.declared,
    log: { info: log("info"), warn: log("warn"), error: log("error") },
    now: () => bench.clock.now(),
    pollMs: 0,
  });
  bench.catalog.declared.file = file;
});
afterEach(async () => {
  await watch.close();
  await bench.catalog.declared.apply({ version: 1, providers: {} });
  await bench.clean();
  for (const name of Object.keys(variables)) delete variables[name];
  rmSync(folder, { recursive: true, force: true });
});

const fileOf = (...keys: string[]): string =>
  `version: 1\nproviders:\n  openai:\n    keys:\n${keys.map((key) => `      - ${key}\n`).join("")}`;

async function keysOf(provider = "openai"): Promise<{ api_key: string; id: string; label: string; weight: number }[]> {
  const { body } = await bench.call("GET", `/api/providers/${provider}/keys`);
  return (body as { data: { api_key: string; id: string; label: string; weight: number }[] }).data;
}

describe("a file of configuration that is followed", () => {
  it("is taken up again when an editor puts another file in its place", async () => {
    writeFileSync(file, fileOf("$ONE", "$TWO"));
    await watch.open();
    const before = await keysOf();

    writeFileSync(join(folder, "draft"), fileOf("$TWO", "{ api_key: $THREE, weight: 5 }"));
    renameSync(join(folder, "draft"), file);
    await watch.look();

    const after = await keysOf();
    expect(after.map(({ api_key, weight }) => [api_key, weight])).toEqual([
      ["$TWO", 1],
      ["$THREE", 5],
    ]);
    expect(after[0]?.id).toBe(before[1]?.id);
  });

  it("is taken up again when the link on the way to it is turned, as a ConfigMap's is", async () => {
    for (const [name, key] of [
      ["..v1", "$ONE"],
      ["..v2", "$TWO"],
    ] as const) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "keywheel.yaml"), fileOf(key));
    }
    symlinkSync("..v1", join(folder, "..data"));
    symlinkSync(join("..data", "keywheel.yaml"), file);
    await watch.open();

    symlinkSync("..v2", join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
    await watch.look();

    expect((await keysOf()).map(({ api_key: key }) => key)).toEqual(["$TWO"]);
  });

  it("takes nothing away when it breaks, is cut short or goes away, says so, and holds again when it is right", async () => {
    writeFileSync(file, fileOf("$ONE"));
    await watch.open();
    for (const [text, problem] of [
      [fileOf("$ONE", "{ api_key: $TWO, weight: 0 }"), "There is a mistake in line 6"],
      ["", "The file is empty"],
      [undefined, "there is no such file"],
    ] as const) {
      if (text === undefined) unlinkSync(file);
      else writeFileSync(file, text);
      await watch.look();

      expect((await keysOf()).map(({ api_key: key }) => key)).toEqual(["$ONE"]);
      expect(watch.state()).toMatchObject({ state: "broken", problem: expect.stringContaining(problem) });
      expect(said.at(-1)).toContain("error The configuration file cannot be taken; what was taken up before goes on");
    }

    writeFileSync(file, fileOf("$ONE", "$TWO"));
    await watch.look();

    expect((await keysOf()).map(({ api_key: key }) => key)).toEqual(["$ONE", "$TWO"]);
    expect(watch.state()).toMatchObject({ state: "applied", problem: null, mistakes: [] });
  });

  it("keeps the gateway from starting only where nothing was ever taken up", async () => {
    writeFileSync(file, "version: 1\nproviders:\n  openai: { keys: [ $ONE, $ONE ] }\n  Big: {}\n");

    await expect(watch.open()).rejects.toThrow(
      new RegExp(`${file}:3:27: This key stands in the list twice[^]*${file}:4:3: Expected the name`),
    );

    writeFileSync(file, fileOf("$ONE"));
    await watch.reload();
    writeFileSync(file, "version: 1\n");
    await watch.open();
    expect(await keysOf()).toHaveLength(1);
  });

  it("is tried again when the database comes back", async () => {
    writeFileSync(file, fileOf("$ONE"));
    await watch.open();
    writeFileSync(file, fileOf("$TWO"));
    bench.breakStore("changeConfiguration");
    await watch.look();
    expect(watch.state()).toMatchObject({ state: "broken" });
    expect((await keysOf()).map(({ api_key: key }) => key)).toEqual(["$ONE"]);

    bench.breakStore(undefined);
    await watch.look();

    expect((await keysOf()).map(({ api_key: key }) => key)).toEqual(["$TWO"]);
  });

  it("makes a token when the variable that holds it comes, and keeps it while the variable is away", async () => {
    const text = "kw_invented_token_of_this_test_0001";
    writeFileSync(file, `version: 1\nproviders: {}\ntokens:\n  laptop: { token: $LAPTOP_TOKEN }\n`);
    await watch.open();
    expect(watch.state().warnings).toMatchObject([{ line: 4, message: expect.stringContaining("not there yet") }]);
    expect(bench.catalog.findToken(text)).toBeUndefined();

    variables["LAPTOP_TOKEN"] = text;
    await watch.referencesChanged();
    expect(bench.catalog.findToken(text)).toMatchObject({ name: "laptop", prefix: "kw_inve" });

    delete variables["LAPTOP_TOKEN"];
    await watch.referencesChanged();
    expect(bench.catalog.findToken(text)).toMatchObject({ name: "laptop" });
    expect(said.join("\n")).not.toContain(text);
  });
});

describe("what a file has made", () => {
  it("has the groups of its keys, is exported with them, and loses them with the file's word", async () => {
    writeFileSync(file, fileOf("{ api_key: $ONE, group: project }", "{ api_key: $TWO, group: project }"));
    await watch.open();
    expect(await keysOf()).toMatchObject([{ group: "project" }, { group: "project" }]);
    const { body } = await bench.call("GET", "/api/config/export");
    expect(JSON.stringify(body.document)).toContain('"group":"project"');

    writeFileSync(file, fileOf("$ONE", "{ api_key: $TWO, group: project }"));
    await watch.look();

    expect(await keysOf()).toMatchObject([{ group: "" }, { group: "project" }]);
  });

  it("is marked so, is changed only there, and can be switched and reset all the same", async () => {
    writeFileSync(file, fileOf("{ api_key: $ONE, label: First }", "{ api_key: $TWO, enabled: true }"));
    await watch.open();
    const [one, two] = await keysOf();
    expect(await bench.call("GET", "/api/providers/openai")).toMatchObject({ body: { managed_by: "file" } });
    expect(await keysOf()).toMatchObject([{ managed_by: "file" }, { managed_by: "file" }]);

    for (const [method, path, body] of [
      ["PATCH", "/api/providers/openai", { name: "Other" }],
      ["DELETE", "/api/providers/openai", undefined],
      ["PATCH", `/api/keys/${one?.id}`, { weight: 7 }],
      ["PATCH", `/api/keys/${one?.id}`, { group: "other" }],
      ["PATCH", `/api/keys/${one?.id}`, { api_key: "$OTHER" }],
      ["PATCH", `/api/keys/${two?.id}`, { enabled: false }],
      ["DELETE", `/api/keys/${one?.id}`, undefined],
      ["PUT", "/api/providers/openai/keys/order", { ids: [two?.id, one?.id] }],
      ["POST", "/api/providers/openai/keys/bulk", { action: "delete", ids: [one?.id] }],
      ["POST", "/api/providers/openai/keys/bulk", { action: "disable", ids: [one?.id, two?.id] }],
    ] as const) {
      const answer = await bench.call(method, path, body);
      expect([method, path, answer.status, answer.body.errors?.[0]?.code]).toEqual([
        method,
        path,
        409,
        "managed_by_file",
      ]);
      expect(answer.body.detail ?? answer.body.title).toContain(`managed by ${file}`);
      expect(answer.body.hint).toContain(`Change it in ${file}`);
    }

    expect((await bench.call("PATCH", `/api/keys/${one?.id}`, { enabled: false })).status).toBe(200);
    expect((await bench.call("POST", `/api/keys/${one?.id}/reset`)).status).toBe(200);
    await watch.reload();
    expect(await keysOf()).toMatchObject([{ enabled: false }, { enabled: true }]);
  });

  it("stays with its file over a restart, so that a shorter file takes away what it had made, and nothing else", async () => {
    const own = await bench.addProvider({ slug: "mine" });
    const key = await bench.addKey(own);
    writeFileSync(
      file,
      "version: 1\nproviders:\n  openai: { keys: [ $ONE, $TWO ] }\n  groq: { keys: [ $THREE ] }\n  mistral: {}\n",
    );
    await watch.open();
    const added = await bench.addKey("groq", { label: "by hand" });
    await bench.restart();

    const again = new ConfigFileWatch({
      file,
      declared: bench.catalog.declared,
      log: { info: () => {}, warn: () => {}, error: () => {} },
      now: () => bench.clock.now(),
      pollMs: 0,
    });
    writeFileSync(file, "version: 1\nproviders:\n  openai: { keys: [ $TWO ] }\n");
    await again.open();
    await again.close();

    expect(bench.catalog.providers.list().map(({ record }) => record.slug)).toEqual(["mine", "openai", "groq"]);
    expect((await keysOf()).map(({ api_key: shown }) => shown)).toEqual(["$TWO"]);
    expect((await keysOf("groq")).map(({ id }) => id)).toEqual([added.id]);
    expect((await keysOf("mine")).map(({ id }) => id)).toEqual([key.id]);
    expect(again.state().warnings).toMatchObject([{ message: expect.stringContaining("groq is in the file no more") }]);
    expect((await bench.call("PATCH", "/api/providers/groq", { name: "Mine now" })).status).toBe(200);
  });

  it("takes over a key that is here by its value, by the variable that holds it, and gives a labelled one its new value", async () => {
    const provider = await bench.addProvider({ slug: "openai", base_url: "https://api.openai.com/v1" });
    const first = await bench.addKey(provider, { api_key: "sk-invented-0001", weight: 9 });
    const second = await bench.addKey(provider, { api_key: "sk-invented-0002" });
    variables["TWO"] = "sk-invented-0002";
    writeFileSync(file, fileOf("{ api_key: sk-invented-0001, label: A }", "{ api_key: $TWO, label: B }"));
    await watch.open();

    expect(await keysOf()).toMatchObject([
      { id: first.id, weight: 1, label: "A" },
      { id: second.id, api_key: "$TWO", label: "B" },
    ]);
    expect(watch.state().warnings.map(({ line, message }) => [line, message.slice(0, 31)])).toEqual([
      [5, "A key itself stands in the file"],
    ]);

    writeFileSync(file, fileOf("{ api_key: sk-invented-0003, label: A }", "{ api_key: $TWO, label: B }"));
    await watch.look();
    expect((await keysOf())[0]?.id).toBe(first.id);
    expect(bench.catalog.bySlug("openai")?.secretOf(first.id)).toEqual(new Secret("sk-invented-0003"));
    expect(said.join("\n")).not.toContain("sk-invented-000");
  });

  it("leaves a key that was refused as it is, switches off what the file switches off, and on again when that is gone", async () => {
    writeFileSync(file, fileOf("{ api_key: sk-invented-0001, enabled: false }", "sk-invented-0002"));
    await watch.open();
    const [off, refused] = await keysOf();
    expect(off).toMatchObject({ enabled: false, status_reason: { code: "disabled_by_operator" } });
    await bench.store.saveOutcomes([
      {
        kind: "disable",
        record: {
          poolId: bench.catalog.bySlug("openai")?.record.id ?? "",
          keyId: refused?.id ?? "",
          secretVersion: 1,
          reason: { code: "authentication_failed", httpStatus: 401, message: null, at: 1 },
        },
      },
    ]);
    await bench.catalog.catchUp();

    writeFileSync(file, fileOf("sk-invented-0001", "{ api_key: sk-invented-0002, enabled: true }"));
    await watch.look();

    expect(await keysOf()).toMatchObject([
      { enabled: true },
      { enabled: false, status_reason: { code: "authentication_failed" } },
    ]);
    expect((await bench.call("PATCH", `/api/keys/${refused?.id}`, { enabled: true })).status).toBe(200);
  });

  it("goes nowhere else while keys are stored that the file does not name", async () => {
    writeFileSync(file, "version: 1\nproviders:\n  own: { base_url: https://one.example/v1, keys: [ $ONE ] }\n");
    await watch.open();
    const byHand = await bench.addKey("own");

    writeFileSync(file, "version: 1\nproviders:\n  own: { base_url: https://two.example/v1, keys: [ $ONE ] }\n");
    await watch.look();
    expect(watch.state().mistakes).toMatchObject([
      { line: 3, column: 10, message: expect.stringContaining("would be sent to two.example instead of one.example") },
    ]);

    await bench.call("DELETE", `/api/keys/${byHand.id}`);
    await watch.reload();
    expect(bench.catalog.bySlug("own")?.baseUrl.host).toBe("two.example");
  });

  it("comes out as a file without a secret, which changes nothing when it is taken up with the variables set", async () => {
    const own = await bench.addProvider({ slug: "9-own", name: "Own", settings: { retry: { provider_errors: 2 } } });
    await bench.addKey(own, { api_key: "sk-invented-0001", label: "A", weight: 4 });
    await bench.addKey(own, { api_key: "$_9_OWN_KEY_2" });
    await bench.addProvider({ preset: "anthropic", slug: "claude", api_key: "sk-invented-0002" });
    await bench.addProvider({ preset: "openai", base_url: "https://api.openai.com/v1" });
    await bench.addProvider({ preset: "groq", slug: "local", kind: "openai-compatible" });
    await bench.call("POST", "/api/tokens", { name: "laptop", providers: ["claude"], max_concurrent: 3 });

    const { body } = await bench.call("GET", "/api/config/export");
    expect(JSON.stringify(body)).not.toContain("invented");
    expect(body.variables).toMatchObject([{ name: "_9_OWN_KEY_1", label: "A" }, { name: "CLAUDE_KEY_1" }]);
    expect(body.document.providers.openai).toEqual({});

    Object.assign(variables, { _9_OWN_KEY_1: "sk-invented-0001", CLAUDE_KEY_1: "sk-invented-0002" });
    const before = await bench.call("GET", "/api/status");
    writeFileSync(file, JSON.stringify(body.document));
    await watch.open();

    expect(watch.state()).toMatchObject({ state: "applied", warnings: [] });
    const after = await bench.call("GET", "/api/status");
    expect(after.body.counts).toEqual(before.body.counts);
    expect((await bench.call("GET", "/api/config/export")).body.document).toEqual(body.document);
  });
});
