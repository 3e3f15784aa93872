import { expect, it } from "vitest";
import { isolated } from "./isolated.ts";

it("leaves alone what turns nothing round", () => {
  expect(["Production #1", "운영 키", "", "ключ"].map(isolated)).toEqual(["Production #1", "운영 키", "", "ключ"]);
});

it("puts between isolates what is written from right to left", () => {
  expect(isolated("מפתח 1")).toBe("\u2068מפתח 1\u2069");
});

it("takes out what would reach beyond the isolate", () => {
  expect(isolated("a\u202eb")).toBe("\u2068ab\u2069");
  expect(isolated("a\u2069\u202eb")).toBe("\u2068ab\u2069");
});

it("keeps what was isolated before", () => {
  expect(isolated("\u2068מפתח\u2069 (1)")).toBe("\u2068\u2068מפתח\u2069 (1)\u2069");
});
