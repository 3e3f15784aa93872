import { describe, expect, it } from "vitest";
import { problemOfSlug, reservedSlugs, slugFrom } from "./slug.ts";

describe("a slug", () => {
  it.each(["openai", "a", "0", "my-openai-2", "x".repeat(63)])("is taken: %.20s", (slug) => {
    expect(problemOfSlug(slug)).toBeUndefined();
  });

  it.each(["", "-a", "A", "a_b", "a.b", "a/b", "ä", "a b", "x".repeat(64), "prv_abc", ".well-known"])(
    "is refused: %.20s",
    (slug) => {
      expect(problemOfSlug(slug)).toEqual({ code: "shape", message: expect.stringMatching(/lower-case letters/) });
    },
  );

  it.each([...reservedSlugs])("is refused because the gateway needs it: %s", (slug) => {
    expect(problemOfSlug(slug)).toEqual({ code: "reserved", message: expect.stringMatching(/needs the path/) });
  });

  it.each([
    ["OpenAI", "openai"],
    ["My  Öpen—AI!", "my-open-ai"],
    ["  --x--", "x"],
    ["API", "api-2"],
    ["공급자", undefined],
  ])("is made from %s", (name, slug) => {
    expect(slugFrom(name, () => false)).toBe(slug);
  });

  it("gets a number when it is taken", () => {
    const taken = new Set(["openai", "openai-2"]);

    expect(slugFrom("OpenAI", (slug) => taken.has(slug))).toBe("openai-3");
  });
});
