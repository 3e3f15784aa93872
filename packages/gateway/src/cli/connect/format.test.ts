import { describe, expect, it } from "vitest";
import { envFormat } from "./env-format.ts";
import { type Change, change, type Format } from "./format.ts";
import { jsonFormat } from "./json-format.ts";
import { tomlFormat } from "./toml-format.ts";

const inEnv: readonly Change[] = [
  { path: ["env", "ANTHROPIC_BASE_URL"], value: "http://127.0.0.1:8787/anthropic" },
  { path: ["env", "ANTHROPIC_AUTH_TOKEN"], value: "kw_one" },
];
const inTables: readonly Change[] = [
  { path: ["model_provider"], value: "keywheel" },
  { path: ["model_providers", "keywheel", "name"], value: "Keywheel" },
  { path: ["model_providers", "keywheel", "base_url"], value: "http://127.0.0.1:8787/openai/v1" },
];
const lines: readonly Change[] = [
  { path: ["GEMINI_API_KEY"], value: "kw_one" },
  { path: ["GOOGLE_GEMINI_BASE_URL"], value: "http://127.0.0.1:8787/gemini" },
];

describe("JSON", () => {
  it("begins a file that is not there", () => {
    expect(change(jsonFormat, "", inEnv)).toBe(`{
  "env": {
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:8787/anthropic",
    "ANTHROPIC_AUTH_TOKEN": "kw_one"
  }
}
`);
  });

  it("keeps comments, indentation, line ends, order and everything else", () => {
    const text = `{\r\n\t// mine\r\n\t"model": "opus",\r\n\t"env": { "DEBUG": "1" }, /* two */\r\n\t"permissions": {"allow": [ "Bash" ]},\r\n}\r\n`;

    const changed = change(jsonFormat, text, inEnv);

    for (const kept of ["\t// mine\r\n", '"DEBUG": "1"', "/* two */", '{"allow": [ "Bash" ]},\r\n}\r\n'])
      expect(changed).toContain(kept);
    expect(changed.replaceAll("\r\n", "")).not.toContain("\n");
    expect(jsonFormat.read(changed)).toMatchObject({ env: { DEBUG: "1", ANTHROPIC_AUTH_TOKEN: "kw_one" } });
  });

  it.each([
    ["no JSON", '{"env": ', "no valid JSON (line 1: "],
    ["a list", "[1]", "does not hold named values"],
    ["another kind of value in the way", '{"env": "x"}', "its `env` does not hold named values"],
  ])("refuses %s", (_what, text, words) => {
    expect(() => change(jsonFormat, text, inEnv)).toThrow(words);
  });
});

describe("TOML", () => {
  it("begins a file that is not there", () => {
    expect(change(tomlFormat, "", inTables).trim()).toBe(`model_provider = "keywheel"

[model_providers.keywheel]
name = "Keywheel"
base_url = "http://127.0.0.1:8787/openai/v1"`);
  });

  it("keeps comments, spacing, dates and other tables", () => {
    const text = `# mine
model = "gpt-5"   # best
since = 2024-01-01T00:00:00Z
model_provider = "other"

[model_providers.other] # a second one
name = 'Other'

[projects."/home/ada"]
trust_level = "trusted"
`;

    const changed = change(tomlFormat, text, inTables);

    expect(changed).toBe(
      `${text.replace('"other"', '"keywheel"')}
[model_providers.keywheel]
name = "Keywheel"
base_url = "http://127.0.0.1:8787/openai/v1"
`,
    );
  });

  it("changes the values of a table that is there, and takes one away", () => {
    const first = change(tomlFormat, "", [
      ...inTables,
      { path: ["model_providers", "keywheel", "experimental_bearer_token"], value: "kw_one" },
    ]);

    const changed = change(tomlFormat, first, [
      { path: ["model_providers", "keywheel", "base_url"], value: "http://127.0.0.1:9000/openai/v1" },
      { path: ["model_providers", "keywheel", "experimental_bearer_token"], value: undefined },
    ]);

    expect(tomlFormat.read(changed)).toEqual({
      model_provider: "keywheel",
      model_providers: { keywheel: { name: "Keywheel", base_url: "http://127.0.0.1:9000/openai/v1" } },
    });
  });

  it("adds to a table on one line", () => {
    const changed = change(tomlFormat, 'model_providers = { other = { name = "o" } }\n', inTables);

    expect(tomlFormat.read(changed)).toMatchObject({
      model_provider: "keywheel",
      model_providers: { other: { name: "o" }, keywheel: { name: "Keywheel" } },
    });
  });

  it("refuses what is no TOML", () => {
    expect(() => change(tomlFormat, "model = \n", inTables)).toThrow("no valid TOML");
  });
});

describe("variables in lines", () => {
  it("adds lines, and replaces its own", () => {
    const text = "# mine\nexport GEMINI_API_KEY='old'\nOTHER=\"a\nb\"\n";

    expect(change(envFormat, text, lines)).toBe(
      '# mine\nexport GEMINI_API_KEY=kw_one\nOTHER="a\nb"\nGOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8787/gemini\n',
    );
  });

  it("ends a last line that has no end", () => {
    expect(change(envFormat, "A=1", lines.slice(0, 1))).toBe("A=1\nGEMINI_API_KEY=kw_one\n");
  });

  it("refuses where its own name stands inside another value", () => {
    expect(() => change(envFormat, 'OTHER="\nGEMINI_API_KEY=x\n"\n', lines)).toThrow("without touching the rest");
  });
});

it.each([
  ["JSON", jsonFormat, inEnv],
  ["TOML", tomlFormat, inTables],
  ["variables", envFormat, lines],
] as const satisfies readonly (readonly [string, Format, readonly Change[]])[])(
  "%s: once and twice are the same",
  (_name, format, changes) => {
    const once = change(format, "", changes);

    expect(change(format, once, changes)).toBe(once);
  },
);
