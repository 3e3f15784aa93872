import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { StallTimer } from "./stall-timer.ts";

/** What was seen of a relayed connection. */
export interface RelayReport {
  /** `gone`: the client broke off; `truncated`: the provider did. */
  readonly ending: "completed" | "gone" | "truncated";
  readonly clientBytes: number;
  readonly providerBytes: number;
}

export interface RelayEnds {
  readonly client: Duplex;
  readonly provider: Duplex;
  /** What the client sent before the provider was there. */
  readonly early: readonly Buffer[];
  /** After one side has ended, how long the other may be silent until it is taken for dead; default 10 s. */
  readonly lingerMs?: number;
  /** How long a side may take to read what it was given, ms; default 5 min. */
  readonly unreadMs?: number | undefined;
}

/**
 * Passes bytes between two connections as they come, no faster than each side reads, until both have ended.
 *
 * Silence is not limited: a realtime connection may wait for hours for somebody to speak. A side that does not read what is
 * said to it is broken off. One side's end is passed on as
 * an end, so that the other can finish what it says; one side's breaking off breaks the other off.
 *
 * @returns settles when both connections are closed; never rejects
 */
export function relay({ client, provider, early, lingerMs = 10_000, unreadMs }: RelayEnds): Promise<RelayReport> {
  return new Promise((resolve) => {
    const fromClient = new Side(client, early);
    const fromProvider = new Side(provider, []);
    let ending: RelayReport["ending"] = "completed";
    let isHalfClosed = false;
    let linger: NodeJS.Timeout | undefined;
    const watch = (side: Side, other: Side, broken: RelayReport["ending"]): Watcher => ({
      stirred: () => void linger?.refresh(),
      ended: () => {
        other.socket.end();
        linger ??= setTimeout(() => {
          side.socket.destroy();
          other.socket.destroy();
        }, lingerMs);
      },
      closed: () => {
        if (isHalfClosed) {
          clearTimeout(linger);
          resolve({ ending, clientBytes: fromClient.bytes, providerBytes: fromProvider.bytes });
          return;
        }
        isHalfClosed = true;
        // Having ended itself, it may still have been listening.
        if (side.hasEnded && other.hasEnded) return;
        if (!side.hasEnded) ending = broken;
        breakOff(other.socket);
      },
    });
    fromClient.pipe(provider, watch(fromClient, fromProvider, "gone"), unreadMs);
    fromProvider.pipe(client, watch(fromProvider, fromClient, "truncated"), unreadMs);
  });
}

/** Called back by a side. */
interface Watcher {
  /** Bytes moved. */
  stirred(): void;
  /** It says nothing more. */
  ended(): void;
  /** It neither says nor hears anything more. */
  closed(): void;
}

/** One of the two connections, and what came from it. */
class Side {
  bytes = 0;
  hasEnded = false;
  readonly socket: Duplex;
  readonly #early: readonly Buffer[];

  constructor(socket: Duplex, early: readonly Buffer[]) {
    this.socket = socket;
    this.#early = early;
  }

  pipe(to: Duplex, watcher: Watcher, unreadMs: number | undefined): void {
    const { socket } = this;
    const unread = new StallTimer(() => to.destroy(), unreadMs);
    if (socket instanceof Socket) socket.setNoDelay(true);
    // A connection that ended by itself with the other's end would cut off what is still to be said.
    socket.allowHalfOpen = true;
    for (const chunk of this.#early) this.#pass(chunk, to);
    socket.on("data", (chunk: Buffer) => {
      watcher.stirred();
      if (this.#pass(chunk, to)) return;
      unread.start();
      socket.pause();
    });
    to.once("close", () => unread.stop());
    to.on("drain", () => {
      unread.stop();
      watcher.stirred();
      socket.resume();
    });
    socket.on("end", () => {
      this.hasEnded = true;
      watcher.ended();
    });
    // `close` comes behind it and tells what matters.
    socket.on("error", () => {});
    if (socket.destroyed) process.nextTick(() => watcher.closed());
    else socket.once("close", () => watcher.closed());
    socket.resume();
  }

  #pass(chunk: Buffer, to: Duplex): boolean {
    this.bytes += chunk.length;
    return to.write(chunk);
  }
}

/** Ends a connection so that its other end sees it as cut, where that can be said (TLS has no reset of its own). */
function breakOff(socket: Duplex): void {
  if (socket instanceof Socket && !(socket instanceof TLSSocket) && !socket.destroyed) socket.resetAndDestroy();
  else socket.destroy();
}
