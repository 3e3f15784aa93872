import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { Exchange, ReplyHeaders } from "./exchange.ts";
import type { RecordedRequest } from "./recorded-request.ts";

/** One answer, played on an exchange. */
export interface Reply {
  /** The request's body is read before the answer begins. False for answers that do not wait for it. */
  readonly readsBody: boolean;
  play(exchange: Exchange): Promise<void>;
}

/** Bytes, a text, or anything else to be sent as JSON; absent for an empty body. */
export type ReplyBody = string | Uint8Array | object | undefined;

/** A server-sent event: a raw chunk as it stands, blank line included, or its parts. */
export type SseEvent = string | { readonly event?: string; readonly data: unknown };

/** Where and how a body is given away; each has a default that a plain test can live with. */
interface HeadOptions {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: ReplyHeaders;
}

function replyOf(play: Reply["play"], readsBody = true): Reply {
  return { readsBody, play };
}

/** A whole answer with `content-length`. An object goes out as JSON, whose type is added unless given. */
function status(code: number, headers: ReplyHeaders = {}, body?: ReplyBody): Reply {
  return replyOf(async (exchange) => {
    const { bytes, type } = encode(body);
    exchange.head(code, { ...contentType(headers, type), ...contentLength(code, headers, bytes), ...headers });
    await exchange.end(bytes);
  });
}

/** The same with a body that is always JSON, a string too. */
function json(code: number, headers: ReplyHeaders, body: unknown): Reply {
  return status(code, { "content-type": "application/json", ...headers }, JSON.stringify(body));
}

/**
 * An event stream, chunk by chunk.
 *
 * @param options.delayMs before each event but the first; default 0: one write each, as fast as they go
 * @param options.end     default `clean`; `fin` and `rst` break the chunked body off, `hang` leaves it open
 */
function sse(
  events: readonly SseEvent[],
  options: HeadOptions & { readonly delayMs?: number; readonly end?: "clean" | "fin" | "rst" | "hang" } = {},
): Reply {
  const { status: code = 200, headers = {}, delayMs = 0, end = "clean" } = options;
  return replyOf(async (exchange) => {
    exchange.head(code, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      ...headers,
    });
    for (const [position, event] of events.entries()) {
      if (position > 0 && delayMs > 0) await exchange.wait(delayMs);
      await exchange.write(sseText(event));
    }
    if (end === "clean") await exchange.end();
    else if (end === "hang") await forever(exchange);
    else exchange.cut(end);
  });
}

/** Takes the request and never answers. */
function hang(): Reply {
  return replyOf(forever);
}

/** Answers after `ms`, with nothing at all before. */
function slowHeaders(ms: number, then: Reply): Reply {
  return replyOf(async (exchange) => {
    await exchange.wait(ms);
    await then.play(exchange);
  }, then.readsBody);
}

/** Answers once the promise settles; for tests that decide the order of things. */
function after(gate: Promise<unknown>, then: Reply): Reply {
  return replyOf(async (exchange) => {
    await exchange.wait(gate);
    await then.play(exchange);
  }, then.readsBody);
}

/** The head at once, then a body in pieces of `pieceBytes`, `delayMs` apart, with its length told. */
function trickle(
  body: string | Uint8Array,
  options: HeadOptions & { readonly pieceBytes?: number; readonly delayMs?: number } = {},
): Reply {
  const { status: code = 200, headers = {}, pieceBytes = 1, delayMs = 0 } = options;
  return replyOf(async (exchange) => {
    const bytes = Buffer.from(body);
    exchange.head(code, { "content-length": String(bytes.length), ...headers });
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      if (at > 0 && delayMs > 0) await exchange.wait(delayMs);
      await exchange.write(bytes.subarray(at, at + pieceBytes));
    }
    await exchange.end();
  });
}

