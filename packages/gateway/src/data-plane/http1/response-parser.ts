import { ByteBlock } from "./byte-block.ts";
import { badAnswer, Http1Error } from "./http1-error.ts";
import { type Asked, parseFields, parseHead, type ResponseHead } from "./response-head.ts";

/** Who is told what came. Any call may end the exchange; the parser is then stopped and says nothing more. */
export interface ResponseSink {
  /** An interim answer (RFC 9110 §15.2) came: the final one follows. */
  onInterim(): void;
  onHead(head: ResponseHead): void;
  onData(chunk: Buffer): void;
  /** @param rest what came behind the end: nothing may, and it is nobody's answer */
  onEnd(trailers: readonly string[], rest: Buffer | undefined): void;
  /** @param rest what came behind the head, in the new protocol */
  onUpgrade(head: ResponseHead, rest: Buffer): void;
}

/** What the head may take, interim ones together with the final one, and the trailers. */
const maxHeadBytes = 128 * 1024;
/** A chunk's size and extensions (RFC 9112 §7.1.1), which nobody sends. */
const maxSizeLineBytes = 1_024;
/** 2^52 bytes and less. */
const maxSizeDigits = 13;

/** Between the bytes of a chunked body. */
type ChunkState = "chunk-size" | "chunk-extension" | "chunk-size-lf" | "chunk-cr" | "chunk-lf";
type State = "idle" | "head" | "length" | "close" | "chunk-data" | "trailers" | ChunkState;

const cr = 0x0d;
const lf = 0x0a;
const tab = 0x09;

/**
 * Reads answers from the bytes of one connection, one after the other. Bodies are handed on as they lie in what was read,
 * nothing is copied.
 *
 * It takes what RFC 9112 has a server send, and nothing else: there is no leniency, since whoever reads on after a doubt may
 * give one client what was meant for another.
 */
export class ResponseParser {
  readonly #sink: ResponseSink;
  readonly #block = new ByteBlock(maxHeadBytes);
  #asked: Asked = { method: "GET", upgrade: undefined };
  #state: State = "idle";
  /** Bytes of the body, or of its chunk, that are still to come. */
  #left = 0;
  #sizeDigits = 0;
  #sizeLineBytes = 0;

  constructor(sink: ResponseSink) {
    this.#sink = sink;
  }

  /** Expects the answer to a request. */
  start(asked: Asked): void {
    this.#asked = asked;
    this.#state = "head";
    this.#block.reset();
  }

  /** Says nothing more of this exchange. */
  stop(): void {
    this.#state = "idle";
  }

  /** @throws Http1Error for anything that is not an answer, or not for certain; the connection is good for nothing then */
  execute(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && this.#state !== "idle") at = this.#step(chunk, at);
  }

  /** The connection has ended. @throws Http1Error if the answer has not */
  finish(): void {
    if (this.#state !== "close") throw new Http1Error("HTTP1_CLOSED", "The connection was closed within the answer.");
    this.#end([], undefined);
  }

  /** @returns where to go on */
  #step(chunk: Buffer, at: number): number {
    switch (this.#state) {
      case "idle":
        return chunk.length;
      case "head":
        return this.#onHeadBytes(chunk, at);
      case "length":
        return this.#onLengthBytes(chunk, at);
      case "close":
        this.#sink.onData(at === 0 ? chunk : chunk.subarray(at));
        return chunk.length;
      case "chunk-data":
        return this.#onChunkBytes(chunk, at);
      case "trailers":
        return this.#onTrailerBytes(chunk, at);
      case "chunk-size":
      case "chunk-extension":
      case "chunk-size-lf":
      case "chunk-cr":
      case "chunk-lf":
        this.#onChunkFraming(this.#state, chunk[at] ?? 0);
        return at + 1;
    }
  }

