import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutSecrets } from "./redact.ts";

const value = "sk-test-Zx9/pQ+4tLm=7vBn";

describe("withoutSecrets", () => {
  it.each([
    [`the key ${value}.`, "the key [redacted]."],
    [`?key=${encodeURIComponent(value)}&x`, "?key=[redacted]&x"],
    [`cut ${value.slice(0, 14)}…`, "cut [redacted]…"],
    [`cut …${value.slice(-13)}`, "cut …[redacted]"],
    [`${value}${value}`, "[redacted][redacted]"],
    ["sk-…7vBn rests", "sk-…7vBn rests"],
    ["nothing here", "nothing here"],
  ])("%s", (text, expected) => {
    expect(withoutSecrets(text, [value])).toBe(expected);
  });

  it("leaves words alone that are short values", () => {
    expect(withoutSecrets("the model openai", ["openai"])).toBe("the model openai");
  });

  it("leaves no value in any text around it", () => {
    const values = fc.array(fc.string({ minLength: 16, maxLength: 60, unit: "grapheme-ascii" }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(values, fc.array(fc.string()), (known, between) => {
        const text = known.map((one, at) => `${between[at] ?? " "}${one}`).join("");

        const shown = withoutSecrets(text, known);

        return known.every((one) => !shown.includes(one) || "[redacted]".includes(one));
      }),
    );
  });
});
