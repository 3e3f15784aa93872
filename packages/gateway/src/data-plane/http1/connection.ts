import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { Pieces } from "../pieces.ts";
import { badAnswer, Http1Error } from "./http1-error.ts";
import { BodyWriter, writeWhole } from "./request-body-writer.ts";
import type { RequestHead } from "./request-head.ts";
import type { Asked, ResponseHead } from "./response-head.ts";
import { ResponseParser, type ResponseSink } from "./response-parser.ts";

/** A request and whoever waits for its answer. Told of `onEnd`, `onUpgrade` or `onFailure` once, and of nothing after that. */
export interface Exchange {
  readonly head: RequestHead;
  readonly body: Buffer | Pieces | Readable | undefined;
  readonly asked: Asked;
  /** From the request to the head of the answer, ms. */
  readonly headersMs: number;
  /** Between two pieces of the answer, ms. */
  readonly idleMs: number;
  onHead(head: ResponseHead): void;
  onData(chunk: Buffer): void;
  onEnd(trailers: readonly string[]): void;
  onUpgrade(head: ResponseHead, socket: Socket): void;
  onFailure(error: unknown): void;
}

/** Whom a connection belongs to. */
export interface ConnectionOwner {
  /** It can carry another request. @param keepAliveMs how long the provider says that it keeps it */
  onFree(connection: Connection, keepAliveMs: number | undefined): void;
  /** It carries no more, or is no longer HTTP's. */
  onGone(connection: Connection): void;
}

/**
 * One connection, which carries one request at a time.
 *
 * It is given back for the next one only if everything was as it should be: the whole request was taken, the answer's end
 * was certain, nothing came behind it, and neither side spoke of closing. Whatever comes without having been asked for ends
 * it.
 */
export class Connection implements ResponseSink {
  /** Whether it has carried a request. */
  isUsed = false;
  /** While it is idle: until when it may be used, monotonic ms. */
  idleUntil = 0;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #parser = new ResponseParser(this);
  #exchange: Exchange | undefined;
  #answerHead: ResponseHead | undefined;
  #body: BodyWriter | undefined;
  #isSent = false;
  #hasAnswered = false;
  #isGone = false;
  #isPaused = false;
  #timer: NodeJS.Timeout | undefined;
  #timerMs = 0;
  /** Counts what the timer waits for. */
  #signs = 0;

