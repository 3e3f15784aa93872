import { expect, it } from "vitest";
import { amountOf } from "./amount.ts";

it.each([
  ["7", 7],
  [" 1.5 ", 1.5],
  [".5", 0.5],
  [61, 61],
  ["３", 3],
  ["１２．５", 12.5],
])("reads %j", (typed, amount) => {
  expect(amountOf(typed)).toBe(amount);
});

it.each(["", "-5", "1e3", "0x10", "1,5", "five", "1 000", "1²"])("takes %j for no number", (typed) => {
  expect(amountOf(typed)).toBeNaN();
});