/** The head at once, the whole body `ms` later. */
function slowBody(ms: number, code: number, headers: ReplyHeaders = {}, body?: ReplyBody): Reply {
  return replyOf(async (exchange) => {
    const { bytes, type } = encode(body);
    exchange.head(code, { ...contentType(headers, type), "content-length": String(bytes.length), ...headers });
    await exchange.wait(ms);
    await exchange.end(bytes);
  });
}

/**
 * Breaks the connection inside the body.
 *
 * @param options.sent   what goes out before
 * @param options.length the `content-length` that is told; without it the body is chunked, and the last chunk is missing
 */
function cutInBody(
  how: "fin" | "rst",
  options: HeadOptions & { readonly sent?: string | Uint8Array; readonly length?: number } = {},
): Reply {
  const { status: code = 200, headers = {}, sent = "{", length } = options;
  return replyOf(async (exchange) => {
    exchange.head(code, { ...(length === undefined ? {} : { "content-length": String(length) }), ...headers });
    await exchange.write(sent);
    exchange.cut(how);
  });
}

/** Breaks the connection before any byte of an answer, after the whole request was read. */
function cutBeforeHeaders(how: "fin" | "rst" = "rst"): Reply {
  return replyOf(async (exchange) => exchange.cut(how));
}

/**
 * Answers while the upload still runs, and only then lets the rest of it pass, unread: as servers linger before they close,
 * since a close with bytes unread would reset the connection and could take the answer with it.
 */
function early(code: number, headers: ReplyHeaders = {}, body?: ReplyBody): Reply {
  return replyOf(async (exchange) => {
    const { bytes, type } = encode(body);
    const length = { "content-length": String(bytes.length) };
    exchange.head(code, { ...contentType(headers, type), ...length, connection: "close", ...headers });
    if (bytes.length > 0) await exchange.write(bytes);
    await exchange.discardBody();
    await exchange.end();
  }, false);
}

/** A body without an end: the piece again and again, as fast as it is taken or every `delayMs`. */
function endless(piece: string | Uint8Array, options: HeadOptions & { readonly delayMs?: number } = {}): Reply {
  const { status: code = 200, headers = {}, delayMs = 0 } = options;
  return replyOf(async (exchange) => {
    exchange.head(code, headers);
    for (;;) {
      await exchange.write(piece);
      if (delayMs > 0) await exchange.wait(delayMs);
    }
  });
}

/** An interim answer first, such as 103 with links, then the real one. */
function interim(code: number, headers: Readonly<Record<string, string>>, then: Reply): Reply {
  return replyOf(async (exchange) => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    await exchange.writeRaw(`HTTP/1.1 ${code} Interim\r\n${lines.join("")}\r\n`);
    await then.play(exchange);
  }, then.readsBody);
}

function redirect(location: string, code = 302): Reply {
  return status(code, { location });
}

/** A compressed body, its encoding named. */
function encoded(coding: "gzip" | "br" | "zstd", code: number, headers: ReplyHeaders, body: ReplyBody): Reply {
  const compress = { gzip: gzipSync, br: brotliCompressSync, zstd: zstdCompressSync }[coding];
  const { bytes, type } = encode(body);
  return status(code, { ...contentType(headers, type), "content-encoding": coding, ...headers }, compress(bytes));
}

/** A chunked body with trailers after it. */
function trailers(
  fields: Readonly<Record<string, string>>,
  code = 200,
  headers: ReplyHeaders = {},
  body: string | Uint8Array = "{}",
): Reply {
  return replyOf(async (exchange) => {
    exchange.head(code, { "content-type": "application/json", trailer: Object.keys(fields).join(", "), ...headers });
    await exchange.write(body);
    exchange.response.addTrailers(fields);
    await exchange.end();
  });
}

/** An answer whose end is the end of the sending side (no length, not chunked), while the other side stays open. */
function halfOpen(code: number, headers: Readonly<Record<string, string>>, body: string): Reply {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return raw([`HTTP/1.1 ${code} As Scripted\r\n${lines.join("")}connection: close\r\n\r\n${body}`], { end: "fin" });
}

