import type { Event as GatewayEvent } from "../api/openapi.ts";

export type { GatewayEvent };
export type LiveState = "connecting" | "live" | "lost";

/** All types there are: a named event reaches only those who ask for its name. */
export const eventTypes = Object.keys({
  "key-cooled": true,
  "key-disabled": true,
  "key-recovered": true,
  "binding-moved": true,
  "pool-exhausted": true,
  "attempt-ended": true,
  "request-finished": true,
  notice: true,
  "provider-created": true,
  "provider-changed": true,
  "provider-deleted": true,
  "key-created": true,
  "key-changed": true,
  "key-deleted": true,
  "key-order-changed": true,
  "token-created": true,
  "token-changed": true,
  "token-deleted": true,
  "session-ended": true,
} satisfies Record<GatewayEvent["type"], true>) as readonly GatewayEvent["type"][];

const reopenAfterMs = 3_000;

/**
 * What happens in the gateway, from `/api/events`. The browser reconnects by itself and says which event it saw last; what
 * was missed comes first. Where it gives up, a new connection is made and everything shown is out of date.
 */
export class LiveEvents {
  readonly #listeners = new Set<(event: GatewayEvent) => void>();
  readonly #onResync: () => void;
  #stateListeners = new Set<() => void>();
  #state: LiveState = "connecting";
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param onResync told when events were missed for good */
  constructor(onResync: () => void) {
    this.#onResync = onResync;
  }

  get state(): LiveState {
    return this.#state;
  }

  /** May be called while it runs. */
  start(): void {
    if (this.#source || this.#timer) return;
    this.#open();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#source?.close();
    this.#source = undefined;
    this.#setState("connecting");
  }

  /** @returns ends it */
  subscribe(listener: (event: GatewayEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Bound, as `useSyncExternalStore` wants it. */
  readonly subscribeToState = (listener: () => void): (() => void) => {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  };

  #open(): void {
    const source = new EventSource("/api/events");
    this.#source = source;
    source.addEventListener("open", () => this.#setState("live"));
    // What happened between the loading of the page, or the end of the connection before, and now was told to nobody. When
    // the browser reconnects by itself, it names the event it saw last, and what was missed comes first.
    source.addEventListener("open", this.#onResync, { once: true });
    source.addEventListener("resync", () => this.#onResync());
    for (const type of eventTypes)
      source.addEventListener(type, (message: MessageEvent<string>) => this.#tell(message));
    source.addEventListener("error", () => {
      this.#setState("lost");
      if (source.readyState !== EventSource.CLOSED) return;
      // The browser has given up: the gateway said no, or something between us and it did.
      this.#source = undefined;
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#open();
      }, reopenAfterMs);
      this.#onResync();
    });
  }

  #tell(message: MessageEvent<string>): void {
    const event = JSON.parse(message.data) as GatewayEvent;
    for (const listener of this.#listeners) listener(event);
  }

  #setState(state: LiveState): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#stateListeners) listener();
  }
}
