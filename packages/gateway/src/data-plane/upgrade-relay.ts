import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";

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
  /** What the client is told first. */
  readonly greeting: Buffer;
}

/** After one side has ended, how long the other may be silent until the connection is taken for dead. */
const lingerMs = 10_000;

/**
 * Passes bytes between two connections as they come, no faster than each side reads, until both have ended.
 *
 * Silence is not limited: a realtime connection may wait for hours for somebody to speak. One side's end is passed on as
 * an end, so that the other can finish what it says; one side's breaking off breaks the other off.
 *
 * @returns settles when both connections are closed; never rejects
 */
export function relay({ client, provider, early, greeting }: RelayEnds, lingersMs: number = lingerMs): Promise<RelayReport> {
  return new Promise((resolve) => {
    const fromClient = new Side(client, early);
    const fromProvider = new Side(provider, [greeting]);
    let ending: RelayReport["ending"] = "completed";
    let open = 2;
    let linger: NodeJS.Timeout | undefined;
    const stir = (): void => void linger?.refresh();
    const onEnd = (): void => {
      linger ??= setTimeout(() => {
        client.destroy();
        provider.destroy();
      }, lingersMs);
    };
    const onClose = (side: Side, other: Side, broken: RelayReport["ending"]): void => {
      if (--open === 0) {
        clearTimeout(linger);
        resolve({ ending, clientBytes: fromClient.bytes, providerBytes: fromProvider.bytes });
      } else if (!side.hasEnded) {
        ending = broken;
        breakOff(other.socket);
      }
    };
    // Both are told first what they are to read first; only then is either read.
    fromClient.begin(fromProvider, { stir, onEnd, onClose: () => onClose(fromClient, fromProvider, "gone") });
    fromProvider.begin(fromClient, { stir, onEnd, onClose: () => onClose(fromProvider, fromClient, "truncated") });
    client.resume();
    provider.resume();
  });
}

/** One of the two connections, and what came from it. */
class Side {
  bytes = 0;
  hasEnded = false;
  readonly socket: Duplex;
  readonly #first: readonly Buffer[];

  constructor(socket: Duplex, first: readonly Buffer[]) {
    this.socket = socket;
    this.#first = first;
  }

  begin(to: Side, { stir, onEnd, onClose }: Readonly<Record<"stir" | "onEnd" | "onClose", () => void>>): void {
    const { socket } = this;
    if (socket instanceof Socket) socket.setNoDelay(true);
    // A connection that ended itself with the other's end would cut off what is still to be said.
    socket.allowHalfOpen = true;
    for (const chunk of this.#first) this.#pass(chunk, to);
    socket.on("data", (chunk: Buffer) => {
      stir();
      this.#pass(chunk, to);
    });
    to.socket.on("drain", () => {
      stir();
      socket.resume();
    });
    socket.on("end", () => {
      this.hasEnded = true;
      to.socket.end();
      onEnd();
    });
    // `close` comes behind it and tells what matters.
    socket.on("error", () => {});
    if (socket.destroyed) process.nextTick(onClose);
    else socket.once("close", onClose);
  }

  #pass(chunk: Buffer, to: Side): void {
    this.bytes += chunk.length;
    if (!to.socket.write(chunk)) this.socket.pause();
  }
}

/** Ends a connection so that its other end sees it as cut, where that can be said (TLS has no reset of its own). */
function breakOff(socket: Duplex): void {
  if (socket instanceof Socket && !(socket instanceof TLSSocket) && !socket.destroyed) socket.resetAndDestroy();
  else socket.destroy();
}
