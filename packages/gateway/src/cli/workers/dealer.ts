import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { listen, type ServerOptions, urlOf } from "../serve/server.ts";

/** Whoever can serve a connection. */
export interface Taker {
  /** Connections that it serves. */
  readonly connections: number;
  /** Whether nothing has been heard of it for a while: it gets one only if all are so. */
  readonly isSilent: boolean;
  hand(id: number, socket: Socket): void;
}

/** How long a connection may be on its way when everything stops. */
const arrivalMs = 1_000;
/** Beyond it connections that nobody can take are refused. */
const mostWaiting = 1_024;

/**
 * Accepts connections and deals them out: each to the one that serves the fewest, in turn among equals.
 *
 * A connection is held here until it has arrived: if its taker dies before, another one gets it. Node's own `cluster` would
 * leave its client waiting for ever.
 */
export class Dealer {
  readonly #server: Server;
  /** In turn: whoever was dealt to last comes last. */
  readonly #takers = new Set<Taker>();
  readonly #onTheWay = new Map<number, { readonly socket: Socket; readonly taker: Taker }>();
  #waiting: Socket[] = [];
  #lastId = 0;
  #isClosed = false;
  url = "";

  constructor() {
    // Not a byte is read here: it belongs to whoever serves it.
    this.#server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => {
      socket.on("error", () => socket.destroy());
      this.#deal(socket);
    });
  }

  /** @throws CommandError (1) if the address cannot be had */
  async listen(options: ServerOptions): Promise<void> {
    this.url = urlOf(options.host, await listen(this.#server, options));
  }

  add(taker: Taker): void {
    this.#takers.add(taker);
    for (const socket of this.#waiting.splice(0)) this.#deal(socket);
  }

  /** It takes no more; what has not arrived there goes to others. */
  remove(taker: Taker): void {
    this.#takers.delete(taker);
    for (const [id, { socket, taker: former }] of this.#onTheWay) {
      if (former !== taker) continue;
      this.#onTheWay.delete(id);
      this.#deal(socket);
    }
  }

  arrived(id: number): void {
    this.#onTheWay.get(id)?.socket.destroy();
    this.#onTheWay.delete(id);
  }

  /** Accepts nothing more. Settles when what was accepted has arrived, or nobody is there to take it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const socket of this.#waiting.splice(0)) socket.destroy();
    // Its callback is not waited for: it never comes once a process has ended that a connection was sent to.
    this.#server.close();
    const till = performance.now() + arrivalMs;
    while (this.#onTheWay.size > 0 && performance.now() < till) await pause(5);
    for (const { socket } of this.#onTheWay.values()) socket.destroy();
    this.#onTheWay.clear();
  }

  #deal(socket: Socket): void {
    const taker = this.#next();
    if (taker === undefined) {
      if (this.#isClosed || this.#waiting.length >= mostWaiting) socket.destroy();
      else this.#waiting.push(socket);
      return;
    }
    this.#takers.delete(taker);
    this.#takers.add(taker);
    const id = ++this.#lastId;
    this.#onTheWay.set(id, { socket, taker });
    taker.hand(id, socket);
  }

  #next(): Taker | undefined {
    let best: Taker | undefined;
    for (const taker of this.#takers) if (best === undefined || isBetter(taker, best)) best = taker;
    return best;
  }
}

function isBetter(one: Taker, other: Taker): boolean {
  if (one.isSilent !== other.isSilent) return other.isSilent;
  return one.connections < other.connections;
}
