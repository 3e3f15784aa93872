import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeUtf8 } from "./utf8.ts";

describe("UTF-8", () => {
  it("reads what the standard encoder writes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        const bytes = new TextEncoder().encode(text);

        expect(decodeUtf8(bytes, 0, bytes.length)).toBe(text);
      }),
    );
  });

  it("reads long texts", () => {
    const text = "aé漢😀".repeat(20_000);
    const bytes = new TextEncoder().encode(text);

    expect(decodeUtf8(bytes, 0, bytes.length)).toBe(text);
  });

  it("reads a part of the bytes", () => {
    expect(decodeUtf8(new TextEncoder().encode("abcdef"), 2, 4)).toBe("cd");
  });

  it.each([
    ["a lone continuation", [0x61, 0x80, 0x62], "a\uFFFDb"],
    ["a sequence that is cut off", [0x61, 0xe6, 0xbc], "a\uFFFD"],
    ["an overlong slash", [0xc0, 0xaf], "\uFFFD\uFFFD"],
    ["a surrogate", [0xed, 0xa0, 0x80], "\uFFFD\uFFFD\uFFFD"],
    ["a point beyond Unicode", [0xf4, 0x90, 0x80, 0x80], "\uFFFD\uFFFD\uFFFD\uFFFD"],
  ])("replaces %s", (_, bytes, expected) => {
    expect(decodeUtf8(Uint8Array.from(bytes), 0, bytes.length)).toBe(expected);
  });

  it("never throws and never loses a byte", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const text = decodeUtf8(bytes, 0, bytes.length);

        expect(text.length <= bytes.length).toBe(true);
        expect(text.length * 4 >= bytes.length).toBe(true);
      }),
    );
  });
});
