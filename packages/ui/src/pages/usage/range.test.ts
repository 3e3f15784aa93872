import { expect, it } from "vitest";
import { dayOf, rangeProblem, spanOf } from "./range.ts";

const now = Date.parse("2026-06-15T12:34:56Z");
const custom = (from: string, to: string) => ({ name: "custom", from, to }) as const;

it.each([
  ["hour", 3_600_000, "minute"],
  ["day", 86_400_000, "hour"],
  ["7days", 7 * 86_400_000, "day"],
  ["30days", 30 * 86_400_000, "day"],
] as const)("reaches back from now: %s", (name, back, unit) => {
  expect(spanOf({ name, from: "", to: "" }, now)).toEqual({ from: now - back, to: undefined, unit });
});

it("takes both days of one's own range whole, by hours where they are few", () => {
  const { from, to = 0, unit } = spanOf(custom("2026-06-01", "2026-06-02"), now);

  expect([dayOf(from), dayOf(to - 1), unit]).toEqual(["2026-06-01", "2026-06-02", "hour"]);
  expect(spanOf(custom("2026-05-01", "2026-06-02"), now).unit).toBe("day");
});

it.each([
  ["2026-06-01", "2026-06-01", undefined],
  ["2026-06-02", "2026-06-01", "wrong"],
  ["", "2026-06-01", "missing"],
  ["2024-01-01", "2026-06-01", "too-long"],
])("looks at a range from %j until %j", (from, to, problem) => {
  expect(rangeProblem(custom(from, to))).toBe(problem);
});
