import type pg from "pg";
import { clientConfig, PostgresClient } from "./postgres-client.ts";

export interface ListenOptions {
  readonly url: string;
  readonly channel: string;
  readonly onNews: () => void;
}

const firstRestMs = 100;
const longestRestMs = 5000;

/** Listens until it is closed, over a connection of its own; one that broke is made anew, with growing rests. */
export function listenFor(options: ListenOptions): { close(): Promise<void> } {
  const listener = new Listener(options);
  listener.start();
  return listener;
}

class Listener {
  readonly #options: ListenOptions;
  #client: pg.Client | undefined;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: ListenOptions) {
    this.#options = options;
  }

  start(): void {
    void this.#connect();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#end(this.#client);
  }

  async #connect(): Promise<void> {
    const { url, channel, onNews } = this.#options;
    let client: pg.Client | undefined;
    let isOver = false;
    const again = (): void => {
      if (isOver) return;
      isOver = true;
      void this.#end(client);
      this.#later();
    };
    try {
      // Reads the certificates that the address names, which may be gone by now.
      client = new PostgresClient(clientConfig(url));
      this.#client = client;
      client.on("error", again);
      client.on("end", again);
      client.on("notification", onNews);
      await client.connect();
      await client.query(`listen ${client.escapeIdentifier(channel)}`);
      this.#failures = 0;
      onNews();
    } catch {
      // Why there is no connection is told by whoever reads or writes; here it is only tried again.
      again();
    }
  }

  #later(): void {
    if (this.#isClosed) return;
    const restMs = Math.min(firstRestMs * 2 ** this.#failures, longestRestMs);
    this.#failures += 1;
    this.#timer = setTimeout(() => void this.#connect(), restMs).unref();
  }

  async #end(client: pg.Client | undefined): Promise<void> {
    try {
      await client?.end();
    } catch {
      // It is gone already.
    }
  }
}
