import type { EpochMs } from "../rules/time.ts";

/** Where the time comes from. */
export interface Clock {
  /** Wall time, epoch ms: for what is stored and compared over restarts. */
  now(): EpochMs;
  /** Milliseconds that only ever grow, from an arbitrary start: for time-outs and latencies. Never mixed with `now`. */
  monotonic(): number;
}
