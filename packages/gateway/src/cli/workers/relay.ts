import type { PoolEvent } from "@keywheel/pool";
import type { RequestRecord } from "../../data-plane/request-record.ts";
import type { Doings } from "./subjects.ts";

/** Waits for others to come along; a page that shows what happens is told no later than that. */
const holdBackMs = 5;
/** The primary process has not taken anything for a long while: beyond it the oldest are let go. */
const mostWaiting = 50_000;

export interface RelayDeps {
  /** Settles when the primary process has taken it. */
  readonly send: (doings: Doings) => Promise<unknown>;
  /** When tokens were used since the last call. */
  readonly takeUses: () => Doings["tokenUses"];
  /** Told how many records were let go of. */
  readonly onLost: (count: number) => void;
}

/** What a worker tells of what it does, many at once, one batch after the other. */
export class Relay {
  readonly #deps: RelayDeps;
  #events: PoolEvent[] = [];
  #requests: RequestRecord[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;

  constructor(deps: RelayDeps) {
    this.#deps = deps;
  }

  /** Runs on the request path, and never throws. */
  event(event: PoolEvent): void {
    this.#events.push(event);
    this.#becomeDue();
  }

  /** Runs on the request path, and never throws. */
  request(record: RequestRecord): void {
    this.#requests.push(record);
    this.#becomeDue();
  }

  /** Settles when all that there was is taken. */
  async flush(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
    this.#sending = this.#send();
    try {
      await this.#sending;
    } finally {
      this.#sending = undefined;
    }
    if (this.#events.length + this.#requests.length > 0) this.#becomeDue();
  }

  async #send(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const doings = { events: this.#events, requests: this.#requests, tokenUses: this.#deps.takeUses() };
    this.#events = [];
    this.#requests = [];
    try {
      if (doings.events.length + doings.requests.length + doings.tokenUses.length > 0) await this.#deps.send(doings);
    } catch {
      // The primary process has ended, and so does this one; or it could not make anything of them.
      this.#deps.onLost(doings.events.length + doings.requests.length);
    }
  }

  #becomeDue(): void {
    this.#letGo(this.#events);
    this.#letGo(this.#requests);
    if (this.#sending === undefined) this.#timer ??= setTimeout(() => void this.flush(), holdBackMs);
  }

  #letGo(waiting: unknown[]): void {
    if (waiting.length <= mostWaiting) return;
    // Many at once: taking one out of so long a list with each new one would be dear.
    const count = mostWaiting / 10;
    waiting.splice(0, count);
    this.#deps.onLost(count);
  }
}
