import { describe, expect, it } from "vitest";
import type { Token } from "../../api/openapi.ts";
import { changedTerms, dayOf, endOfDay, initialTerms, isLimit } from "./token-terms.ts";

const now = Date.parse("2026-11-30T12:00:00Z");

function aToken(parts: Partial<Token> = {}): Token {
  return {
    id: "tok_1",
    name: "laptop",
    prefix: "kw_ab",
    providers: null,
    expires_at: null,
    max_requests_per_minute: null,
    max_concurrent: null,
    managed_by: null,
    created_at: "2026-11-01T00:00:00.000Z",
    last_used_at: null,
    ...parts,
  };
}

describe("the terms of a new token", () => {
  const blank = initialTerms(undefined, ["prv_a"]);

  it("say what was filled in, and nothing of the rest", () => {
    expect(changedTerms({ ...blank, name: " ci " }, blank, now)).toEqual({ name: "ci" });
    expect(
      changedTerms(
        { ...blank, name: "ci", providers: ["prv_a"], expiry: "30", perMinute: 60, concurrent: "4" },
        blank,
        now,
      ),
    ).toEqual({
      name: "ci",
      providers: ["prv_a"],
      expires_at: "2026-12-30T12:00:00.000Z",
      max_requests_per_minute: 60,
      max_concurrent: 4,
    });
  });

  it("end with the last day", () => {
    const { expires_at: at } = changedTerms({ ...blank, name: "ci", expiry: "day", lastDay: "2027-01-31" }, blank, now);

    expect(at).toBe(new Date(2027, 1, 1).toISOString());
    expect(dayOf(Date.parse(at ?? "") - 1)).toBe("2027-01-31");
  });
});

describe("the terms of a token that is there", () => {
  it("lose nothing by being looked at", () => {
    const token = aToken({ providers: ["prv_gone"], expires_at: "2027-01-31T09:30:00.000Z", max_concurrent: 4 });
    const before = initialTerms(token, ["prv_a"]);

    expect(changedTerms(before, before, now)).toEqual({});
    expect(changedTerms({ ...before, name: "desk" }, before, now)).toEqual({ name: "desk" });
  });

  it("are taken away by what is emptied", () => {
    const token = aToken({ providers: ["prv_a"], expires_at: "2027-01-31T09:30:00.000Z", max_requests_per_minute: 5 });
    const before = initialTerms(token, ["prv_a"]);

    expect(changedTerms({ ...before, providers: [], expiry: "never", perMinute: "" }, before, now)).toEqual({
      providers: null,
      expires_at: null,
      max_requests_per_minute: null,
    });
  });
});

it("takes whole numbers in range, or nothing, for a limit", () => {
  expect([1, 100, "50", ""].map((value) => isLimit(value, 100))).toEqual([true, true, true, true]);
  expect([0, 101, 1.5, "x", -1].map((value) => isLimit(value, 100))).toEqual([false, false, false, false, false]);
});

it("knows no end of what is no day", () => {
  expect([endOfDay(""), endOfDay("31.1.2027")]).toEqual([Number.NaN, Number.NaN]);
});
