import type { Socket } from "node:net";
import { Connection, type ConnectionOwner, type Exchange } from "./connection.ts";
import type { Connector } from "./connector.ts";
import { Http1Error } from "./http1-error.ts";

/** An exchange that looks for a connection. */
export interface Waiting extends Exchange {
  /** Whether it is no longer wanted. */
  readonly isOver: boolean;
  /** It has got one, and begins on it as soon as this returns. */
  onConnection(connection: Connection): void;
}

export interface PoolOptions {
  readonly connect: Connector;
  readonly monotonic: () => number;
  /** How long an idle connection is kept where the provider does not say, ms. */
  readonly keepAliveMs: number;
  /** The same where it does, at the most, ms. */
  readonly maxKeepAliveMs: number;
}

/** As many idle ones as are worth keeping; of those that are used there is no bound, or streams would wait for each other. */
const maxIdle = 1_024;
/** By so much we let go of a connection before the provider does, ms. */
const beforeProviderMs = 2_000;

/** The connections to one origin: those that are idle are used again, the last one first, so that the others may go. */
export class ConnectionPool implements ConnectionOwner {
  readonly #options: PoolOptions;
  readonly #idle: Connection[] = [];
  readonly #all = new Set<Connection>();
  /** What waits for a connection that is being made, and how that is given up. */
  readonly #connecting = new Map<Waiting, () => void>();
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#all.size === 0 && this.#connecting.size === 0;
  }

  run(exchange: Waiting): void {
    if (this.#isClosed) {
      exchange.onFailure(closed());
      return;
    }
    const idle = this.#takeIdle();
    if (idle === undefined) this.#connect(exchange);
    else setImmediate(beginOn, this, idle, exchange);
  }

  onFree(connection: Connection, keepAliveMs = Number.POSITIVE_INFINITY): void {
    const { maxKeepAliveMs } = this.#options;
    const told = keepAliveMs - beforeProviderMs;
    const keptMs = Number.isFinite(told) ? Math.min(told, maxKeepAliveMs) : this.#options.keepAliveMs;
    if (keptMs <= 0 || this.#idle.length >= maxIdle) {
      connection.end(new Http1Error("HTTP1_ABORTED", "Idle connections are kept for a while only."));
      return;
    }
    connection.idleUntil = this.#options.monotonic() + keptMs;
    connection.hold(false);
    this.#idle.push(connection);
  }

  onGone(connection: Connection): void {
    this.#all.delete(connection);
    const at = this.#idle.lastIndexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
  }

  /** Lets go of what was idle for long enough. */
  sweep(): void {
    const now = this.#options.monotonic();
    const outdated = this.#idle.filter(({ idleUntil }) => idleUntil <= now);
    for (const connection of outdated) connection.end(new Http1Error("HTTP1_ABORTED", "It was idle for too long."));
  }

  /** It waits no longer for a connection to be made. */
  giveUp(exchange: Waiting): void {
    this.#connecting.get(exchange)?.();
    this.#connecting.delete(exchange);
  }

  /** Ends everything at once. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#all) connection.end(closed());
    for (const exchange of this.#connecting.keys()) {
      this.giveUp(exchange);
      exchange.onFailure(closed());
    }
  }

  /**
   * Begins on a connection that was idle, one turn of the event loop after it was chosen: by then it is known whether the
   * provider has closed it, or has said something on it that would be taken for the answer.
   */
  beginOn(connection: Connection, exchange: Waiting): void {
    if (connection.isGone) {
      if (!exchange.isOver) this.run(exchange);
    } else if (exchange.isOver) {
      this.#idle.push(connection);
    } else {
      this.#begin(connection, exchange);
    }
  }

  #begin(connection: Connection, exchange: Waiting): void {
    connection.hold(true);
    exchange.onConnection(connection);
    connection.start(exchange);
  }

  #takeIdle(): Connection | undefined {
    const now = this.#options.monotonic();
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined || connection.idleUntil > now) return connection;
      connection.end(new Http1Error("HTTP1_ABORTED", "It was idle for too long."));
    }
  }

  #connect(exchange: Waiting): void {
    const giveUp = this.#options.connect((error, socket) => {
      this.#connecting.delete(exchange);
      if (error === null) this.#onConnected(socket, exchange);
      else exchange.onFailure(error);
    });
    this.#connecting.set(exchange, giveUp);
  }

  #onConnected(socket: Socket, exchange: Waiting): void {
    const connection = new Connection(socket, this);
    this.#all.add(connection);
    this.#begin(connection, exchange);
  }
}

function beginOn(pool: ConnectionPool, connection: Connection, exchange: Waiting): void {
  pool.beginOn(connection, exchange);
}

function closed(): Http1Error {
  return new Http1Error("HTTP1_ABORTED", "The gateway lets go of its connections.");
}
