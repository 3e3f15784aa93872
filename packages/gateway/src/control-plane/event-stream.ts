import { toTime } from "../contract/wire.ts";
import type { EventHub, NumberedEvent, Subscription } from "./event-hub.ts";

export interface EventStreamOptions {
  readonly lastEventId: string | undefined;
  readonly signal: AbortSignal;
  /** Asked whenever somebody was signed out, and at every sign of life: who may not listen any more hears no more. */
  readonly isStillAllowed: () => boolean;
  /** Default 15 s. */
  readonly keepAliveMs?: number;
  /** Events that may wait for a slow reader before it is cut off; default 1,000. */
  readonly queueLimit?: number;
  /** Ends the connection of a reader that is too slow to be told the end of the stream. */
  readonly cutOff?: () => void;
}

/** The events as a stream of server-sent events (HTML standard §9.2). */
export function eventStream(hub: EventHub, options: EventStreamOptions): ReadableStream<Uint8Array> {
  const { lastEventId, signal, isStillAllowed, keepAliveMs = 15_000, queueLimit = 1_000 } = options;
  const encoder = new TextEncoder();
  let subscription: Subscription | undefined;
  let timer: NodeJS.Timeout | undefined;
  const leave = (): void => {
    clearInterval(timer);
    subscription?.end();
  };

  const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const close = (): void => {
      leave();
      controller.close();
    };
    const send = (text: string): void => {
      controller.enqueue(encoder.encode(text));
      if (controller.desiredSize !== null && controller.desiredSize > 0) return;
      // No error: the server would write it to the console, and there is nothing wrong with the gateway.
      close();
      options.cutOff?.();
    };
    // What was missed may be as much as the ring holds; it comes on top of what may wait.
    subscription = hub.subscribe(lastEventId, {
      told: (event) => send(toFrame(event)),
      close,
      recheck: () => void (isStillAllowed() || close()),
    });
    const greeting = subscription.hasGap ? "retry: 2000\nevent: resync\ndata: {}\n\n" : "retry: 2000\n: hello\n\n";
    controller.enqueue(encoder.encode(greeting + subscription.missed.map(toFrame).join("")));
    timer = setInterval(() => (isStillAllowed() ? send(": still here\n\n") : close()), keepAliveMs).unref();
    signal.addEventListener("abort", leave, { once: true });
  };

  return new ReadableStream({ start, cancel: leave }, { highWaterMark: queueLimit });
}

function toFrame(numbered: NumberedEvent): string {
  return `id: ${numbered.id}\nevent: ${numbered.event.type}\ndata: ${JSON.stringify(eventToWire(numbered))}\n\n`;
}

/** An event as it is sent: snake_case, instants as RFC 3339. */
export function eventToWire({ id, at, event }: NumberedEvent): Readonly<Record<string, unknown>> {
  return { id, at: toTime(at), ...(toWire(event) as Record<string, unknown>) };
}

function toWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toWire);
  if (typeof value !== "object" || value === null) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [toWireName(name), toWireValue(name, part)]));
}

function toWireValue(name: string, value: unknown): unknown {
  const isInstant = typeof value === "number" && /^(at|until)$|At$|Until$/.test(name);
  if (isInstant) return toTime(value);
  // A large import is told in a few words: whoever shows keys loads them anew.
  return name === "keyIds" && Array.isArray(value) ? value.slice(0, mostKeyIds) : toWire(value);
}

const mostKeyIds = 100;

function toWireName(name: string): string {
  if (name === "poolId") return "provider_id";
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
