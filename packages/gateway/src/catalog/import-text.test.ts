import { describe, expect, it } from "vitest";
import { type ImportedKey, parseImportText } from "./import-text.ts";

function show({ line, secret, label, weight }: ImportedKey): string {
  const value = secret.kind === "literal" ? secret.value.reveal() : `$${secret.name}`;
  return `${line}:${value}|${label}|${weight}`;
}

function keysOf(text: string): string[] {
  return parseImportText(text).keys.map(show);
}

describe("a pasted list of keys", () => {
  it.each([
    ["one a line", "k1\nk2\r\nk3\rk4", ["1:k1||1", "2:k2||1", "3:k3||1", "4:k4||1"]],
    ["separated by commas", "k1,k2,k3", ["1:k1||1", "1:k2||1", "1:k3||1"]],
    ["two on a line", "k1,k2", ["1:k1||1", "1:k2||1"]],
    ["commas and white space", " k1 , k2 ,\tk3 ,", ["1:k1||1", "1:k2||1", "1:k3||1"]],
    ["label and weight", "k1,Production,3", ["1:k1|Production|3"]],
    ["a label with white space", "k1,Production key 1,3", ["1:k1|Production key 1|3"]],
    ["an empty weight", "k1,prod,", ["1:k1|prod|1"]],
    ["an empty label", "k1,,5", ["1:k1||5"]],
    ["a label that cannot be a key", "k1,Production key", ["1:k1|Production key|1"]],
    ["a label beyond ASCII", "k1,운영", ["1:k1|운영|1"]],
    ["a label in quotes", 'k1,"prod"', ["1:k1|prod|1"]],
    ["quotes with a comma and a quote inside", 'k1,"a, ""b""",2', ['1:k1|a, "b"|2']],
    ["an empty second field", "k1,", ["1:k1||1"]],
    ["a number as the second of two fields is a key", "k1,3", ["1:k1||1", "1:3||1"]],
    ["references", "$A,first,2\n$B", ["1:$A|first|2", "2:$B||1"]],
    ["a heading", "api_key,label,weight\nk1,a,2", ["2:k1|a|2"]],
    ["comments and empty lines", "# prod\n\nk1\n   \n", ["3:k1||1"]],
    ["a byte order mark at the front", "\ufeffk1\nk2", ["1:k1||1", "2:k2||1"]],
    ["nothing", "", []],
  ])("is understood: %s", (_, text, expected) => {
    expect(keysOf(text)).toEqual(expected);
  });

  it.each([
    ["k1,prod,0", "weight_range"],
    ["k1,prod,101", "weight_range"],
    ["k1,prod,-1", "weight_range"],
    ["k1,prod,1.5", "weight_range"],
    ["k1 k2", "key_white_space"],
    ["sk-abc•••", "key_masked"],
    ["${NAME}", "variable_braces"],
    [`k1,${"x".repeat(201)},1`, "label_too_long"],
    ["k1,a\u0001b,1", "label_control_character"],
    ["x".repeat(4097), "key_too_long"],
    ["k\u00001", "key_control_character"],
    ["k\u00e91", "key_character"],
    ["'k1'", "key_quotes"],
    ["$", "variable_no_name"],
    ["$A$B", "variable_many"],
    ["$1A", "variable_name"],
  ])("refuses a line and says why: %.20s", (text, code) => {
    const { keys, skipped } = parseImportText(`good\n${text}`);

    expect(keys.map(show)).toEqual(["1:good||1"]);
    expect(skipped).toEqual([
      { line: 2, code: "refused", fault: expect.objectContaining({ code }), masked: expect.any(String) },
    ]);
  });

  it("takes the good keys of a line that holds a bad one", () => {
    const { keys, skipped } = parseImportText("k1,k 2,k3,k4");

    expect(keys.map(show)).toEqual(["1:k1||1", "1:k3||1", "1:k4||1"]);
    expect(skipped).toHaveLength(1);
  });

  it("shows no more of a refused value than a mask", () => {
    const { skipped } = parseImportText("sk-very-secret-value with space");

    expect(JSON.stringify(skipped)).not.toContain("secret");
  });

  it("understands a long list in a moment", () => {
    const text = Array.from({ length: 50_000 }, (_, n) => `sk-${n}-abcdef,label ${n},${(n % 100) + 1}`).join("\n");

    expect(parseImportText(text).keys).toHaveLength(50_000);
  });
});
