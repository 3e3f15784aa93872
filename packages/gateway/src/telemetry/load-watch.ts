import { totalmem } from "node:os";
import { type ELDHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";

/** What the process has to carry. */
export interface Load {
  /** How late the event loop runs what is due, ms; the median since it was read before. */
  readonly loopDelayMs: number;
  /** What is in use of the memory that this process may have, 0 to 1. */
  readonly memoryShare: number;
}

/** Why requests are refused. */
export type OverloadReason = "open_requests" | "event_loop" | "memory";

/** The last reading, and what follows from it. */
export interface LoadState extends Load {
  /** What part of the new requests is refused, 0 to 1. */
  readonly refusedShare: number;
  /** Undefined while nothing is refused. */
  readonly reason: OverloadReason | undefined;
}

const resolutionMs = 20;
/** Code, stacks and buffers of the system, which nobody counts. */
const uncountedBytes = 80 * 1024 * 1024;
/** The rest is for the kernel's socket buffers and for whatever else runs there. */
const usableShare = 0.75;

/**
 * Watches how late the event loop is, and how much memory is in use.
 *
 * In use is what the heap and its buffers hold: the resident set would count what was given back to the allocator, which
 * seldom gives it back to the system, and a gateway could never say that its memory is free again.
 */
export class LoadWatch {
  readonly #delays: ELDHistogram;
  readonly #mostBytes: number;

  /** @param mostBytes what this process may use */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
    this.#delays = monitorEventLoopDelay({ resolution: resolutionMs });
    this.#delays.enable();
  }

  read(): Load {
    const { heapUsed, external } = process.memoryUsage();
    // While the loop is blocked nothing is recorded at all: a blockade shows in the first sample after it.
    const loopDelayMs = this.#delays.count === 0 ? 0 : Math.max(0, this.#delays.percentile(50) / 1e6 - resolutionMs);
    this.#delays.reset();
    const ofAll = (heapUsed + external + uncountedBytes) / this.#mostBytes;
    const ofHeap = heapUsed / getHeapStatistics().heap_size_limit;
    return { loopDelayMs, memoryShare: Math.max(ofAll, ofHeap) };
  }

  close(): void {
    this.#delays.disable();
  }
}

/** Three quarters of what the machine, or its container, has. */
export function availableBytes(): number {
  // What is not constrained is told as 0, or as more than there is.
  const constrained = process.constrainedMemory();
  const whole = totalmem();
  return usableShare * (constrained > 0 ? Math.min(constrained, whole) : whole);
}
