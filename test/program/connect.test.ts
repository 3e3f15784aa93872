import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { reply, type RunningGateway, runGateway, type ScriptedKind, startScriptedProvider } from "@keywheel/testkit";
import { generateText } from "ai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { aHome, type CommandOutcome, runCommand } from "./run-command.ts";

const secret = "sk-proj-Q7xWm2Lr9TzKp4Vb";

/** Runs `keywheel` as somebody whose home is this, beside a gateway. */
function keywheelFor({ dataDir }: RunningGateway, home: string, env: Readonly<Record<string, string>> = {}) {
  return (words: string, input = ""): Promise<CommandOutcome> =>
    runCommand(words.split(" "), { home, env: { KEYWHEEL_DATA_DIR: dataDir, ...env }, input });
}

function put(home: string, name: string, text: string): string {
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const read = (home: string, name: string): string => readFileSync(join(home, name), "utf8");

describe("without a gateway", () => {
  it("lists the clients", async () => {
    using place = aHome();

    const { code, stdout } = await runCommand(["connect"], place);
    const json = await runCommand(["connect", "--json"], place);

    expect(code).toBe(0);
    for (const name of ["claude-code", "codex", "gemini-cli", "opencode", "openai", "anthropic", "gemini", "env"])
      expect(stdout).toMatch(new RegExp(`^${name} `, "m"));
    expect(JSON.parse(json.stdout)).toMatchObject({
      data: [{ id: "claude-code", kinds: ["anthropic"] }, {}, {}, {}, {}, {}, {}, {}],
    });
  });

  it("says how to start one", async () => {
    using place = aHome();
    await runCommand(["provider", "add", "openai"], place);

    const { code, stderr } = await runCommand(["connect", "codex"], place);

    expect(code).toBe(1);
    expect(stderr).toContain("Start it first: keywheel start");
  });

  it.each([
    ["connect claude-cod", 'There is no client "claude-cod". Did you mean claude-code?'],
    ["connect --write", "Say which client"],
    ["connect --new-token codex", "its name stands before the flags"],
  ])("refuses the words of `%s`", async (words, sentence) => {
    using place = aHome();

    const { code, stderr } = await runCommand(words.split(" "), place);

    expect(code).toBe(2);
    expect(stderr).toContain(sentence);
  });
});

describe("which provider", () => {
  it("says what to add where none fits, and which to choose where several do", async () => {
    using place = aHome();
    await using gateway = await runGateway();
    const keywheel = keywheelFor(gateway, place.home);

    const none = await keywheel("connect claude-code");
    expect(none.code).toBe(1);
    expect(none.stderr).toContain("keywheel provider add anthropic && keywheel key add anthropic");

    await keywheel("provider add openai");
    await keywheel("provider add openai --slug openai-eu --base-url https://eu.api.openai.com/v1");
    const several = await keywheel("connect codex");
    expect(several.code).toBe(2);
    expect(several.stderr).toContain("Several providers fit: openai, openai-eu. Say which: --provider openai");
    expect((await keywheel("connect codex --provider openai-eu")).stdout).toContain(
      `base_url = "${gateway.url}/openai-eu/v1"`,
    );
    expect((await keywheel("connect claude-code --provider openai")).stderr).toContain(
      "Claude Code cannot speak to openai, which is of the kind openai. It takes anthropic.",
    );
    expect((await keywheel("connect codex --provider opena")).stderr).toContain("Did you mean openai?");
  });

  it("takes one that speaks as OpenAI does where there is no other, under the version of its base URL", async () => {
    using place = aHome();
    await using gateway = await runGateway();
    const keywheel = keywheelFor(gateway, place.home);
    await keywheel("provider add zhipu");

    const { stdout } = await keywheel("connect openai");

    expect(stdout).toContain(`OPENAI_BASE_URL=${gateway.url}/zhipu/v4`);
  });
});

/** A gateway with one provider of a kind, which answers to one key. */
async function aPool(kind: ScriptedKind) {
  const provider = await startScriptedProvider({ kind, keys: [secret] });
  const gateway = await runGateway();
  const record = await gateway.addProvider({ kind, baseUrl: provider.baseUrl });
  await gateway.addKeys(record, [secret]);
  return {
    provider,
    gateway,
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

describe("what a client reads", () => {
  it("Claude Code: env in its settings", async () => {
    using place = aHome();
    await using pool = await aPool("anthropic");
    const text = `{\n    // mine\n    "model": "opus",\n    "env": { "DEBUG": "1" }\n}\n`;
    const path = put(place.home, ".claude/settings.json", text);
    chmodSync(path, 0o644);

    const { code, stdout } = await keywheelFor(pool.gateway, place.home)("connect claude-code --write");

    expect(code).toBe(0);
    expect(stdout).toContain("Start it: claude");
    const written = read(place.home, ".claude/settings.json");
    expect(written).toContain('    // mine\n    "model": "opus",\n');
    const settings = JSON.parse(written.replace("// mine", "")) as { readonly env: Readonly<Record<string, string>> };
    expect(settings.env).toEqual({
      DEBUG: "1",
      ANTHROPIC_BASE_URL: `${pool.gateway.url}/anthropic`,
      ANTHROPIC_AUTH_TOKEN: "keywheel",
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const [backup = ""] = readdirSync(dirname(path)).filter((name) => name.endsWith(".bak"));
    expect(read(place.home, `.claude/${backup}`)).toBe(text);

    // As it does: /v1/messages behind the address, the token as a bearer.
    const client = new Anthropic({
      baseURL: settings.env["ANTHROPIC_BASE_URL"] ?? "",
      authToken: "keywheel",
      apiKey: null,
    });
    const answer = await client.messages.create({
      model: "claude-test",
      max_tokens: 8,
      messages: [{ role: "user", content: "Hello" }],
    });
    expect(answer.type).toBe("message");
  });

  it("Codex: a provider in its config.toml", async () => {
    using place = aHome();
    await using pool = await aPool("openai");
    const text = '# mine\nmodel = "gpt-5"   # best\n\n[projects."/home/ada"]\ntrust_level = "trusted"\n';
    put(place.home, ".codex/config.toml", text);
    const keywheel = keywheelFor(pool.gateway, place.home);

    await keywheel("connect codex --write");
    const without = read(place.home, ".codex/config.toml");
    await keywheel("connect codex --new-token --write");
    const withToken = read(place.home, ".codex/config.toml");

    const lines = `[model_providers.keywheel]\nname = "Keywheel"\nbase_url = "${pool.gateway.url}/openai/v1"\nwire_api = "responses"\n`;
    expect(without).toBe(text.replace("# best\n", '# best\nmodel_provider = "keywheel"\n') + `\n${lines}`);
    expect(withToken).toMatch(/^experimental_bearer_token = "kw_\w+"$/m);
    expect(withToken.replace(/^experimental.*\n/m, "")).toBe(without);
    const client = new OpenAI({ baseURL: `${pool.gateway.url}/openai/v1`, apiKey: "keywheel" });
    expect((await client.responses.create({ model: "gpt-test", input: "Hello" })).object).toBe("response");
  });

  it("Gemini CLI: variables in its .env, the way to sign in in its settings", async () => {
    using place = aHome();
    await using pool = await aPool("gemini");
    put(place.home, ".gemini/.env", "# mine\nOTHER=1\n");
    put(place.home, ".gemini/settings.json", '{"ui": {"theme": "Dracula"}}');

    await keywheelFor(pool.gateway, place.home)("connect gemini-cli --write");

    const text = read(place.home, ".gemini/.env");
    expect(text).toBe(`# mine\nOTHER=1\nGOOGLE_GEMINI_BASE_URL=${pool.gateway.url}/gemini\nGEMINI_API_KEY=keywheel\n`);
    expect(JSON.parse(read(place.home, ".gemini/settings.json"))).toEqual({
      ui: { theme: "Dracula" },
      security: { auth: { selectedType: "gemini-api-key" } },
    });
    // It is made of this SDK, which adds the version itself.
    const { GOOGLE_GEMINI_BASE_URL: baseUrl = "", GEMINI_API_KEY: apiKey = "" } = parseEnv(text);
    const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl } });
    const answer = await client.models.generateContent({ model: "gemini-test", contents: "Hello" });
    expect(answer.candidates).toHaveLength(1);
  });

  it("opencode: options of the providers that it knows", async () => {
    using place = aHome();
    await using pool = await aPool("anthropic");
    await using openai = await startScriptedProvider({ kind: "openai", keys: [secret] });
    const record = await pool.gateway.addProvider({ kind: "openai", baseUrl: openai.baseUrl });
    await pool.gateway.addKeys(record, [secret]);
    put(place.home, ".config/opencode/opencode.jsonc", '{\n  // mine\n  "theme": "nord",\n}\n');

    await keywheelFor(pool.gateway, place.home)("connect opencode --write");

    const text = read(place.home, ".config/opencode/opencode.jsonc");
    expect(text).toContain('  // mine\n  "theme": "nord",');
    expect(existsSync(join(place.home, ".config/opencode/opencode.json"))).toBe(false);
    const { provider } = JSON.parse(text.replace("// mine", "").replace(/,(?=\s*\}\s*$)/, "")) as {
      readonly provider: Readonly<
        Record<string, { readonly options: { readonly baseURL: string; readonly apiKey: string } }>
      >;
    };
    // It hands the options to these SDKs as they are.
    const known = { anthropic: createAnthropic, openai: createOpenAI };
    for (const [name, create] of Object.entries(known)) {
      const options = provider[name]?.options;
      expect(options?.apiKey).toBe("keywheel");
      const { text: said } = await generateText({
        model: create(options ?? {})("test"),
        prompt: "Hello",
        maxRetries: 0,
      });
      expect(said).not.toBe("");
    }
  });

  it.each([
    ["openai", { OPENAI_BASE_URL: "/openai/v1", OPENAI_API_KEY: "" }],
    ["anthropic", { ANTHROPIC_BASE_URL: "/anthropic", ANTHROPIC_API_KEY: "" }],
    ["gemini", { GOOGLE_GEMINI_BASE_URL: "/gemini", GEMINI_API_KEY: "" }],
  ] as const)("the SDK for %s: variables", async (kind, names) => {
    using place = aHome();
    await using pool = await aPool(kind);
    const keywheel = keywheelFor(pool.gateway, place.home);

    const shown = await keywheel(`connect ${kind}`);
    const json = JSON.parse((await keywheel(`connect ${kind} --json`)).stdout) as { readonly variables: object };
    await keywheel(`connect env --write`);

    const wanted = Object.fromEntries(
      Object.entries(names).map(([name, path]) => [name, path === "" ? "keywheel" : pool.gateway.url + path]),
    );
    expect(json.variables).toEqual(wanted);
    expect(parseEnv(read(place.home, ".env"))).toEqual(wanted);
    for (const [name, value] of Object.entries(wanted)) expect(shown.stdout).toContain(`export ${name}=${value}\n`);
    expect(await ask[kind](wanted)).toBeTruthy();
  });
});

type Variables = Readonly<Record<string, string>>;

/** The SDKs as they come, with what stands in their environment. */
const ask = {
  openai: ({ OPENAI_BASE_URL, OPENAI_API_KEY }: Variables) =>
    new OpenAI({ baseURL: OPENAI_BASE_URL, apiKey: OPENAI_API_KEY }).models.list(),
  anthropic: ({ ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY }: Variables) =>
    new Anthropic({ baseURL: ANTHROPIC_BASE_URL, apiKey: ANTHROPIC_API_KEY }).models.list(),
  gemini: ({ GOOGLE_GEMINI_BASE_URL: baseUrl = "", GEMINI_API_KEY: apiKey = "" }: Variables) =>
    new GoogleGenAI({ apiKey, httpOptions: { baseUrl } }).models.generateContent({
      model: "gemini-test",
      contents: "Hi",
    }),
};

describe("--write", () => {
  it("does nothing the second time", async () => {
    using place = aHome();
    await using gateway = await runGateway({ flags: ["--require-token"] });
    const keywheel = keywheelFor(gateway, place.home);
    await keywheel("provider add anthropic");

    await keywheel("connect claude-code --write --new-token");
    const once = read(place.home, ".claude/settings.json");
    const again = await keywheel("connect claude-code --write");

    expect(once).toMatch(/"kw_\w+"/);
    expect(again.stdout).toContain("~/.claude/settings.json is as it should be.");
    expect(read(place.home, ".claude/settings.json")).toBe(once);
    expect(readdirSync(join(place.home, ".claude"))).toEqual(["settings.json"]);
    expect(await gateway.api("GET", "/tokens")).toMatchObject({
      data: [{ name: "claude-code", providers: [expect.any(String)] }],
    });
  });

  it("leaves alone what it cannot read, and makes no token for it", async () => {
    using place = aHome();
    await using gateway = await runGateway();
    const keywheel = keywheelFor(gateway, place.home);
    await keywheel("provider add openai");
    put(place.home, ".codex/config.toml", 'model = "gpt\n');

    const { code, stderr } = await keywheel("connect codex --write --new-token");

    expect(code).toBe(1);
    expect(stderr).toContain("config.toml cannot be changed: it is no valid TOML");
    expect(read(place.home, ".codex/config.toml")).toBe('model = "gpt\n');
    expect(await gateway.api("GET", "/tokens")).toEqual({ data: [] });
    const shown = await keywheel("connect codex");
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining("[model_providers.keywheel]")]);
  });

  it("writes through a link to the file behind it", async () => {
    using place = aHome();
    await using gateway = await runGateway();
    const keywheel = keywheelFor(gateway, place.home);
    await keywheel("provider add anthropic");
    const real = put(place.home, "dotfiles/settings.json", "{}\n");
    mkdirSync(join(place.home, ".claude"));
    symlinkSync(real, join(place.home, ".claude/settings.json"));

    await keywheel("connect claude-code --write");

    expect(readFileSync(real, "utf8")).toContain("ANTHROPIC_BASE_URL");
    expect(readdirSync(join(place.home, ".claude"))).toEqual(["settings.json"]);
  });

  it("--dry-run says what would change, without repeating keys that stand there", async () => {
    using place = aHome();
    await using gateway = await runGateway();
    const keywheel = keywheelFor(gateway, place.home);
    await keywheel("provider add anthropic");
    const text = JSON.stringify({
      env: { ANTHROPIC_AUTH_TOKEN: secret, ANTHROPIC_BASE_URL: "https://api.example.com/v1" },
    });
    put(place.home, ".claude/settings.json", text);

    const { stdout, stderr } = await keywheel("connect claude-code --dry-run --new-token laptop");
    const json = await keywheel("connect claude-code --dry-run --json");

    expect(stdout).toBe(
      [
        "~/.claude/settings.json",
        "- env.ANTHROPIC_BASE_URL = https://api.example.com/v1",
        `+ env.ANTHROPIC_BASE_URL = ${gateway.url}/anthropic`,
        "- env.ANTHROPIC_AUTH_TOKEN = (another value)",
        "+ env.ANTHROPIC_AUTH_TOKEN = (the token)",
        "",
      ].join("\n"),
    );
    expect(JSON.parse(json.stdout)).toMatchObject({ token: "none", files: [{ changed: true }] });
    expect(stdout + stderr + json.stdout).not.toContain(secret);
    expect(read(place.home, ".claude/settings.json")).toBe(text);
    expect(await gateway.api("GET", "/tokens")).toEqual({ data: [] });
  });
});

