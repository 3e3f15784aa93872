const defaultMs = 300_000;

/** Ends what has been stuck for too long. */
export class StallTimer {
  readonly #end: () => void;
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;

  /** @param ms default 5 min */
  constructor(end: () => void, ms = defaultMs) {
    this.#end = end;
    this.#ms = ms;
  }

  /** It is stuck from now on, or has been. */
  start(): void {
    this.#timer ??= setTimeout(this.#end, this.#ms).unref();
  }

  /** It goes on. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
