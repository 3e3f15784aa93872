import pg from "pg";
import { clientConfig, pipeliningClient } from "./postgres-client.ts";

/** How long an answer may take, ms, where people search through what was kept. */
const searchMs = 30_000;
/** An attempt that failed only after so long, ms, is not made again by the next one who asks within as long. */
const slowMs = 1000;

type Client = pg.PoolClient;

interface Waiter {
  readonly resolve: (client: Client) => void;
  readonly reject: (reason: unknown) => void;
}

/** What kysely asks of a pool. */
export interface ConnectionPool {
  readonly Client: typeof pg.Client;
  readonly options: object;
  connect(): Promise<Client>;
  end(): Promise<void>;
}

/** A few connections to a database, made when they are needed and anew when they broke. */
export function createPool(url: string, purpose: "write" | "search"): ConnectionPool {
  const config = clientConfig(url);
  const [max, clients] = purpose === "write" ? [1, config] : [2, { ...config, query_timeout: searchMs }];
  return new FailingTogether(new pg.Pool({ max, idleTimeoutMillis: 60_000, Client: pipeliningClient(clients) }), max);
}

/**
 * A pool in which those who wait fail with the first attempt that fails. The pool of node-postgres lets each of them make an
 * attempt of its own, one after the other: with a server that takes connections and answers nothing, the last one would
 * wait for minutes.
 */
class FailingTogether implements ConnectionPool {
  readonly #pool: pg.Pool;
  #free: number;
  #waiting: Waiter[] = [];
  #failure: { readonly reason: unknown; readonly until: number } | undefined;

  constructor(pool: pg.Pool, max: number) {
    this.#pool = pool;
    this.#free = max;
    // A connection that broke while nobody used it: whoever needs one next gets a new one, or hears why there is none.
    pool.on("error", () => {});
  }

  get Client(): typeof pg.Client {
    return pg.Client;
  }

  get options(): object {
    return this.#pool.options;
  }

  async connect(): Promise<Client> {
    if (this.#failure !== undefined && performance.now() < this.#failure.until) throw this.#failure.reason;
    return await new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#next();
    });
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  #next(): void {
    if (this.#free === 0) return;
    const waiter = this.#waiting.shift();
    if (waiter === undefined) return;
    this.#free -= 1;
    void this.#attempt(waiter);
  }

  async #attempt(waiter: Waiter): Promise<void> {
    const begunAt = performance.now();
    try {
      const client = await this.#pool.connect();
      this.#failure = undefined;
      const release = client.release.bind(client);
      client.release = (error) => {
        release(error);
        this.#giveBack();
      };
      waiter.resolve(client);
    } catch (reason) {
      const now = performance.now();
      if (now - begunAt > slowMs) this.#failure = { reason, until: now + slowMs };
      for (const { reject } of [waiter, ...this.#waiting.splice(0)]) reject(reason);
      this.#giveBack();
    }
  }

  #giveBack(): void {
    this.#free += 1;
    this.#next();
  }
}