describe("the token", () => {
  it("is asked for where the gateway asks for one, and looked at before it is used", async () => {
    using place = aHome();
    await using gateway = await runGateway({ flags: ["--require-token"] });
    const keywheel = keywheelFor(gateway, place.home);
    await keywheel("provider add anthropic");
    await keywheel("provider add openai");
    const token = (await keywheel("token create laptop --provider openai")).stdout.trim();

    const unsaid = await keywheel("connect claude-code");
    expect([unsaid.code, unsaid.stderr]).toEqual([2, expect.stringContaining("--new-token makes another")]);
    const wrong = await keywheel(`connect claude-code --token ${secret}`);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("not the key of a provider")]);
    expect(wrong.stderr).not.toContain(secret);
    const unknown = await keywheel("connect claude-code --token kw_0123456789abcdef0123456789abcdef");
    expect(unknown.stderr).toContain("This gateway has no such token.");
    const elsewhere = await keywheel("connect claude-code --token -", token);
    expect(elsewhere.stderr).toContain('The token "laptop" is not good for anthropic.');

    const { stdout } = await keywheel("connect codex --token -", `${token}\n`);
    expect(stdout).toContain(`experimental_bearer_token = "${token}"`);
  });

  it("says what gets in the way of what is written", async () => {
    using place = aHome();
    await using gateway = await runGateway();
    const keywheel = keywheelFor(gateway, place.home, { ANTHROPIC_API_KEY: secret });
    await keywheel("provider add anthropic");

    put(place.home, ".claude/settings.json", JSON.stringify({ env: { ANTHROPIC_API_KEY: secret } }));

    const { stdout, stderr } = await keywheel("connect claude-code --write");

    expect(stderr).toContain("ANTHROPIC_API_KEY is set in this terminal and gets in the way");
    expect(stderr).toContain("ANTHROPIC_API_KEY stands in ~/.claude/settings.json and gets in the way");
    expect(stdout + stderr).not.toContain(secret);
  });
});

