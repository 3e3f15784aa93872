import type { Clock, DurationMs, EpochMs } from "@keywheel/pool";

/** A clock that stands still until it is told otherwise. */
export interface FakeClock extends Clock {
  /** Lets `ms` pass on both clocks. @throws RangeError if `ms` is negative: the monotonic clock cannot go back */
  advance(ms: DurationMs): void;
  /** Sets the wall clock, also back, as an operator or NTP does; the monotonic clock does not notice. */
  set(now: EpochMs): void;
}

/** 2026-01-01T00:00:00Z: a whole second, so that headers with a resolution of one second lose nothing. */
export const defaultEpochMs: EpochMs = Date.UTC(2026, 0, 1);

/**
 * A fake clock.
 *
 * @param start wall time, epoch ms; default `defaultEpochMs`. The monotonic clock starts at 0, so that a test which
 *   mixes the two fails.
 */
export function createFakeClock(start: EpochMs = defaultEpochMs): FakeClock {
  let wallMs = start;
  let monotonicMs = 0;
  return {
    now: () => wallMs,
    monotonic: () => monotonicMs,
    advance(ms) {
      if (!(ms >= 0)) throw new RangeError(`Expected \`ms\` to be 0 or more, got ${ms}`);
      wallMs += ms;
      monotonicMs += ms;
    },
    set(now) {
      wallMs = now;
    },
  };
}
