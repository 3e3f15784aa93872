import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseEnvFile } from "./env-file.ts";
import { Environment, resolutionOf } from "./environment.ts";

describe("an env file", () => {
  it.each([
    ["A=1", { A: "1" }],
    ["A=1\r\nB=2\r\n", { A: "1", B: "2" }],
    ["\ufeffA=1", { A: "1" }],
    ["export A=1", { A: "1" }],
    ["  A = 1  ", { A: "1" }],
    ["# A=1\nB=2 # two", { B: "2" }],
    ["A=sk-abc#def", { A: "sk-abc#def" }],
    ["A='x # y'", { A: "x # y" }],
    ['A="x\\ny" # c', { A: "x\ny" }],
    ['A="two\nlines"\nB=1', { A: "two\nlines", B: "1" }],
    ["A=$OTHER", { A: "$OTHER" }],
    ["A=", { A: "" }],
    ["A=1\nA=2", { A: "2" }],
    ["nonsense\n=x\n1A=2\nB=1", { B: "1" }],
    ["A='unclosed\nB=1", { A: "'unclosed", B: "1" }],
  ])("is read: %j", (text, values) => {
    expect(Object.fromEntries(parseEnvFile(text))).toEqual(values);
  });
});

describe("the value of a variable", () => {
  it.each(["sk-abc", ' "sk-abc" ', "'sk-abc'", "\ufeffsk-abc\n"])("is cleaned as a pasted key is: %j", (raw) => {
    const resolution = resolutionOf("NAME", raw);

    expect(resolution.kind === "resolved" && resolution.value.reveal()).toBe("sk-abc");
  });

  it.each([
    [undefined, "unset"],
    ["", "empty"],
    ["  ", "empty"],
    ['""', "empty"],
    ["good\ngood2", "unsendable"],
    ["k1,k2", "unsendable"],
    ["sk-••••", "unsendable"],
    ["$OTHER", "unsendable"],
    ["${OTHER}", "unsendable"],
  ])("is none: %j", (raw, kind) => {
    const resolution = resolutionOf("NAME", raw);

    expect(resolution.kind).toBe(kind);
    expect(resolution).toHaveProperty("message", expect.stringContaining("NAME"));
    expect(JSON.stringify(resolution)).not.toMatch(/good2|OTHER/);
  });
});

describe("the environment", () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "keywheel-env-"));
    file = join(folder, ".env");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function valueIn(environment: Environment, name: string): string | undefined {
    const resolution = environment.resolve(name);
    return resolution.kind === "resolved" ? resolution.value.reveal() : undefined;
  }

  it("goes before the env file, unless the variable is empty", () => {
    writeFileSync(file, "A=from-file\nB=from-file\nC=from-file\n");
    const environment = new Environment({ variables: { A: "own", B: "" }, envFile: file, pollMs: 0 });

    expect(["A", "B", "C", "D"].map((name) => valueIn(environment, name))).toEqual([
      "own",
      "from-file",
      "from-file",
      undefined,
    ]);
  });

  it("tells names in lower case from those in upper case", () => {
    const environment = new Environment({ variables: { key: "lower", KEY: "upper" }, pollMs: 0 });

    expect([valueIn(environment, "key"), valueIn(environment, "KEY")]).toEqual(["lower", "upper"]);
  });

  it("tells of a changed file, and answers as before until then", () => {
    writeFileSync(file, "A=one\n");
    const environment = new Environment({ variables: {}, envFile: file, pollMs: 0 });
    let told = 0;
    environment.onChange(() => told++);
    expect(valueIn(environment, "A")).toBe("one");

    writeFileSync(file, "A=another\n");
    expect(valueIn(environment, "A")).toBe("one");
    environment.check();

    expect([valueIn(environment, "A"), told]).toEqual(["another", 1]);
  });

  it("tells nothing when what changed is of no interest", () => {
    writeFileSync(file, "A=one\n");
    const environment = new Environment({ variables: {}, envFile: file, pollMs: 0 });
    environment.resolve("A");
    environment.onChange(() => expect.unreachable());

    writeFileSync(file, "A=one\nUNUSED=2\n");
    environment.check();

    expect(valueIn(environment, "A")).toBe("one");
  });

  it("says once of each variable that it had quotes around its value, and nothing of the value", () => {
    const warnings: string[] = [];
    const variables = { QUOTED: '"sk-quoted"', PLAIN: "sk-plain", HALF: '"sk-half' };
    const environment = new Environment({ variables, pollMs: 0, warn: (text) => warnings.push(text) });

    for (const name of ["QUOTED", "PLAIN", "HALF", "QUOTED"]) environment.peek(name);

    expect(warnings).toEqual(["the environment variable QUOTED has quotes around its value; they are left out"]);
  });

  it("keeps the values of a file that is away for a moment, and warns once", () => {
    const warnings: string[] = [];
    writeFileSync(file, "A=one\n");
    const environment = new Environment({
      variables: {},
      envFile: file,
      pollMs: 0,
      warn: (text) => warnings.push(text),
    });

    rmSync(file);
    environment.check();
    environment.check();

    expect(valueIn(environment, "A")).toBe("one");
    expect(warnings).toHaveLength(1);
  });

  it("looks by itself", async () => {
    const variables: Record<string, string> = {};
    const environment = new Environment({ variables, pollMs: 5 });
    environment.resolve("A");
    const told = new Promise<void>((resolve) => environment.onChange(resolve));

    variables["A"] = "now-set";
    await told;
    environment.close();

    expect(valueIn(environment, "A")).toBe("now-set");
  });
});
