import type { OwnError } from "@keywheel/pool";
import type { Load, LoadState, OverloadReason } from "../telemetry/load-watch.ts";

export interface LoadGuardOptions {
  /** Requests under way at once, streams and WebSockets included. */
  readonly mostRunning: number;
  readonly now: () => number;
}

/** Beyond it every stream stutters, and the delay feeds itself: what waits longer holds its memory longer. */
const mostLoopDelayMs = 1_000;
/** One pause of the machine is no overload. */
const samplesToBegin = 3;
const mostMemoryShare = 0.9;
/** What is let in even then: garbage is collected as others allocate, and somebody has to find out that it is over. */
const mostRefused = 90;
const steps = { more: 15, less: 10 };
/** For so long after the last refusal the number of requests is told to be too high. */
const fullForMs = 2_000;
const retryAfterMs = { open_requests: 1_000, event_loop: 3_000, memory: 5_000 } as const;

/**
 * Decides which requests to refuse, so that those under way go on when more come than the machine can carry.
 *
 * Requests over the number that may be under way are refused one and all. While the event loop is late, the refused part
 * grows from sample to sample until it is in time again, and shrinks as slowly: letting all in at once would begin it anew.
 * When memory runs out, nine of ten are refused. Which ones is not left to chance: of ten, always the same number.
 */
export class LoadGuard {
  readonly #options: LoadGuardOptions;
  #sample: Load = { loopDelayMs: 0, memoryShare: 0 };
  #lateSamples = 0;
  /** Of a hundred requests. */
  #refused = 0;
  /** What is to be refused of the next request, in hundredths. */
  #due = 0;
  #fullUntil = -Infinity;

  constructor(options: LoadGuardOptions) {
    this.#options = options;
  }

  /** Takes note of a sample; to be called about twice a second. */
  observe(sample: Load): void {
    this.#sample = sample;
    this.#lateSamples = sample.loopDelayMs > mostLoopDelayMs ? this.#lateSamples + 1 : 0;
    if (sample.memoryShare > mostMemoryShare) this.#refused = mostRefused;
    else if (this.#lateSamples >= samplesToBegin) this.#refused = Math.min(mostRefused, this.#refused + steps.more);
    else if (this.#lateSamples === 0) this.#refused = Math.max(0, this.#refused - steps.less);
    if (this.#refused === 0) this.#due = 0;
  }

  /**
   * @param running requests under way, the one that asks included
   * @returns with what to refuse it, or undefined to let it in
   */
  refusal(running: number): OwnError | undefined {
    if (running > this.#options.mostRunning) {
      this.#fullUntil = this.#options.now() + fullForMs;
      return overloaded("open_requests");
    }
    if (this.#refused === 0) return undefined;
    this.#due += this.#refused;
    if (this.#due < 100) return undefined;
    this.#due -= 100;
    return overloaded(this.#reason());
  }

  get state(): LoadState {
    const isFull = this.#options.now() < this.#fullUntil;
    const reason = isFull ? "open_requests" : this.#refused > 0 ? this.#reason() : undefined;
    return { ...this.#sample, refusedShare: isFull ? 1 : this.#refused / 100, reason };
  }

  #reason(): "memory" | "event_loop" {
    return this.#sample.memoryShare > mostMemoryShare ? "memory" : "event_loop";
  }
}

const words: Readonly<Record<OverloadReason, string>> = {
  open_requests: "This gateway has as many requests under way as it can carry.",
  event_loop: "More requests come than this gateway can serve in time.",
  memory: "This gateway is short of memory.",
};

function overloaded(reason: OverloadReason): OwnError {
  return { code: "overloaded", message: words[reason], retryAfterMs: retryAfterMs[reason] };
}