  constructor(socket: Socket, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
    socket.on("data", this.#onBytes).on("end", this.#onEndOfBytes);
    socket.on("error", this.#onError).on("close", this.#onClose);
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Whether anything came back for the request under way. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Sends a request; one at a time. */
  start(exchange: Exchange): void {
    const { head, body } = exchange;
    this.#exchange = exchange;
    this.#hasAnswered = false;
    this.#isSent = false;
    this.#isPaused = false;
    this.#answerHead = undefined;
    this.isUsed = true;
    this.#parser.start(exchange.asked);
    this.#arm(exchange.headersMs);
    if (body instanceof Readable) {
      this.#body = new BodyWriter(this.#socket, head, body, {
        wrote: () => this.#arm(exchange.headersMs),
        sent: () => this.#onSent(exchange),
        failed: (error) => this.end(error),
      });
      return;
    }
    writeWhole(this.#socket, head, body);
    this.#isSent = true;
  }

  /** Reads no more of the answer until `resume`. */
  pause(exchange: Exchange): void {
    if (this.#exchange !== exchange) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(exchange: Exchange): void {
    if (this.#exchange !== exchange || !this.#isPaused) return;
    this.#isPaused = false;
    this.#arm(exchange.idleMs);
    this.#socket.resume();
  }

  /** Ends the connection, and whatever is under way on it with this error. */
  end(error: Error): void {
    if (this.#isGone) return;
    const exchange = this.#leave();
    this.#socket.destroy();
    exchange?.onFailure(error);
  }

  /** Keeps the process from ending by itself, or no longer. */
  hold(isHeld: boolean): void {
    if (isHeld) this.#socket.ref();
    else this.#socket.unref();
  }

  onInterim(): void {
    if (this.#exchange !== undefined && this.#isSent) this.#arm(this.#exchange.headersMs);
  }

  onHead(head: ResponseHead): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    this.#answerHead = head;
    this.#arm(exchange.idleMs);
    exchange.onHead(head);
  }

  onData(chunk: Buffer): void {
    this.#signs++;
    this.#timer?.refresh();
    this.#exchange?.onData(chunk);
  }

  onEnd(trailers: readonly string[], rest: Buffer | undefined): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    if (rest === undefined && this.#mayGoOn(exchange)) {
      this.#exchange = undefined;
      if (this.#isPaused) this.#socket.resume();
      this.#owner.onFree(this, this.#answerHead?.keepAliveMs);
    } else {
      this.#leave();
      this.#socket.destroy();
    }
    exchange.onEnd(trailers);
  }

  onUpgrade(head: ResponseHead, rest: Buffer): void {
    const exchange = this.#leave();
    const socket = this.#socket;
    socket.pause();
    socket.off("data", this.#onBytes).off("end", this.#onEndOfBytes);
    socket.off("error", this.#onError).off("close", this.#onClose);
    if (rest.length > 0) socket.unshift(rest);
    exchange?.onUpgrade(head, socket);
  }

  #mayGoOn({ head }: Exchange): boolean {
    const socket = this.#socket;
    return (
      this.#isSent &&
      head.isPersistent &&
      this.#answerHead?.isPersistent === true &&
      // What is still to be written of the request is of no use to anybody.
      socket.writableLength === 0 &&
      !socket.destroyed &&
      !socket.readableEnded
    );
  }

  #onSent(exchange: Exchange): void {
    this.#isSent = true;
    if (this.#answerHead === undefined) this.#arm(exchange.headersMs);
  }

  /** Ends what binds the connection to its exchange and its owner. @returns who is to be told */
  #leave(): Exchange | undefined {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#isGone = true;
    this.#parser.stop();
    clearTimeout(this.#timer);
    this.#body?.stop();
    this.#owner.onGone(this);
    return exchange;
  }

  readonly #onBytes = (chunk: Buffer): void => {
    if (this.#exchange === undefined) return this.end(badAnswer("something that nobody asked for"));
    this.#hasAnswered = true;
    try {
      this.#parser.execute(chunk);
    } catch (error) {
      this.end(error instanceof Error ? error : new Error(String(error)));
    }
  };

  readonly #onEndOfBytes = (): void => {
    if (this.#isGone) return;
    try {
      this.#parser.finish();
    } catch (error) {
      this.end(error instanceof Error ? error : new Error(String(error)));
    }
  };

  readonly #onError = (error: Error): void => this.end(error);

  readonly #onClose = (): void => this.end(new Http1Error("HTTP1_CLOSED", "The connection was closed."));

  /** One timer for all that is waited for on the connection, set anew only where the time is another one. */
  #arm(ms: number): void {
    this.#signs++;
    if (this.#timer !== undefined && this.#timerMs === ms) {
      this.#timer.refresh();
      return;
    }
    clearTimeout(this.#timer);
    this.#timerMs = ms;
    this.#timer = setTimeout(this.#onTimeout, ms).unref();
  }

  /** When a machine has slept, timers are due before what came meanwhile was read: that has its turn first. */
  readonly #onTimeout = (): void => {
    const before = this.#signs;
    setImmediate(() => {
      if (this.#signs === before) this.#timeOut();
    });
  };

  #timeOut(): void {
    if (this.#exchange === undefined || this.#isPaused) return;
    if (this.#answerHead !== undefined) {
      this.end(new Http1Error("HTTP1_IDLE_TIMEOUT", "The answer did not go on in time."));
    } else if (this.#body?.isWaitingForBody === true) {
      this.#timer?.refresh();
    } else {
      this.end(new Http1Error("HTTP1_HEADERS_TIMEOUT", "No answer came in time."));
    }
  }
}
