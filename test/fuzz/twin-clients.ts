import { Duplex } from "node:stream";
import type { Socket } from "node:net";
import { Pool } from "undici";
import { ConnectionPool, type Waiting } from "../../packages/gateway/src/data-plane/http1/connection-pool.ts";
import { writeHead } from "../../packages/gateway/src/data-plane/http1/request-head.ts";
import type { ResponseHead } from "../../packages/gateway/src/data-plane/http1/response-head.ts";
import type { RawMessage } from "./raw-socket.ts";

/** What a client made of the bytes that came. */
export interface Reading {
  readonly status: number;
  /** Flat, without the spaces around values. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  readonly trailers: readonly string[];
  /** `whole`: to its end; `cut`: begun and not ended; `refused`: there was no answer. */
  readonly end: "whole" | "cut" | "refused" | "upgraded";
  readonly error: string;
}

/** A client on connections that exist in memory only. */
export interface Client {
  /** Asks; the provider answers with these bytes. */
  ask(method: string, answer: RawMessage): Promise<Reading>;
  /** The provider ends the connection on which it spoke last. */
  hangUp(): void;
  readonly connectionsMade: number;
  close(): void;
}

/** A provider with nothing between it and the client. */
class Provider {
  /** What it says to the next request. */
  next: RawMessage | undefined;
  connectionsMade = 0;
  #spoke: Line | undefined;

  connect(done: (socket: Socket) => void): void {
    this.connectionsMade++;
    // It has all that is used of a socket.
    setImmediate(() => done(new Line(this) as unknown as Socket));
  }

  answerOn(line: Line): RawMessage | undefined {
    const answer = this.next;
    this.next = undefined;
    if (answer !== undefined) this.#spoke = line;
    return answer;
  }

  hangUp(): void {
    if (this.#spoke?.destroyed === false) this.#spoke.push(null);
  }
}

/** The provider's end of a connection that is none: it answers each request with what is next. */
class Line extends Duplex {
  readonly #provider: Provider;

  constructor(provider: Provider) {
    super({ allowHalfOpen: false });
    this.#provider = provider;
  }

  override _read(): void {
    // Bytes come when the provider says them.
  }

  override _write(_: unknown, __: unknown, done: () => void): void {
    done();
    const answer = this.#provider.answerOn(this);
    if (answer !== undefined) void this.#say(answer);
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  async #say({ pieces, end }: RawMessage): Promise<void> {
    for (const piece of pieces) {
      await turn();
      if (this.destroyed) return;
      this.push(piece, "latin1");
    }
    await turn();
    if (end !== "wait" && !this.destroyed) this.push(null);
  }
}

export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function refused(error: unknown): Reading {
  return { status: 0, headers: [], body: Buffer.alloc(0), trailers: [], end: "refused", error: String(error) };
}

/** What is heard of an answer, until it ends. */
class Listener {
  readonly settled: Promise<Reading>;
  #settle: (reading: Reading) => void = () => {};
  #status: number | undefined;
  #headers: readonly string[] = [];
  readonly #pieces: Buffer[] = [];

  constructor() {
    this.settled = new Promise((resolve) => (this.#settle = resolve));
  }

  head(status: number, headers: readonly string[]): void {
    this.#status = status;
    this.#headers = headers.map((text) => text.replace(/[\t ]+$/, ""));
  }

  data(chunk: Buffer): void {
    this.#pieces.push(Buffer.from(chunk));
  }

  end(end: "whole" | "upgraded", trailers: readonly string[] = []): void {
    this.#tell(end, "", trailers);
  }

  fail(error: unknown): void {
    if (this.#status === undefined) this.#settle(refused(error));
    else this.#tell("cut", String(error), []);
  }

  #tell(end: Reading["end"], error: string, trailers: readonly string[]): void {
    const trimmed = trailers.map((text) => text.replace(/[\t ]+$/, ""));
    const body = Buffer.concat(this.#pieces);
    this.#settle({ status: this.#status ?? 0, headers: this.#headers, body, trailers: trimmed, end, error });
  }
}

const patienceMs = 600_000;

/** Our own. */
export function ownClient(): Client {
  const provider = new Provider();
  const pool = new ConnectionPool({
    connect: (done) => {
      provider.connect((socket) => done(null, socket));
      return () => {};
    },
    monotonic: () => performance.now(),
    keepAliveMs: patienceMs,
    maxKeepAliveMs: patienceMs,
  });
  return {
    ask: (method, answer) => {
      provider.next = answer;
      const listener = new Listener();
      pool.run(new OwnExchange(method, listener));
      return listener.settled;
    },
    hangUp: () => provider.hangUp(),
    get connectionsMade() {
      return provider.connectionsMade;
    },
    close: () => pool.close(),
  };
}

class OwnExchange implements Waiting {
  readonly head: Waiting["head"];
  readonly body = undefined;
  readonly asked: Waiting["asked"];
  readonly headersMs = patienceMs;
  readonly idleMs = patienceMs;
  isOver = false;
  readonly #listener: Listener;

  constructor(method: string, listener: Listener) {
    const request = { method, target: "/", host: "provider.test", headers: [], body: undefined, upgrade: undefined };
    this.head = writeHead(request);
    this.asked = { method, upgrade: undefined };
    this.#listener = listener;
  }

  onConnection(): void {
    // Nothing is asked of it.
  }

  onHead({ status, rawHeaders }: ResponseHead): void {
    this.#listener.head(status, rawHeaders);
  }

  onData(chunk: Buffer): void {
    this.#listener.data(chunk);
  }

  onEnd(trailers: readonly string[]): void {
    this.isOver = true;
    this.#listener.end("whole", trailers);
  }

  onUpgrade(): void {
    this.isOver = true;
    this.#listener.end("upgraded");
  }

  onFailure(error: unknown): void {
    this.isOver = true;
    this.#listener.fail(error);
  }
}

/** The reference, set as in the gateway. */
export function undiciClient(): Client {
  const provider = new Provider();
  const pool = new Pool("http://provider.test", {
    allowH2: false,
    connections: null,
    pipelining: 1,
    keepAliveTimeout: patienceMs,
    keepAliveMaxTimeout: patienceMs,
    maxHeaderSize: 128 * 1024,
    connect: (_, callback) => provider.connect((socket) => callback(null, socket)),
  });
  return {
    ask: (method, answer) => {
      provider.next = answer;
      const listener = new Listener();
      pool.dispatch(
        { method, path: "/", headersTimeout: patienceMs, bodyTimeout: patienceMs },
        {
          onRequestStart: () => {},
          onResponseStart: (controller, status) => {
            if (status >= 200) listener.head(status, texts(controller.rawHeaders));
          },
          onResponseData: (_, chunk) => listener.data(chunk),
          onResponseEnd: (controller) => listener.end("whole", texts(controller.rawTrailers)),
          onResponseError: (_, error) => listener.fail(error),
        },
      );
      return listener.settled;
    },
    hangUp: () => provider.hangUp(),
    get connectionsMade() {
      return provider.connectionsMade;
    },
    close: () => void pool.destroy().catch(() => {}),
  };
}

function texts(raw: unknown): string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((item: unknown) => (Buffer.isBuffer(item) ? item.toString("latin1") : String(item)));
}
