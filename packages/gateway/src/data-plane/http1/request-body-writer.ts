import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { Pieces } from "../pieces.ts";
import { Http1Error } from "./http1-error.ts";
import type { RequestHead } from "./request-head.ts";

/** Up to here, head and body are joined, for one write; larger ones are handed to the system beside each other. */
const joinedBytes = 16 * 1024;

/** Writes a request whose body, if any, is there. */
export function writeWhole(
  socket: Socket,
  { text, expectsBody }: RequestHead,
  body: Buffer | Pieces | undefined,
): void {
  if (body === undefined) {
    socket.write(expectsBody ? `${text}content-length: 0\r\n\r\n` : `${text}\r\n`, "latin1");
    return;
  }
  const head = `${text}content-length: ${body.length}\r\n\r\n`;
  if (body.length <= joinedBytes) {
    const whole = Buffer.allocUnsafe(head.length + body.length);
    whole.write(head, "latin1");
    let at = head.length;
    for (const piece of piecesOf(body)) at += piece.copy(whole, at);
    socket.write(whole);
    return;
  }
  socket.cork();
  socket.write(head, "latin1");
  for (const piece of piecesOf(body)) socket.write(piece);
  socket.uncork();
}

function piecesOf(body: Buffer | Pieces): readonly Buffer[] {
  return body instanceof Pieces ? body.list : [body];
}

export interface BodyWatcher {
  /** Something was written. */
  wrote(): void;
  /** Everything was. */
  sent(): void;
  failed(error: Error): void;
}

/**
 * Writes a request whose body comes by and by, no faster than the provider reads. The head waits for its first piece.
 */
export class BodyWriter {
  readonly #socket: Socket;
  readonly #head: RequestHead;
  readonly #body: Readable;
  readonly #watcher: BodyWatcher;
  #bytes = 0;
  #isOver = false;

  constructor(socket: Socket, head: RequestHead, body: Readable, watcher: BodyWatcher) {
    this.#socket = socket;
    this.#head = head;
    this.#body = body;
    this.#watcher = watcher;
    if (body.destroyed || body.readableEnded) {
      this.#fail(body.errored ?? gone());
      return;
    }
    socket.on("drain", this.#onDrain);
    body.on("data", this.#onData).on("end", this.#onEnd).on("error", this.#onError).on("close", this.#onClose);
  }

  /** Whether it is the client that is waited for, not the provider. */
  get isWaitingForBody(): boolean {
    return !this.#isOver && !this.#socket.writableNeedDrain;
  }

  /** Writes no more; what is left of the body is let go. */
  stop(): void {
    if (this.#isOver) return;
    this.#close();
    this.#body.destroy();
  }

  readonly #onDrain = (): void => {
    this.#watcher.wrote();
    this.#body.resume();
  };

  readonly #onData = (chunk: Buffer): void => {
    if (chunk.length === 0) return;
    const { announcedBytes } = this.#head;
    const isFirst = this.#bytes === 0;
    this.#bytes += chunk.length;
    if (announcedBytes !== undefined && this.#bytes > announcedBytes) return this.#fail(wrongLength());
    this.#socket.cork();
    if (isFirst) this.#socket.write(this.#framedHead(), "latin1");
    if (announcedBytes === undefined) this.#socket.write(`${chunk.length.toString(16)}\r\n`, "latin1");
    let wantsMore = this.#socket.write(chunk);
    if (announcedBytes === undefined) wantsMore = this.#socket.write("\r\n", "latin1");
    this.#socket.uncork();
    this.#watcher.wrote();
    if (!wantsMore) this.#body.pause();
  };

  readonly #onEnd = (): void => {
    const { announcedBytes, text, expectsBody } = this.#head;
    if (this.#bytes !== (announcedBytes ?? this.#bytes)) return this.#fail(wrongLength());
    this.#close();
    if (this.#bytes === 0)
      this.#socket.write(expectsBody ? `${text}content-length: 0\r\n\r\n` : `${text}\r\n`, "latin1");
    else if (announcedBytes === undefined) this.#socket.write("0\r\n\r\n", "latin1");
    this.#watcher.sent();
  };

  readonly #onError = (error: Error): void => this.#fail(error);

  readonly #onClose = (): void => this.#fail(gone());

  #framedHead(): string {
    const { text, announcedBytes } = this.#head;
    const framing = announcedBytes === undefined ? "transfer-encoding: chunked" : `content-length: ${announcedBytes}`;
    return `${text}${framing}\r\n\r\n`;
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#close();
    this.#body.destroy();
    this.#watcher.failed(error);
  }

  #close(): void {
    this.#isOver = true;
    this.#socket.off("drain", this.#onDrain);
    this.#body
      .off("data", this.#onData)
      .off("end", this.#onEnd)
      .off("error", this.#onError)
      .off("close", this.#onClose);
  }
}

function wrongLength(): Http1Error {
  return new Http1Error("HTTP1_BAD_REQUEST", "The body is not as long as was announced.");
}

function gone(): Http1Error {
  return new Http1Error("HTTP1_ABORTED", "The body was broken off.");
}