/** The calls that the README shows, without their comments. */
const shownCalls = [
  ...readFileSync(join(import.meta.dirname, "../../README.md"), "utf8").matchAll(/^npx keywheel (connect.*)$/gm),
].map(([, words = ""]) => words.replace(/\s*#.*/, ""));

it("the calls that the README shows do what it says", async () => {
  using place = aHome();
  await using gateway = await runGateway();
  const keywheel = keywheelFor(gateway, place.home);
  for (const slug of ["anthropic", "openai", "gemini"]) await keywheel(`provider add ${slug}`);

  const { token } = await gateway.api<{ token: string }>("POST", "/tokens", { name: "ada" });

  expect(shownCalls.length).toBeGreaterThan(5);
  for (const words of shownCalls) {
    const { code, stdout } = await keywheel(words.replace("https://gateway.example", gateway.url), token);

    expect([words, code]).toEqual([words, 0]);
    expect(stdout).toMatch(/claude-code|http:\/\/127\.0\.0\.1|Wrote ~/);
  }
  expect(read(place.home, ".codex/config.toml")).toContain(`base_url = "${gateway.url}/openai/v1"`);
  expect(read(place.home, ".config/opencode/opencode.json")).toMatch(/"apiKey": "kw_\w+"/);
});

describe("at a gateway that somebody else runs", () => {
  it("needs its address and a token alone", async () => {
    using place = aHome();
    await using gateway = await runGateway({ flags: ["--require-token"] });
    await using provider = await startScriptedProvider({ kind: "anthropic", keys: [secret] });
    await gateway.addKeys(await gateway.addProvider({ kind: "anthropic", baseUrl: provider.baseUrl }), [secret]);
    await gateway.addProvider({ slug: "other", baseUrl: "https://other.example/v1" });
    const { token } = await gateway.api<{ token: string }>("POST", "/tokens", {
      name: "ada",
      providers: [(await gateway.api<{ id: string }>("GET", "/providers/anthropic")).id],
    });
    mkdirSync(join(place.home, "work"));
    // Another home: neither the admin token nor the data directory is at hand.
    const keywheel = (words: string, input = ""): Promise<CommandOutcome> =>
      runCommand(`${words} --url ${gateway.url}`.split(" "), { home: place.home, input });

    const shown = await keywheel("connect claude-code --token -", token);
    const written = await keywheel("connect claude-code --token - --write", token);
    const again = await keywheel("connect claude-code --write");
    await using other = await startScriptedProvider({ kind: "anthropic", keys: [secret] });
    await runCommand(["connect", "claude-code", "--write", "--url", other.origin], { home: place.home });
    const refusals = await Promise.all(
      [
        "connect claude-code",
        "connect claude-code --token kw_0123456789abcdef0123456789abcdef",
        `connect claude-code --token ${token} --provider nowhere`,
        `connect claude-code --token ${token} --new-token`,
        `connect codex --token ${token} --provider other`,
        `connect opencode --token ${token}`,
        `connect opencode --token ${token} --provider other`,
        `connect codex --token ${token} --kind nonsense`,
      ].map(async (words) => {
        const { code, stderr } = await runCommand(`${words} --url ${gateway.url}`.split(" "), {
          home: join(place.home, "work"),
        });
        return `${code} ${stderr.split("\n").filter((line) => !line.startsWith("Note:"))[0] ?? ""}`;
      }),
    );

    expect(shown.stdout).toContain(`"ANTHROPIC_BASE_URL": "${gateway.url}/anthropic"`);
    expect([written.code, written.stdout]).toEqual([0, expect.stringContaining("Wrote ~/.claude/settings.json")]);
    expect(again.stdout).toContain("is as it should be");
    // The token of one gateway is not shown to whoever else is named.
    expect(other.requests.length).toBeGreaterThan(0);
    expect(JSON.stringify(other.requests.map(({ rawHeaders }) => rawHeaders))).not.toContain(token);
    const { env } = JSON.parse(read(place.home, ".claude/settings.json")) as { readonly env: Record<string, string> };
    const client = new Anthropic({
      baseURL: env["ANTHROPIC_BASE_URL"] ?? "",
      authToken: env["ANTHROPIC_AUTH_TOKEN"] ?? "",
      apiKey: null,
    });
    expect((await client.models.list()).data).not.toHaveLength(0);
    expect(refusals).toEqual([
      expect.stringContaining("1 The gateway at "),
      expect.stringContaining("refuses this token for anthropic"),
      expect.stringContaining('1 There is no provider "nowhere" at '),
      expect.stringContaining("2 Only the operator of a gateway can make tokens there"),
      expect.stringContaining("refuses this token for other"),
      expect.stringContaining("2 opencode speaks to several kinds of provider"),
      expect.stringContaining('2 What kind of provider is "other"?'),
      expect.stringContaining('2 There is no kind "nonsense"'),
    ]);
  });

  it("says so where something else answers", async () => {
    using place = aHome();
    await using provider = await startScriptedProvider({ keys: [secret] });

    const { code, stderr } = await runCommand(["connect", "codex", "--url", provider.origin], place);

    expect([code, stderr]).toEqual([1, expect.stringContaining("is no Keywheel gateway")]);
  });

  it("tells opencode of a provider that only resembles OpenAI, and of its models", async () => {
    using place = aHome();
    await using pool = await aPool("openai-compatible");
    const keywheel = keywheelFor(pool.gateway, place.home);
    pool.provider
      .on({ method: "GET" })
      .always(reply.json(200, {}, { object: "list", data: [{ id: "vendor/large.1" }, { id: "small" }] }));

    mkdirSync(join(place.home, "work"));
    await keywheel("connect opencode --provider openai-compatible --write");
    const inside = read(place.home, ".config/opencode/opencode.json");
    const outside = await runCommand(
      `connect opencode --provider openai-compatible --kind openai-compatible --write --url ${pool.gateway.url}`.split(
        " ",
      ),
      { home: join(place.home, "work") },
    );

    expect(JSON.parse(inside)).toEqual({
      provider: {
        "openai-compatible": {
          npm: "@ai-sdk/openai-compatible",
          name: "openai-compatible",
          models: { "vendor/large.1": { name: "vendor/large.1" }, small: { name: "small" } },
          options: { baseURL: expect.stringContaining("/openai-compatible") as unknown, apiKey: "keywheel" },
        },
      },
    });
    expect(outside.code).toBe(0);
    expect(JSON.parse(read(place.home, "work/.config/opencode/opencode.json"))).toMatchObject({
      provider: { "openai-compatible": { models: { small: { name: "small" } } } },
    });
  });
});
