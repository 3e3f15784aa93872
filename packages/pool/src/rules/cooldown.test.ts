import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  afterFailure,
  afterReset,
  afterSuccess,
  type CooldownPolicy,
  defaultCooldownPolicy as policy,
  type Failure,
  type Health,
  healthy,
  isCooling,
  isSharedLimit,
  ladderMs,
  rebaseOnClock,
  restAlong,
  restoreHealth,
} from "./cooldown.ts";

const ladder: Failure = { rest: "ladder" };
const t0 = 1_780_000_000_000;

/** The health after failures in a row, each of a request sent after the cooldown before it. */
function failTimes(count: number, failure = ladder, start: Health = healthy): Health {
  let health = start;
  for (let n = 0; n < count; n++)
    health = afterFailure(health, failure, health, policy, Math.max(t0, health.coolUntil));
  return health;
}

function restMs(health: Health): number {
  return health.coolUntil - health.cooledAt;
}

describe("the ladder", () => {
  it.each([
    [1, 60],
    [2, 120],
    [3, 240],
    [4, 480],
    [5, 900],
    [6, 900],
    [100, 900],
    [5_000, 900],
  ])("rests a key after failure %i for %i seconds", (failures, seconds) => {
    expect(ladderMs(failures, policy)).toBe(seconds * 1000);
    expect(restMs(failTimes(failures))).toBe(seconds * 1000);
  });

  it.each([0, -1, 1.5, Number.NaN])("knows no failure number %s", (failures) => {
    expect(() => ladderMs(failures, policy)).toThrow(RangeError);
  });

  it("starts again after a success: 429, 200, 429 rests 60 s the second time (case 71)", () => {
    const failed = failTimes(1);
    const succeeded = afterSuccess(failed, failed);

    expect(succeeded.failures).toBe(0);
    expect(restMs(failTimes(1, ladder, succeeded))).toBe(60_000);
  });

  it("outlives the cooldown: the next failure after it has ended is the second", () => {
    const failed = failTimes(1);

    const second = afterFailure(failed, ladder, failed, policy, failed.coolUntil + 3_600_000);

    expect(second.failures).toBe(2);
    expect(restMs(second)).toBe(120_000);
  });

  it("is monotone and never passes the cap, for any policy", () => {
    const policies = fc
      .tuple(fc.integer({ min: 100, max: 86_400_000 }), fc.integer({ min: 100, max: 86_400_000 }))
      .map(([a, b]): CooldownPolicy => ({ baseMs: Math.min(a, b), capMs: Math.max(a, b) }));
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 2_000 }), (policy, failures) => {
        const rest = ladderMs(failures, policy);
        expect(rest).toBeGreaterThanOrEqual(policy.baseMs);
        expect(rest).toBeLessThanOrEqual(policy.capMs);
        expect(ladderMs(failures + 1, policy)).toBeGreaterThanOrEqual(rest);
      }),
    );
  });
});

describe("a stated wait", () => {
  it.each([
    { hintMs: 300_000, restMs: 300_000, wait: "stated", why: "longer than the ladder extends it" },
    { hintMs: 5_000, restMs: 60_000, wait: "ladder", why: "shorter does not shorten it" },
    { hintMs: 60_000, restMs: 60_000, wait: "ladder", why: "equal changes nothing" },
    { hintMs: 6 * 86_400_000, restMs: 900_000, wait: "stated", why: "counts up to the cap" },
  ])("of $hintMs ms: $why (case 1)", ({ hintMs, restMs: expected, wait }) => {
    const health = failTimes(1, { rest: "ladder", hintMs });

    expect(restMs(health)).toBe(expected);
    expect(health.wait).toBe(wait);
  });
});

describe("a rest of one length", () => {
  it("is on no ladder, passes the cap, and says so", () => {
    const health = failTimes(2, { rest: "ladder", fixedMs: 3_600_000 });

    expect([restMs(health), health.wait]).toEqual([3_600_000, "fixed"]);
  });
});

describe("a spent quota", () => {
  it("rests the key for the whole cap at once", () => {
    const health = failTimes(1, { rest: "at-cap" });

    expect(restMs(health)).toBe(900_000);
    expect(health.wait).toBe("quota");
    expect(health.failures).toBe(1);
  });
});

