import { describe, expect, it } from "vitest";
import { createFakeClock, defaultEpochMs } from "./fake-clock.ts";

describe("fake clock", () => {
  it("stands still on its own", () => {
    const clock = createFakeClock();

    expect([clock.now(), clock.now()]).toEqual([defaultEpochMs, defaultEpochMs]);
  });

  it("lets time pass on both clocks", () => {
    const clock = createFakeClock(5_000);

    clock.advance(250);

    expect([clock.now(), clock.monotonic()]).toEqual([5_250, 250]);
  });

  it("sets the wall clock back without the monotonic clock noticing", () => {
    const clock = createFakeClock(5_000);
    clock.advance(100);

    clock.set(1_000);

    expect([clock.now(), clock.monotonic()]).toEqual([1_000, 100]);
  });

  it.each([-1, Number.NaN])("refuses to advance by %s", (ms) => {
    expect(() => createFakeClock().advance(ms)).toThrow(RangeError);
  });
});
