import type { Cluster, Redis, RedisOptions } from "ioredis";
import { fixedKeys, poolScript } from "./pool-script.ts";
import type { RedisAddress } from "./redis-url.ts";
import type { LinkListener, Sight, StateCall, StateLink } from "./state-link.ts";
import { type Answer, readPush } from "./wire.ts";

type Client = (Redis | Cluster) & {
  /** The script, by its hash; loaded again where the server has forgotten it. */
  keywheelPool(keyCount: number, ...parts: (string | number)[]): Promise<unknown>;
};

interface Library {
  readonly Cluster: typeof Cluster;
  readonly Redis: typeof Redis;
}

export interface RedisLinkOptions extends LinkListener {
  readonly address: RedisAddress;
  /** Begins every key and names the channel. */
  readonly namespace: string;
}

const reconnectMs = 200;
const connectMs = 2_000;
/** A connection on which nothing has come for so long after a question is made anew. */
const silentMs = 5_000;

/** Two connections: one to ask on, one that is told. They come back by themselves. */
export class RedisLink implements StateLink {
  readonly #asking: Client;
  readonly #listening: Redis | Cluster;
  readonly #namespace: string;
  #isSubscribed = false;

  private constructor(asking: Client, listening: Redis | Cluster, options: RedisLinkOptions) {
    this.#asking = asking;
    this.#listening = listening;
    this.#namespace = options.namespace;
    // Pub/sub knows no databases, and others may speak on the channel.
    listening.on("message", (_channel: string, message: string) => {
      const push = readPush(message);
      if (push !== undefined) options.onPush(push);
    });
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

  async run({ poolId, decision, now, origin, body, names, shape }: StateCall): Promise<Answer> {
    const keys = this.#keysOf(poolId, names);
    const args = [decision, now, this.#channel, poolId, origin, JSON.stringify(body ?? {})];
    if (shape !== undefined) args.push(shape.signature, shape.born);
    const text = await this.#asking.keywheelPool(keys.length, ...keys, ...args);
    return JSON.parse(String(text)) as Answer;
  }

  /** Read past the script. */
  async look(poolId: string): Promise<Sight> {
    const [key = ""] = this.#keysOf(poolId, []);
    const [version, born] = await this.#asking.hmget(key, "v", "born");
    return { version: Number(version ?? 0), born: born ?? undefined };
  }

  async remove(poolId: string): Promise<void> {
    await this.#asking.del(...this.#keysOf(poolId, []));
  }

  /** Settles when the server has answered on both connections. */
  async ping(): Promise<void> {
    await Promise.all([this.#asking.ping(), this.#listening.ping()]);
  }

  close(): void {
    this.#asking.disconnect();
    this.#listening.disconnect();
  }

  get #channel(): string {
    return `${this.#namespace}:push`;
  }

  /** All keys of a pool are in one hash slot. */
  #keysOf(id: string, names: readonly string[]): string[] {
    const prefix = `${this.#namespace}:{${id}}:`;
    return [...fixedKeys.map((name) => prefix + name), ...names.map((name) => prefix + name)];
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
