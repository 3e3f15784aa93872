import { Secret } from "@keywheel/pool";
import { describe, expect, it } from "vitest";
import { maxKeyLength, parseKeyText, showSecret } from "./key-text.ts";

function valueOf(raw: string): string | undefined {
  const parsed = parseKeyText(raw);
  return parsed.ok && parsed.secret.kind === "literal" ? parsed.secret.value.reveal() : undefined;
}

function problemOf(raw: string): string {
  const parsed = parseKeyText(raw);
  return parsed.ok ? "taken" : parsed.fault.message;
}

describe("a typed key", () => {
  it.each([
    ["as it is", "sk-proj-abc123"],
    ["white space around it", " \t sk-proj-abc123 \r\n"],
    ["a byte order mark", "\ufeffsk-proj-abc123"],
    ["a no-break space", "\u00a0sk-proj-abc123\u00a0"],
    ["characters of no width", "\u200bsk-proj-abc123\u2060\u200d"],
  ])("is taken with %s", (_, raw) => {
    expect(valueOf(raw)).toBe("sk-proj-abc123");
  });

  it.each(["AQ.Ab8RN6-unheard-of", "x", "a/b+c==", "key.with.dots", 'quote"inside', "x".repeat(maxKeyLength)])(
    "is not held to any vendor's form: %.40s",
    (raw) => {
      expect(valueOf(raw)).toBe(raw);
    },
  );

  it.each([
    ["nothing", "", /is empty/],
    ["only white space", " \n\u200b", /is empty/],
    ["a line break inside", "sk-good\nsk-good2", /line break at position 8/],
    ["a position counted from what was sent", "  sk-good\nsk-good2", /line break at position 10/],
    ["a space inside", "k1 k2", /white space at position 3/],
    ["a no-break space inside", "k1\u00a0k2", /white space at position 3/],
    ["a tab inside", "k1\tk2", /white space at position 3/],
    ["a control character", "k1\u0007k2", /control character at position 3/],
    ["a letter beyond ASCII", "sk-ключ", /U\+043A\) at position 4/],
    ["a zero-width space inside", "k1\u200bk2", /U\+200B\) at position 3/],
    ["a comma", "k1,k2", /comma.*import/],
    ["bullets", "sk-abc123••••", /masked/],
    ["stars", "sk-abc***xyz", /masked/],
    ["three dots", "sk-...9f2c", /masked/],
    ["our own mask", new Secret("sk-proj-abcdef123456").masked, /masked/],
    ["quotes around it", '"sk-abc"', /quotes around/],
    ["more than fits a header", "x".repeat(maxKeyLength + 1), /4097 characters/],
  ])("is refused for %s", (_, raw, problem) => {
    expect(problemOf(raw)).toMatch(problem);
  });

  it("never repeats a part of the value when it refuses it", () => {
    for (const raw of [
      "sk-secret-part\nother",
      "sk-secret-part,other",
      "sk-secret-part…",
      '"sk-secret-part"',
      "$sk-secret-part",
    ]) {
      expect(problemOf(raw)).not.toContain("secret");
    }
  });
});

describe("a reference to the environment", () => {
  it.each(["$OPENAI_KEY_1", "$lower", "$_X", " $A "])("is taken: %s", (raw) => {
    expect(parseKeyText(raw)).toEqual({ ok: true, secret: { kind: "reference", name: raw.trim().slice(1) } });
  });

  it.each([
    ["$", /no name after/],
    ["${NAME}", /without braces/],
    ["$A$B", /single/],
    ["$1KEY", /no name of an environment variable/],
    ["$MY-KEY", /no name of an environment variable/],
    ["$MY KEY", /no name of an environment variable/],
  ])("is refused: %s", (raw, problem) => {
    expect(problemOf(raw)).toMatch(problem);
  });
});

describe("what is shown of a key", () => {
  it("is a mask, a reference as it stands, or the mask that was kept", () => {
    expect(showSecret({ kind: "literal", value: new Secret("sk-proj-abcdef9f2c") })).toBe("sk-…9f2c");
    expect(showSecret({ kind: "reference", name: "NAME" })).toBe("$NAME");
    expect(showSecret({ kind: "undecryptable", masked: "sk-…1234" })).toBe("sk-…1234");
  });
});
