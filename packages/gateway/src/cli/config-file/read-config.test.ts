import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { checkDeclared } from "../../catalog/declared/declared-book.ts";
import { configFileJsonSchema } from "../../contract/config-file.ts";
import { readConfig } from "./read-config.ts";

/** The mistakes of a file as `line:column message`. */
function mistakesOf(text: string): string[] {
  const read = readConfig(text);
  return read.ok ? [] : read.mistakes.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

describe("a keywheel.yaml", () => {
  it("takes keys as texts and as objects, anchors and merged objects, and a provider of which nothing is said", () => {
    const read = readConfig(`
version: 1
x: &x
`);
    expect(read.ok).toBe(false);

    const whole = readConfig(`
version: 1
providers:
  openai:
    settings: &calm { cooldown: { base_ms: 30000 } }
    keys:
      - $OPENAI_KEY_1
      - api_key: file:/run/secrets/openai
        weight: 3
      - 1234567890
  groq:
    settings:
      <<: *calm
      max_body_bytes: 1000
  mistral:
`);
    expect(whole.ok && whole.config.providers).toEqual({
      openai: {
        settings: { cooldown: { base_ms: 30_000 } },
        keys: [
          { api_key: "$OPENAI_KEY_1" },
          { api_key: "file:/run/secrets/openai", weight: 3 },
          { api_key: "1234567890" },
        ],
      },
      groq: { settings: { cooldown: { base_ms: 30_000 }, max_body_bytes: 1000 } },
      mistral: {},
    });
  });

  it("names all mistakes at once, each where it stands", () => {
    const mistakes = mistakesOf(`version: 2
providers:
  openai:
    keys:
      - $A
      - api_key: [1]
        weight: 0
        wieght: 3
    settings: { cooldown: { base_ms: 1 } }
tokens:
  a.b: { max_concurrent: 0 }
`);

    expect(mistakes).toEqual([
      "1:1 Expected `version` to be 1: the version of this file's format, got 2",
      "6:9 Expected `providers.openai.keys.1.api_key` to be a key, `$NAME` for an environment variable, or `file:/path`, got a list",
      "7:9 Expected `providers.openai.keys.1.weight` to be an integer from 1 to 100, got 0",
      "8:9 There is no field `providers.openai.keys.1.wieght` here",
      "9:29 Expected `providers.openai.settings.cooldown.base_ms` to be an integer from 100 to 86400000, got 1",
      "11:10 Expected `tokens.a.b.max_concurrent` to be an integer from 1 to 10000, got 0",
    ]);
  });

  it.each([
    ["", "1:1 The file is empty"],
    ["# nothing yet\n", "1:1 The file is empty"],
    ["version: 1\n", "1:1 `providers` is missing"],
    ["version: 1\nproviders:\n  a: {}\n  a: {}\n", "4:3 This name is there already in the same object"],
    ["version: 1\nproviders:\n\ta: {}\n", "3:1 Indent with spaces"],
    ["version: 1\nproviders: {}\n---\nversion: 1\n", "There is a second document"],
    ["- version: 1\n", "1:1 Expected the file to be an object with `version` and `providers`, got a list"],
  ])("is not taken cut short or broken: %j", (text, expected) => {
    const [first] = mistakesOf(text);

    expect(first).toContain(expected);
  });

  it.each([
    "version: 1\nproviders: { openai: { keys: [ *sk-secret-0123456789 ] } }",
    'version: 1\nproviders: { openai: { keys: [ "sk-secret-\\q0123456789" ] } }',
    "version: 1\nproviders:\n  openai:\n    keys:\n      - sk-secret-0123456789: x\n",
    "version: 1\nproviders:\n  openai:\n    api_key: [sk-secret-0123456789]\n",
    "version: 1\nproviders:\n  openai: sk-secret-0123456789: b\n",
    "version: 1\nproviders:\n  openai: sk-secret-0123456789\n",
    "version: 1\nproviders:\n  openai:\n    keys: 9f2c0123456789abcdef\n",
    "version: 1\nproviders:\n  openai:\n    keys:\n      - { api_key: [ 0123456789 ] }\n",
    "version: 1\nproviders:\n  openai:\n    keys:\n      - { label: a, api_key: 10123456789 }\n    name: [ x ]\n",
    "version: 1\nproviders: {}\ntokens: { app: kw_secret_0123456789 }\n",
    "version: 1\nproviders: {}\ntokens: { app: { sha256: kw_secret_0123456789 } }\n",
    "version: 1\nproviders: sk-secret-0123456789\n",
  ])("repeats no key in what it says: %j", (text) => {
    const mistakes = mistakesOf(text);

    expect(mistakes).not.toEqual([]);
    expect(mistakes.join("\n")).not.toContain("0123456789");
  });

  it("is right in every example of the documentation", () => {
    const page = readFileSync(new URL("../../../../../docs/configuration.md", import.meta.url), "utf8");
    const examples = [...page.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, example = ""]) => example);

    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      const read = readConfig(example);
      expect(read).toMatchObject({ ok: true });
      if (!read.ok) continue;
      const resolve = () => ({ kind: "unset", message: "It is not set" }) as const;
      expect(checkDeclared(read.config, { allowPrivateMetadata: false, resolve }).problems).toEqual([]);
    }
  });

  it("has a JSON Schema that is the one in the package", () => {
    const published = readFileSync(new URL("../../../keywheel.schema.json", import.meta.url), "utf8");

    // To write it anew: keywheel config schema > packages/gateway/keywheel.schema.json, and format it.
    expect(JSON.parse(published)).toEqual(configFileJsonSchema());
  });

  it("has a JSON Schema that says of each field what it is for", () => {
    const described = fieldsOf(configFileJsonSchema(), "");

    expect(described.length).toBeGreaterThan(35);
    expect(described.filter(({ description }) => description.length < 10)).toEqual([]);
  });
});

/** Every field of a schema, wherever it stands, with what is said of it. */
function fieldsOf(schema: unknown, path: string): readonly { readonly path: string; readonly description: string }[] {
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([name, inner]) => {
    if (name !== "properties") return fieldsOf(inner, path);
    return Object.entries(inner as Record<string, { readonly description?: string }>).flatMap(([field, one]) => [
      { path: `${path}.${field}`, description: one.description ?? "" },
      ...fieldsOf(one, `${path}.${field}`),
    ]);
  });
}
