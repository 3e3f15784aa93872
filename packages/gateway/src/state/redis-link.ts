import type { Cluster, Redis, RedisOptions } from "ioredis";
import { poolScript } from "./pool-script.ts";
import type { RedisAddress } from "./redis-url.ts";

type Client = (Redis | Cluster) & {
  /** The script, by its hash; loaded again where the server has forgotten it. */
  keywheelPool(keyCount: number, ...parts: (string | number)[]): Promise<unknown>;
};

interface Library {
  readonly Cluster: typeof Cluster;
  readonly Redis: typeof Redis;
}

export interface RedisLinkOptions {
  readonly address: RedisAddress;
  /** Pub/sub knows no databases: messages about unknown pools are left alone. */
  readonly channel: string;
  /** Called with what others did, in the order in which it was done. */
  readonly onPush: (message: string) => void;
  /** Called when a connection was lost. */
  readonly onLost: () => void;
  /** Called with why a connection could not be made; the words of the client library. */
  readonly onError: (message: string) => void;
}

const reconnectMs = 200;
const connectMs = 2_000;
/** A connection on which nothing has come for so long after a question is made anew. */
const silentMs = 5_000;

/** Two connections: one to ask on, one that is told. They come back by themselves. */
export class RedisLink {
  readonly #asking: Client;
  readonly #listening: Redis | Cluster;
  readonly #channel: string;
  #isSubscribed = false;

  private constructor(asking: Client, listening: Redis | Cluster, options: RedisLinkOptions) {
    this.#asking = asking;
    this.#listening = listening;
    this.#channel = options.channel;
    listening.on("message", (_channel: string, message: string) => options.onPush(message));
    for (const client of [asking, listening]) {
      client.on("error", (error: Error) => options.onError(error.message));
      client.on("close", () => {
        if (client === listening) this.#isSubscribed = false;
        options.onLost();
      });
    }
    listening.on("ready", () => void this.#subscribe());
  }

  /** Loads the client library and begins to connect; never waits for the server. */
  static async open(options: RedisLinkOptions): Promise<RedisLink> {
    const { Cluster, Redis } = await import("ioredis");
    const library = { Cluster, Redis };
    const make = (): Redis | Cluster => makeClient(library, options.address);
    const asking = make();
    asking.defineCommand("keywheelPool", { lua: poolScript });
    return new RedisLink(asking as Client, make(), options);
  }

  /** Whether both connections are up, and what others do is heard. */
  get isReady(): boolean {
    return this.#asking.status === "ready" && this.#isSubscribed;
  }

  async run(keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return this.#asking.keywheelPool(keys.length, ...keys, ...args);
  }

  /** Fields of a hash, without the script. */
  async read(key: string, fields: readonly string[]): Promise<(string | null)[]> {
    return this.#asking.hmget(key, ...fields);
  }

  async remove(keys: readonly string[]): Promise<void> {
    await this.#asking.del(...keys);
  }

  /** Settles when the server has answered on both connections. */
  async ping(): Promise<void> {
    await Promise.all([this.#asking.ping(), this.#listening.ping()]);
  }

  close(): void {
    this.#asking.disconnect();
    this.#listening.disconnect();
  }

  async #subscribe(): Promise<void> {
    try {
      await this.#listening.subscribe(this.#channel);
      this.#isSubscribed = true;
    } catch {
      // The connection broke again: the next one subscribes.
    }
  }
}

function makeClient(library: Library, address: RedisAddress): Redis | Cluster {
  const { username, password, tls, kind, hosts, db, master } = address;
  const redisOptions = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: {} } : {}),
    connectTimeout: connectMs,
    socketTimeout: silentMs,
    enableOfflineQueue: false,
    // A decision that was under way is not asked for again: it may have been made.
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => reconnectMs,
  } satisfies RedisOptions;
  if (kind === "cluster") {
    return new library.Cluster([...hosts], {
      redisOptions,
      enableOfflineQueue: false,
      clusterRetryStrategy: () => reconnectMs,
      slotsRefreshTimeout: connectMs,
    });
  }
  if (kind === "sentinel")
    return new library.Redis({
      ...redisOptions,
      db,
      sentinels: [...hosts],
      name: master ?? "",
      sentinelRetryStrategy: () => reconnectMs,
      ...(tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
    });
  const [first = { host: "127.0.0.1", port: 6379 }] = hosts;
  return new library.Redis({ ...redisOptions, ...first, db });
}
