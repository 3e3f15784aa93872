import { describe, expect, it } from "vitest";
import { untilNextMonth, untilPacificMidnight } from "./wait-calendar.ts";

describe("midnight in California", () => {
  it.each([
    ["in summer", "2026-06-08T20:00:00Z", "2026-06-09T07:00:00Z"],
    ["in winter", "2026-12-08T20:00:00Z", "2026-12-09T08:00:00Z"],
    ["on the day that is an hour short", "2026-03-08T08:30:00Z", "2026-03-09T07:00:00Z"],
    ["on the day that is an hour long", "2026-11-01T07:30:00Z", "2026-11-02T08:00:00Z"],
    ["just before it", "2026-06-09T06:59:59.250Z", "2026-06-09T07:00:00Z"],
    ["a whole day ahead at midnight itself", "2026-06-09T07:00:00Z", "2026-06-10T07:00:00Z"],
    ["over the end of a year", "2026-12-31T23:00:00Z", "2027-01-01T08:00:00Z"],
  ])("is right %s", (_, now, midnight) => {
    expect(untilPacificMidnight(Date.parse(now))).toBe(Date.parse(midnight) - Date.parse(now));
  });
});

describe("the first of the next month", () => {
  it.each([
    ["2026-06-08T20:00:00Z", "2026-07-01T00:00:00Z"],
    ["2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z"],
    ["2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"],
  ])("after %s is %s", (now, first) => {
    expect(untilNextMonth(Date.parse(now))).toBe(Date.parse(first) - Date.parse(now));
  });
});
