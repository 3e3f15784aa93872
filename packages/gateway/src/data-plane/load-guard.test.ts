import { expect, it } from "vitest";
import { LoadGuard } from "./load-guard.ts";

const easy = { loopDelayMs: 1, memoryShare: 0.2 };
const late = { loopDelayMs: 1_500, memoryShare: 0.2 };
const full = { loopDelayMs: 1, memoryShare: 0.95 };

function aGuard(mostRunning = 1_000) {
  const clock = { ms: 0 };
  return { clock, guard: new LoadGuard({ mostRunning, now: () => clock.ms }) };
}

function observe(guard: LoadGuard, sample: typeof easy, times: number): void {
  for (let n = 0; n < times; n++) guard.observe(sample);
}

/** Of so many requests, how many are refused. */
function refusedOf(guard: LoadGuard, requests: number): number {
  return Array.from({ length: requests }, () => guard.refusal(1)).filter((refusal) => refusal !== undefined).length;
}

it("lets everything in while the machine carries it", () => {
  const { guard } = aGuard();
  observe(guard, easy, 10);

  expect(refusedOf(guard, 1_000)).toBe(0);
  expect(guard.state).toEqual({ ...easy, refusedShare: 0, reason: undefined });
});

it("refuses what is over the number of requests under way, and says so for a while", () => {
  const { guard, clock } = aGuard(2);

  expect(guard.refusal(2)).toBeUndefined();
  expect(guard.refusal(3)).toEqual({
    code: "overloaded",
    message: "This gateway has as many requests under way as it can carry.",
    retryAfterMs: 1_000,
  });
  expect(guard.state).toMatchObject({ reason: "open_requests", refusedShare: 1 });
  clock.ms += 2_000;
  expect(guard.state).toMatchObject({ reason: undefined, refusedShare: 0 });
});

it("takes one pause of the machine for no overload", () => {
  const { guard } = aGuard();
  observe(guard, late, 2);
  guard.observe(easy);
  observe(guard, late, 2);

  expect(refusedOf(guard, 100)).toBe(0);
});

it("refuses more from sample to sample while the event loop stays late, but never all", () => {
  const { guard } = aGuard();
  observe(guard, late, 3);
  expect(refusedOf(guard, 100)).toBe(15);
  guard.observe(late);
  expect(refusedOf(guard, 100)).toBe(30);
  expect(guard.state.reason).toBe("event_loop");
  expect(guard.refusal(1) ?? guard.refusal(1) ?? guard.refusal(1) ?? guard.refusal(1)).toMatchObject({
    retryAfterMs: 3_000,
  });

  observe(guard, late, 20);
  expect(refusedOf(guard, 1_000)).toBe(900);
});

it("lets in more again as slowly as it refused more", () => {
  const { guard } = aGuard();
  observe(guard, late, 4);
  guard.observe(easy);
  expect(refusedOf(guard, 100)).toBe(20);
  guard.observe(easy);
  expect(refusedOf(guard, 100)).toBe(10);
  observe(guard, easy, 1);

  expect(refusedOf(guard, 1_000)).toBe(0);
  expect(guard.state.reason).toBeUndefined();
});

it("refuses nine of ten at once when memory runs out, until there is some again", () => {
  const { guard } = aGuard();
  guard.observe(full);
  expect(refusedOf(guard, 1_000)).toBe(900);
  expect(guard.state).toEqual({ ...full, refusedShare: 0.9, reason: "memory" });

  observe(guard, easy, 9);
  expect(refusedOf(guard, 100)).toBe(0);
});