/**
 * Bytes past node:http, for what is too rude for it.
 *
 * @param options.delayMs between the parts; default 0
 * @param options.end     default `hang`: nothing more is said and nothing closed
 */
function raw(
  parts: readonly (string | Uint8Array)[],
  options: { readonly delayMs?: number; readonly end?: "fin" | "rst" | "hang" } = {},
): Reply {
  const { delayMs = 0, end = "hang" } = options;
  return replyOf(async (exchange) => {
    for (const [position, part] of parts.entries()) {
      if (position > 0 && delayMs > 0) await exchange.wait(delayMs);
      await exchange.writeRaw(part);
    }
    if (end === "hang") await forever(exchange);
    else exchange.cut(end);
  });
}

/** Decides when the request is there, body included. */
function by(decide: (request: RecordedRequest) => Reply | Promise<Reply>): Reply {
  return replyOf(async (exchange) => (await decide(exchange.request)).play(exchange));
}

/** An answer that the test leads by the hand. */
export interface LiveReply extends Reply {
  /** The exchange once the head was sent. */
  readonly started: Promise<RecordedRequest>;
  /** Settles when the system has taken the part. */
  send(part: SseEvent | Uint8Array): Promise<void>;
  end(): Promise<void>;
  cut(how: "fin" | "rst"): Promise<void>;
}

/** An answer of one's own making: the head goes out at once, everything else when the test says so. For one exchange. */
function live(options: HeadOptions = {}): LiveReply {
  const { status: code = 200, headers = { "content-type": "text/event-stream; charset=utf-8" } } = options;
  const started = Promise.withResolvers<Exchange>();
  return {
    started: started.promise.then((exchange) => exchange.request),
    async send(part) {
      await (await started.promise).write(part instanceof Uint8Array ? part : sseText(part));
    },
    async end() {
      await (await started.promise).end();
    },
    async cut(how) {
      (await started.promise).cut(how);
    },
    readsBody: true,
    async play(exchange) {
      exchange.head(code, headers);
      started.resolve(exchange);
      await exchange.request.ended;
    },
  };
}

/** Every way in which a scripted provider can answer. */
export const reply = {
  status,
  json,
  sse,
  hang,
  slowHeaders,
  after,
  trickle,
  slowBody,
  cutInBody,
  cutBeforeHeaders,
  early,
  endless,
  interim,
  redirect,
  encoded,
  trailers,
  halfOpen,
  raw,
  by,
  live,
} as const;

/** The wire form of an event. */
export function sseText(event: SseEvent): string {
  if (typeof event === "string") return event;
  const name = event.event === undefined ? "" : `event: ${event.event}\n`;
  return `${name}data: ${typeof event.data === "string" ? event.data : JSON.stringify(event.data)}\n\n`;
}

async function forever(exchange: Exchange): Promise<void> {
  await exchange.request.ended;
}

function encode(body: ReplyBody): { bytes: Buffer; type: string | undefined } {
  if (body === undefined) return { bytes: Buffer.alloc(0), type: undefined };
  if (typeof body === "string" || body instanceof Uint8Array) return { bytes: Buffer.from(body), type: undefined };
  return { bytes: Buffer.from(JSON.stringify(body)), type: "application/json" };
}

function contentType(headers: ReplyHeaders, type: string | undefined): ReplyHeaders {
  const given = Object.keys(headers).some((name) => name.toLowerCase() === "content-type");
  return type === undefined || given ? {} : { "content-type": type };
}

function contentLength(code: number, headers: ReplyHeaders, bytes: Buffer): ReplyHeaders {
  const framed = Object.keys(headers).some((name) => /^(content-length|transfer-encoding)$/i.test(name));
  return framed || code === 204 || code === 304 ? {} : { "content-length": String(bytes.length) };
}
