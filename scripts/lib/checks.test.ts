import { expect, it } from "vitest";
import { tally } from "./checks.mjs";

it("counts what the report counts", () => {
  expect(tally(1, { numPassedTests: 7, numFailedTests: 2 })).toEqual({ passed: 7, failed: 2 });
});

it("counts a run that broke outside any test as one failure", () => {
  expect(tally(1, { numPassedTests: 7, numFailedTests: 0 })).toEqual({ passed: 7, failed: 1 });
});

it("counts a run without a report as one failure", () => {
  expect(tally(1, undefined)).toEqual({ passed: 0, failed: 1 });
});

it("takes a run that ends well without having passed anything for a failure", () => {
  expect(tally(0, { numPassedTests: 0, numFailedTests: 0 })).toEqual({ passed: 0, failed: 1 });
});
