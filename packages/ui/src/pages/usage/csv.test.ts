import { expect, it } from "vitest";
import { csvOf } from "./csv.ts";

const line = (...cells: Parameters<typeof csvOf>[1][number]): string => csvOf(["a"], [cells]).split("\r\n")[1] ?? "";

it("writes a head, a line for each row, and a mark that says UTF-8", () => {
  expect(csvOf(["name", "requests"], [["운영 키", 3]])).toBe("\uFEFFname,requests\r\n운영 키,3\r\n");
});

it("puts in quotes what would be taken for the end of a cell or a line", () => {
  expect(line('say "hi", twice', "plain", null, undefined, 1.5)).toBe('"say ""hi"", twice",plain,,,1.5');
  expect(csvOf(["a"], [["one\ntwo"]])).toContain('"one\ntwo"');
});

it.each(["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", '=HYPERLINK("http://a.example","b")'])(
  "makes no formula of %j",
  (text) => {
    expect(line(text)).toMatch(/^(?:"')|^'/);
  },
);

it("leaves numbers that are numbers", () => {
  expect(line(-5)).toBe("-5");
});
