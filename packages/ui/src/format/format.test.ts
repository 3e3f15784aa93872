import { expect, it } from "vitest";
import { formatOf } from "./format.ts";

it("tells a share that is small from none", () => {
  const { percent } = formatOf("en");

  expect([percent(0), percent(0.0001), percent(0.001), percent(0.125)]).toEqual(["0%", "< 0.1%", "0.1%", "12.5%"]);
});

it.each([
  ["en", ["0 bytes", "1 byte", "86 bytes", "1.5 kB"]],
  ["ko", ["0바이트", "1바이트", "86바이트", "1.5kB"]],
])("writes sizes in %s", (language, written) => {
  expect([0, 1, 86, 1_536].map(formatOf(language).bytes)).toEqual(written);
});
