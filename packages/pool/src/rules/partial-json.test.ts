import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJsonPrefix } from "./partial-json.ts";

describe("JSON that may be cut off", () => {
  it.each([
    ["reads whole JSON", '{"a":[1,{"b":null}]}', { a: [1, { b: null }] }],
    [
      "keeps what was complete before the cut",
      '{"error":{"code":"x","message":"y"},"param":tr',
      { error: { code: "x", message: "y" } },
    ],
    [
      "keeps the beginning of a string that was cut",
      '{"error":{"message":"Rate limit rea',
      { error: { message: "Rate limit rea" } },
    ],
    ["drops an escape that was torn apart", '{"m":"caf\\u00e', { m: "caf" }],
    ["keeps an escaped backslash at the cut", '{"m":"a\\\\', { m: "a" }],
    ["drops a key that was cut", '{"a":1,"mess', { a: 1 }],
    ["drops a key without a value", '{"a":1,"message":', { a: 1 }],
    ["drops a number that may go on", '{"a":1,"b":12', { a: 1 }],
    ["keeps entries of an array", '[{"a":1},{"b":2', [{ a: 1 }, {}]],
    ["ignores what follows the first value", '{"a":1}\n{"b":2}', { a: 1 }],
    ["passes over a byte order mark and blank lines", '\uFEFF\n\n {"a":1}', { a: 1 }],
    ["knows that a sentence is none", "Too many requests", undefined],
    ["knows that nothing is none", "", undefined],
    ["does not repair what is wrong rather than cut", '{"a":1]', undefined],
  ])("%s", (_, text, expected) => {
    expect(parseJsonPrefix(text)).toEqual(expected);
  });

  it("reads something from every beginning of an object", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), (value, cut) => {
        const text = JSON.stringify(value);

        const read = parseJsonPrefix(text.slice(0, 1 + (cut % text.length)));

        expect(typeof read).toBe("object");
      }),
    );
  });

  it("never throws", () => {
    fc.assert(fc.property(hostileText, (text) => void parseJsonPrefix(text)));
  });
});

const hostileText = fc.oneof(
  fc.string(),
  fc
    .array(fc.constantFrom("{", "}", "[", "]", '"', "\\", ",", ":", "a", "1", "\\u12", "\n"))
    .map((parts) => parts.join("")),
);
