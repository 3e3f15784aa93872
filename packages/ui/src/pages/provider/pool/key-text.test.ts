import { expect, it } from "vitest";
import { faultOfKeyText, variableNameOf } from "./key-text.ts";

it.each([
  ["sk-0123456789", undefined],
  ["  sk-0123456789\u200b\n", undefined],
  ["$OPENAI_KEY_1", undefined],
  ["", "missing"],
  ["   ", "missing"],
  ["$", "name"],
  ["${NAME}", "name"],
  ["$1ST", "name"],
  ["sk-…9f2c", "masked"],
  ["sk-***", "masked"],
  ['"sk-0123456789"', "quotes"],
  ["sk-01234 56789", "inside"],
  ["sk-012345678é", "inside"],
  ["sk-0123,sk-4567", "comma"],
])("finds in %j the fault %s", (text, fault) => {
  expect(faultOfKeyText(text)).toBe(fault);
});

it("knows the variable that is meant", () => {
  expect([variableNameOf(" $A_1 "), variableNameOf("sk-1"), variableNameOf("$A-B")]).toEqual([
    "A_1",
    undefined,
    undefined,
  ]);
});
