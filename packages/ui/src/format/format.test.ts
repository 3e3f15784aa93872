import { expect, it } from "vitest";
import { formatOf } from "./format.ts";

it("tells a share that is small from none", () => {
  const { percent } = formatOf("en");

  expect([percent(0), percent(0.0001), percent(0.001), percent(0.125)]).toEqual(["0%", "< 0.1%", "0.1%", "12.5%"]);
});
