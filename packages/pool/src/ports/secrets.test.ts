import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { maskSecret, Secret } from "./secrets.ts";

const value = "sk-test-0123456789abcdef9f2c";

describe("Secret", () => {
  it("shows itself masked, however it is printed", () => {
    const secret = new Secret(value);
    const shown = [
      String(secret),
      JSON.stringify({ secret }),
      inspect(secret),
      inspect({ secret }, { depth: 5, showHidden: true }),
    ];

    for (const text of shown) {
      expect(text).toContain("…9f2c");
      expect(text).not.toContain("0123456789");
    }
  });

  it("gives its value to whoever asks for it by name", () => {
    expect(new Secret(value).reveal()).toBe(value);
  });
});

describe("maskSecret", () => {
  it.each([
    [value, "sk-…9f2c"],
    ["AIzaTEST0123456789abcd", "…abcd"],
    ["gsk_0123456789abcd", "gsk_…abcd"],
    ["short", "…"],
    ["", "…"],
  ])("%s becomes %s", (value, masked) => {
    expect(maskSecret(value)).toBe(masked);
  });
});
