import { expect, it } from "vitest";
import { turned } from "./runner.ts";

it("lets each be first in some round, and none always follow the same one", () => {
  const orders = Array.from({ length: 6 }, (_, round) => turned(["a", "b", "c"], round).join(""));

  expect(orders).toEqual(["abc", "cba", "bca", "acb", "cab", "bac"]);
  expect(turned([], 3)).toEqual([]);
});
