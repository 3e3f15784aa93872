import { expect, it } from "vitest";
import { readExpiry } from "./expiry.ts";

const now = Date.parse("2026-11-30T12:00:00Z");

it.each([
  ["90m", "2026-11-30T13:30:00.000Z"],
  ["12h", "2026-12-01T00:00:00.000Z"],
  ["30d", "2026-12-30T12:00:00.000Z"],
  [" 2W ", "2026-12-14T12:00:00.000Z"],
  ["2027-01-31T09:30:00Z", "2027-01-31T09:30:00.000Z"],
  ["2027-01-31T09:30:00+09:00", "2027-01-31T00:30:00.000Z"],
  ["2027-01-31", new Date(2027, 1, 1).toISOString()],
  ["never", null],
])("reads when a token expires: %s", (text, expected) => {
  expect(readExpiry(text, now)).toBe(expected);
});

it.each(["", "soon", "30", "30 days", "-1d", "2027-02-30", "2027-1-1", "2027-01-31T09:30:00", "999999w", "1e3d"])(
  "refuses what it cannot read: %s",
  (text) => {
    expect(() => readExpiry(text, now)).toThrow(/Expected `--expires` to be a time from now/);
  },
);
