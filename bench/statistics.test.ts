import { describe, expect, it } from "vitest";
import { paired, spreadOf, summaryOf } from "./statistics.ts";

describe("summaryOf", () => {
  it("takes the middle of an odd number, in whatever order they come", () => {
    expect(summaryOf([30, 10, 20])).toEqual({ median: 20, least: 10, most: 30, count: 3 });
  });

  it("takes what lies between the two in the middle of an even number", () => {
    expect(summaryOf([1, 100, 3, 2])?.median).toBe(2.5);
  });

  it("leaves out what is no number, and says nothing of nothing", () => {
    expect(summaryOf([NaN, 5, Infinity])).toEqual({ median: 5, least: 5, most: 5, count: 1 });
    expect(summaryOf([NaN])).toBeUndefined();
    expect(summaryOf([])).toBeUndefined();
  });
});

describe("paired", () => {
  it("compares what was measured in the same round, and leaves out rounds of one side only", () => {
    const gateway = new Map([
      [0, 50],
      [1, 20],
      [2, 9],
    ]);
    const nginx = new Map([
      [1, 40],
      [0, 100],
      [3, 7],
    ]);

    expect(paired(gateway, nginx, (a, b) => a / b)).toEqual([0.5, 0.5]);
  });
});

it("tells the spread as a share of the median, on either side of it", () => {
  expect(spreadOf({ median: 100, least: 80, most: 120, count: 3 })).toBeCloseTo(0.2);
  expect(spreadOf({ median: 0, least: 0, most: 0, count: 1 })).toBe(0);
});