  #onHeadBytes(chunk: Buffer, from: number): number {
    const at = this.#block.take(chunk, from);
    const text = this.#block.text;
    if (text === undefined) {
      // Else what will never be an answer would be waited for, and be taken for a provider that is slow.
      if (!this.#block.mayBegin("HTTP/1.")) throw badAnswer("no status line of HTTP/1.1");
      return at;
    }
    const head = parseHead(text, this.#asked);
    this.#block.next();
    if (head.framing === "upgrade") {
      this.#state = "idle";
      this.#sink.onUpgrade(head, chunk.subarray(at));
      return chunk.length;
    }
    if (head.status < 200) {
      this.#sink.onInterim();
      return at;
    }
    this.#beginBody(head);
    this.#sink.onHead(head);
    if (this.#state === "length" && this.#left === 0) this.#end([], at < chunk.length ? chunk.subarray(at) : undefined);
    return at;
  }

  #beginBody({ framing, lengthBytes }: ResponseHead): void {
    this.#left = framing === "length" ? lengthBytes : 0;
    if (framing === "chunked") this.#beginChunk();
    else this.#state = framing === "close" ? "close" : "length";
  }

  #onLengthBytes(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#left);
    this.#left -= end - at;
    this.#sink.onData(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
    if (this.#left === 0) this.#end([], end < chunk.length ? chunk.subarray(end) : undefined);
    return end;
  }

  #onChunkBytes(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = "chunk-cr";
    this.#sink.onData(chunk.subarray(at, end));
    return end;
  }

  #onTrailerBytes(chunk: Buffer, from: number): number {
    const at = this.#block.take(chunk, from);
    const text = this.#block.text;
    if (text === undefined) return at;
    const trailers = parseFields(text, 2);
    // Behind the body they cannot frame it: whoever sends them there wants them to be read by somebody else.
    if (trailers.some((name, index) => index % 2 === 0 && /^(content-length|transfer-encoding)$/i.test(name)))
      throw badAnswer("framing in the trailers");
    this.#end(trailers, at < chunk.length ? chunk.subarray(at) : undefined);
    return at;
  }

  /** RFC 9112 §7.1, byte by byte: these are few. */
  #onChunkFraming(state: ChunkState, byte: number): void {
    switch (state) {
      case "chunk-size":
        this.#onSizeByte(byte);
        break;
      case "chunk-extension":
        if (byte === cr) this.#state = "chunk-size-lf";
        else if (byte !== tab && (byte < 0x20 || byte === 0x7f))
          throw badAnswer("a control character in a chunk's size");
        if (++this.#sizeLineBytes > maxSizeLineBytes) throw badAnswer("a chunk's size too long");
        break;
      case "chunk-size-lf":
        expect(byte, lf);
        if (this.#left > 0) this.#state = "chunk-data";
        else this.#beginTrailers();
        break;
      case "chunk-cr":
        expect(byte, cr);
        this.#state = "chunk-lf";
        break;
      case "chunk-lf":
        expect(byte, lf);
        this.#beginChunk();
    }
  }

  #onSizeByte(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== undefined) {
      if (++this.#sizeDigits > maxSizeDigits) throw badAnswer("a chunk's size too large");
      this.#left = this.#left * 16 + digit;
    } else if (this.#sizeDigits > 0 && byte === cr) this.#state = "chunk-size-lf";
    else if (this.#sizeDigits > 0 && byte === 0x3b) this.#state = "chunk-extension";
    else throw badAnswer("a chunk's size that is none");
  }

  #beginChunk(): void {
    this.#state = "chunk-size";
    this.#left = 0;
    this.#sizeDigits = 0;
    this.#sizeLineBytes = 0;
  }

  /** They end with an empty line; with none of them, that is the line behind the last chunk's. */
  #beginTrailers(): void {
    this.#state = "trailers";
    this.#block.reset("\r\n");
  }

  #end(trailers: readonly string[], rest: Buffer | undefined): void {
    // Whoever was told of the last bytes may have ended the exchange.
    if (this.#state === "idle") return;
    this.#state = "idle";
    this.#sink.onEnd(trailers, rest);
  }
}

function expect(byte: number, wanted: number): void {
  if (byte !== wanted) throw badAnswer("a chunk that does not end where it says");
}

function hexDigit(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined;
}
