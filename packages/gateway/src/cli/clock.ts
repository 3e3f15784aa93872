import type { Clock } from "@keywheel/pool";

/** The machine's. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };
