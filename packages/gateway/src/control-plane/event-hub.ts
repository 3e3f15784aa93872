import type { Clock, PoolEvent } from "@keywheel/pool";
import type { ActivityEvent } from "../activity/events.ts";
import type { CatalogEvent } from "../catalog/events.ts";

export type GatewayEvent = (PoolEvent | CatalogEvent | ActivityEvent) & {
  /** How many of the same type went untold before this one, so that they do not flood those who listen. */
  readonly skipped?: number;
};

/** An event with its place in the row. */
export interface NumberedEvent {
  readonly id: string;
  readonly at: number;
  readonly event: GatewayEvent;
}

export type EventListener = (event: NumberedEvent) => void;

export interface Subscriber {
  readonly told: EventListener;
  /** Nothing is told any more: the server stops. */
  readonly close: () => void;
  /** Somebody may not be allowed to listen any more. */
  readonly recheck?: () => void;
}

export interface Subscription {
  /** What happened since the event that the subscriber saw last. */
  readonly missed: readonly NumberedEvent[];
  /** True if more was missed than is kept, or an event of a former process was named: what is shown must be loaded anew. */
  readonly hasGap: boolean;
  readonly end: () => void;
}

/** Come with every request: pages are told of so many in a second and no more, and nobody looks them up afterwards. */
export const frequentEvents: ReadonlySet<string> = new Set([
  "attempt-ended",
  "request-finished",
  "binding-moved",
  "pool-exhausted",
]);

const defaultCapacity = 1_000;
const recentKept = 200;

/**
 * What happened lately, and who wants to hear what happens next.
 *
 * `publish` runs on the request path: it puts a reference into a ring and calls the listeners, which must be quick.
 */
export class EventHub {
  readonly #clock: Clock;
  readonly #capacity: number;
  /** Of this process, so that ids of a former one are recognised. */
  readonly #run: string;
  readonly #ring: NumberedEvent[] = [];
  /** What a person would want to read later, oldest first; in the ring, requests would drive it out within seconds. */
  #recent: NumberedEvent[] = [];
  readonly #subscribers = new Set<Subscriber>();
  #count = 0;

  constructor({ clock, capacity = defaultCapacity }: { readonly clock: Clock; readonly capacity?: number }) {
    this.#clock = clock;
    this.#capacity = capacity;
    this.#run = clock.now().toString(36);
  }

  /** Bound to its object, so that it can be handed on alone. */
  readonly publish = (event: GatewayEvent): void => {
    const numbered = { id: `${this.#run}-${++this.#count}`, at: this.#clock.now(), event };
    this.#ring[(this.#count - 1) % this.#capacity] = numbered;
    if (isWorthReading(event)) this.#keep(numbered);
    for (const { told } of this.#subscribers) told(numbered);
  };

  /** Newest first, since the gateway was started. What comes with every request is not among them. */
  recent(limit: number): readonly NumberedEvent[] {
    return this.#recent.slice(-limit).reverse();
  }

  /** @param lastEventId the last one that the subscriber saw; undefined for one that starts */
  subscribe(lastEventId: string | undefined, subscriber: Subscriber): Subscription {
    this.#subscribers.add(subscriber);
    const end = (): void => void this.#subscribers.delete(subscriber);
    if (lastEventId === undefined || lastEventId === "") return { missed: [], hasGap: false, end };
    const [run, number] = splitId(lastEventId);
    const oldest = Math.max(1, this.#count - this.#capacity + 1);
    if (run !== this.#run || number > this.#count || number < oldest - 1) return { missed: [], hasGap: true, end };
    return { missed: this.#since(number), hasGap: false, end };
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  /** Ends every subscription, so that a stopping server does not wait for them. */
  close(): void {
    for (const { close } of this.#subscribers) close();
  }

  /** Has every subscriber look whether it may still listen: somebody was signed out. */
  recheck(): void {
    for (const { recheck } of this.#subscribers) recheck?.();
  }

  #keep(numbered: NumberedEvent): void {
    this.#recent.push(numbered);
    if (this.#recent.length >= 2 * recentKept) this.#recent = this.#recent.slice(-recentKept);
  }

  #since(number: number): NumberedEvent[] {
    const events: NumberedEvent[] = [];
    for (let n = number; n < this.#count; n++) {
      const event = this.#ring[n % this.#capacity];
      if (event) events.push(event);
    }
    return events;
  }
}

function isWorthReading(event: GatewayEvent): boolean {
  if (frequentEvents.has(event.type)) return false;
  // A notice is told again for as long as it lasts.
  if (event.type !== "notice" || !("noticeId" in event)) return true;
  return !event.isDismissed && (event.count === 1 || event.resolvedAt !== undefined);
}

function splitId(id: string): [string, number] {
  const match = /^([0-9a-z]{1,12})-(\d{1,15})$/.exec(id);
  return match ? [match[1] ?? "", Number(match[2])] : ["", -1];
}
