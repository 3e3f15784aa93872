import { createFakeClock } from "@keywheel/testkit";
import { expect, it } from "vitest";
import { EventGate } from "./event-gate.ts";

it("lets a hundred through at once, then fifty in a second, and tells how many it skipped", () => {
  const clock = createFakeClock();
  const gate = new EventGate(clock);
  const passed = (type: string, times: number): (number | undefined)[] =>
    Array.from({ length: times }, () => gate.pass(type)).filter((skipped) => skipped !== undefined);

  expect(passed("attempt-ended", 500)).toHaveLength(100);
  expect(passed("request-finished", 1)).toEqual([0]);

  clock.advance(1_000);
  const next = passed("attempt-ended", 200);

  expect(next).toHaveLength(50);
  expect(next.slice(0, 2)).toEqual([400, 0]);
});
