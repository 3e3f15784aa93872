import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Cut, CutOff, Isolation } from "./cut-off.ts";

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/**
 * Passes TCP connections on to a port of loopback, until it is cut.
 *
 * Cut silently it goes on to take connections, and passes no byte in either direction; cut as unreachable it resets those that
 * there are and takes no more.
 */
export class Relay implements AsyncDisposable {
  readonly #target: number;
  readonly #pairs = new Set<Pair>();
  #server: Server | undefined;
  #port = 0;
  #isSilent = false;

  private constructor(target: number) {
    this.#target = target;
  }

  static async to(target: number): Promise<Relay> {
    const relay = new Relay(target);
    await relay.#listen();
    return relay;
  }

  get port(): number {
    return this.#port;
  }

  async cut(how: Cut): Promise<void> {
    if (how === "silent") {
      this.#isSilent = true;
      for (const pair of this.#pairs) halt(pair);
      return;
    }
    const closed = this.#server === undefined ? undefined : once(this.#server, "close");
    this.#server?.close();
    this.#server = undefined;
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
    await closed;
  }

  async heal(): Promise<void> {
    this.#isSilent = false;
    for (const pair of this.#pairs) join(pair);
    if (this.#server === undefined) await this.#listen();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cut("unreachable");
  }

  async #listen(): Promise<void> {
    const server = createServer((client) => this.#take(client));
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#server = server;
    const address = server.address();
    if (typeof address === "object" && address !== null) this.#port = address.port;
  }

  #take(client: Socket): void {
    const pair = { client, server: connect(this.#target, "127.0.0.1") };
    this.#pairs.add(pair);
    for (const [one, other] of [
      [client, pair.server],
      [pair.server, client],
    ] as const) {
      one.setNoDelay(true);
      // A reset on one side is one on the other.
      one.on("error", () => other.resetAndDestroy());
      one.on("close", () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
    }
    if (this.#isSilent) halt(pair);
    else join(pair);
  }
}

function join({ client, server }: Pair): void {
  client.pipe(server);
  server.pipe(client);
}

function halt({ client, server }: Pair): void {
  for (const socket of [client, server]) socket.unpipe().pause();
}

/** Isolation by a relay on each way: where namespaces of the network are not to be had. */
export function isolateByRelays(): Isolation {
  const relays: Relay[] = [];
  return {
    way: "relays on loopback",
    prefix: [],
    host: "127.0.0.1",
    outside: "127.0.0.1",
    async addWay(): Promise<CutOff> {
      let relay: Relay | undefined;
      return {
        listenOn: [],
        lets: [],
        async leadTo(port) {
          relay = await Relay.to(port);
          relays.push(relay);
          return { host: "127.0.0.1", port: relay.port };
        },
        cut: async (how) => relay?.cut(how),
        heal: async () => relay?.heal(),
      };
    },
    async [Symbol.asyncDispose]() {
      for (const relay of relays) await relay[Symbol.asyncDispose]();
    },
  };
}
