import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { ExchangeState, OpenRequest, RecordedRequest } from "./recorded-request.ts";

/** Header values by name; an array stands for a repeated header. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

/** Thrown inside a reply whose exchange is over; it ends the reply and is no failure. */
export class ExchangeOver extends Error {}

/** One request being answered: what a reply can do to it. */
export class Exchange {
  readonly #request: OpenRequest;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  readonly #over = new AbortController();
  #body: Promise<Buffer> | undefined;

  constructor(request: OpenRequest, incoming: IncomingMessage, outgoing: ServerResponse) {
    this.#request = request;
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    void request.ended.then(() => this.#over.abort());
  }

  get request(): RecordedRequest {
    return this.#request;
  }

  get socket(): Socket {
    return this.#incoming.socket;
  }

  /** For replies that node:http can make. */
  get response(): ServerResponse {
    return this.#outgoing;
  }

  /** Aborted once the exchange is over, whoever ended it. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Reads the request's body to its end. @throws ExchangeOver if it is cut short */
  body(): Promise<Buffer> {
    this.#body ??= this.#readBody();
    return this.#body;
  }

  /** Lets the rest of the request's body pass unread until it ends or the exchange is over. */
  async discardBody(): Promise<void> {
    this.#incoming.resume();
    if (this.#incoming.complete) return;
    await this.wait(once(this.#incoming, "end"));
  }

  async #readBody(): Promise<Buffer> {
    try {
      for await (const chunk of this.#incoming) this.#request.append(chunk as Buffer);
    } catch (error) {
      throw new ExchangeOver("the request was cut short", { cause: error });
    }
    this.#request.bodyComplete = true;
    return this.#request.body;
  }

  /** @throws ExchangeOver if the exchange ends meanwhile */
  async wait(until: number | Promise<unknown>): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const onOver = (): void => reject(new ExchangeOver("the exchange ended"));
    promise.catch(() => {
      // Handled by the race below, if that still runs.
    });
    if (this.over.aborted) onOver();
    this.over.addEventListener("abort", onOver, { once: true });
    try {
      const waited =
        typeof until === "number" ? sleep(until, undefined, { signal: this.over }).catch(() => onOver()) : until;
      await Promise.race([waited, promise]);
      if (this.over.aborted) throw new ExchangeOver("the exchange ended");
    } finally {
      this.over.removeEventListener("abort", onOver);
    }
  }

  /** Sends the response head, names and values as given. */
  head(status: number, headers: ReplyHeaders, reason?: string): void {
    if (this.over.aborted) throw new ExchangeOver("the exchange ended");
    const flat = Object.entries(headers).flatMap(([name, value]) =>
      (typeof value === "string" ? [value] : value).flatMap((one) => [name, one]),
    );
    if (reason === undefined) this.#outgoing.writeHead(status, flat);
    else this.#outgoing.writeHead(status, reason, flat);
    this.#outgoing.flushHeaders();
  }

  /** Sends a part of the response's body and waits until the system has taken it. */
  async write(part: string | Uint8Array): Promise<void> {
    if (this.over.aborted) throw new ExchangeOver("the exchange ended");
    const written = new Promise<void>((resolve) => this.#outgoing.write(part, () => resolve()));
    await this.wait(written);
  }

  /** Ends the response as HTTP has it. */
  async end(part?: string | Uint8Array): Promise<void> {
    if (this.over.aborted) throw new ExchangeOver("the exchange ended");
    if (part === undefined) this.#outgoing.end();
    else this.#outgoing.end(part);
    if (!this.#outgoing.writableFinished) await this.wait(once(this.#outgoing, "finish"));
    this.finish("answered");
  }

  /** Sends bytes past node:http. */
  async writeRaw(bytes: string | Uint8Array): Promise<void> {
    if (this.over.aborted) throw new ExchangeOver("the exchange ended");
    const { socket } = this;
    await this.wait(new Promise<void>((resolve) => socket.write(bytes, () => resolve())));
  }

  /** Breaks the connection: with a FIN at whatever place the bytes are, or with a reset. */
  cut(how: "fin" | "rst"): void {
    this.finish("cut");
    if (how === "rst") this.socket.resetAndDestroy();
    else this.socket.end();
  }

  /** Notes how the exchange ended. The first end counts. */
  finish(state: Exclude<ExchangeState, "open">): void {
    this.#request.end(state);
  }
}