describe("a burst", () => {
  it("is one failure: answers to requests sent before the cooldown began add no step", () => {
    const before = healthy;
    let health = afterFailure(before, ladder, before, policy, t0);
    for (let n = 1; n < 50; n++) health = afterFailure(health, ladder, before, policy, t0 + n);

    expect(health.failures).toBe(1);
    expect(health.coolUntil).toBe(t0 + 60_000);
  });

  it("may still extend the deadline by a longer stated wait, and never moves it back", () => {
    const first = afterFailure(healthy, ladder, healthy, policy, t0);

    const longer = afterFailure(first, { rest: "ladder", hintMs: 200_000 }, healthy, policy, t0 + 10);
    const shorter = afterFailure(longer, { rest: "ladder", hintMs: 90_000 }, healthy, policy, t0 + 20);

    expect(longer.failures).toBe(1);
    expect(longer.coolUntil).toBe(t0 + 10 + 200_000);
    expect(longer.wait).toBe("stated");
    expect(shorter.coolUntil).toBe(longer.coolUntil);
  });

  it("is still one failure when its last answer comes after the cooldown has ended", () => {
    const first = afterFailure(healthy, ladder, healthy, policy, t0);

    const late = afterFailure(first, ladder, healthy, policy, t0 + 61_000);

    expect(late.failures).toBe(1);
    expect(isCooling(late, t0 + 61_000)).toBe(false);
  });
});

describe("a success", () => {
  it("of a request sent before the last failure resets nothing", () => {
    const failed = afterFailure(healthy, ladder, healthy, policy, t0);

    expect(afterSuccess(failed, healthy)).toBe(failed);
  });

  it("of a request sent before a late answer of the old burst was seen resets nothing", () => {
    const failed = afterFailure(healthy, ladder, healthy, policy, t0);
    const sentMeanwhile = failed;
    const lateFailure = afterFailure(failed, ladder, healthy, policy, t0 + 70_000);

    expect(afterSuccess(lateFailure, sentMeanwhile).failures).toBe(1);
    expect(afterSuccess(lateFailure, lateFailure).failures).toBe(0);
  });

  it("leaves a running cooldown alone", () => {
    const failed = failTimes(1);

    expect(afterSuccess(failed, failed).coolUntil).toBe(failed.coolUntil);
  });
});

describe("the rest along with another key of the group", () => {
  it("is as long as that one's, and no failure of the key's own", () => {
    const resting = restAlong(healthy, t0 + 60_000, t0);

    expect(resting).toEqual({ ...healthy, cooldowns: 1, cooledAt: t0, coolUntil: t0 + 60_000, wait: "shared" });
    expect(afterFailure(resting, ladder, healthy, policy, t0 + 1).failures).toBe(0);
    expect(afterFailure(resting, ladder, resting, policy, t0 + 60_000).failures).toBe(1);
  });

  it("keeps a count that was there, lengthens a rest that is under way and moves no deadline back", () => {
    const failed = failTimes(2);

    expect(restAlong(failed, failed.coolUntil, t0)).toBe(failed);
    expect(restAlong(failed, failed.coolUntil - 1, t0)).toBe(failed);
    const longer = restAlong(failed, failed.coolUntil + 5_000, failed.cooledAt + 1);
    expect(longer).toEqual({ ...failed, coolUntil: failed.coolUntil + 5_000, wait: "shared" });
  });

  it("does not begin once the other's is over", () => {
    expect(restAlong(healthy, t0, t0)).toBe(healthy);
  });

  it.each([
    ["rate_limited", true],
    ["quota_exhausted", true],
    ["overloaded", false],
    ["model_unavailable", false],
  ])("comes of %s: %s", (reason, isShared) => {
    expect(isSharedLimit(reason)).toBe(isShared);
  });
});

describe("a reset", () => {
  it("clears cooldown and count, and answers still under way cannot count for the cleared key", () => {
    const failed = failTimes(4);
    const cleared = afterReset(failed);

    expect(isCooling(cleared, t0)).toBe(false);
    expect(cleared.failures).toBe(0);
    expect(afterFailure(cleared, ladder, failed, policy, t0).failures).toBe(0);
  });
});

describe("clocks", () => {
  it("set back by a day right after a 429 keeps the key out for its own rest, not for the step (case 97)", () => {
    const failed = failTimes(1);
    const now = t0 - 86_400_000;

    expect(rebaseOnClock(failed, now).coolUntil).toBe(now + 60_000);
  });

  it("set forward ends the cooldown", () => {
    expect(isCooling(failTimes(1), t0 + 3_600_000)).toBe(false);
  });

  it("a restart keeps the time that is left, and clamps a deadline beyond the longest rest (case 96)", () => {
    const failed = failTimes(4);

    expect(restoreHealth(failed, policy.capMs, failed.cooledAt + 100_000).coolUntil).toBe(failed.coolUntil);
    expect(restoreHealth({ ...failed, coolUntil: t0 * 2 }, policy.capMs, t0).coolUntil).toBe(t0 + 900_000);
  });
});
