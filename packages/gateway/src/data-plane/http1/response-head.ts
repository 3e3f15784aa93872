import { STATUS_CODES } from "node:http";
import { badAnswer } from "./http1-error.ts";

/** How the end of a body is told (RFC 9112 §6.3). `upgrade`: what follows is no longer HTTP. */
export type Framing = "none" | "length" | "chunked" | "close" | "upgrade";

export interface ResponseHead {
  readonly status: number;
  /** As its bytes, one character each. */
  readonly phrase: string;
  /** Flat name, value, name, value, as the provider wrote them. */
  readonly rawHeaders: string[];
  readonly framing: Framing;
  /** Of a body that is framed by its length. */
  readonly lengthBytes: number;
  /** Whether the connection may carry another request when this answer has ended. */
  readonly isPersistent: boolean;
  /** How long the provider says that it keeps the connection, ms. */
  readonly keepAliveMs: number | undefined;
}

/** What the answer's framing depends on besides itself. */
export interface Asked {
  readonly method: string;
  readonly upgrade: string | undefined;
}

// RFC 9112 §4; the space behind the status is left out by many where no phrase follows.
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([^\r\n]*))?$/;
const phraseText = /^[\t\x20-\x7e\x80-\xff]*$/;
const fieldText = /^[\t\x20-\x7e\x80-\xff]*$/;
/** RFC 9110 §5.6.2 */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Far below what a number cannot tell apart any more. */
const lengthText = /^\d{1,15}$/;
const keepAliveTimeout = /(?:^|,)[\t ]*timeout=(\d{1,9})/i;

/**
 * Reads the head of an answer.
 *
 * @param text one character a byte, without the empty line at its end
 * @throws Http1Error if it is none, or if it does not tell for certain where the body ends (RFC 9112 §6.3 and §11.2)
 */
export function parseHead(text: string, asked: Asked): ResponseHead {
  const lineEnd = text.indexOf("\r\n");
  const line = statusLine.exec(lineEnd === -1 ? text : text.slice(0, lineEnd));
  if (line === null) throw badAnswer("no status line of HTTP/1.1");
  const status = Number(line[2]);
  const phrase = line[3] ?? "";
  const rawHeaders = lineEnd === -1 ? [] : parseFields(text, lineEnd + 2);
  const fields = readFraming(rawHeaders);
  // An HTTP/1.0 server knows of no chunks: whoever put that there was somebody else (RFC 9112 §6.1).
  if (line[1] === "0" && fields.isChunked) throw badAnswer("Transfer-Encoding in HTTP/1.0");
  // Interim answers have no body, and are followed by another one; HTTP/1.0 knows of none (RFC 9110 §15.2, §8.6).
  const isFramed = fields.isChunked || fields.lengthBytes !== undefined;
  if (status < 200 && (line[1] === "0" || (status !== 101 && (isFramed || fields.closes))))
    throw badAnswer("an interim answer that cannot be one");
  const framing = framingOf(status, fields, asked);
  const hasBodyAnyway = framing === "none" && status >= 200 && (fields.isChunked || (fields.lengthBytes ?? 0) > 0);
  const isPhraseClean = phraseText.test(phrase);
  return {
    status,
    phrase: isPhraseClean ? phrase : (STATUS_CODES[status] ?? ""),
    rawHeaders,
    framing,
    lengthBytes: fields.lengthBytes ?? 0,
    isPersistent: line[1] === "1" && framing !== "close" && !fields.closes && !hasBodyAnyway && isPhraseClean,
    keepAliveMs: fields.keepAliveMs,
  };
}

/**
 * Reads field lines: of a head or of trailers.
 *
 * @throws Http1Error for anything but `name: value` in every line; lines are not folded (RFC 9112 §5.2)
 */
export function parseFields(text: string, from: number): string[] {
  const fields: string[] = [];
  for (let start = from; start < text.length;) {
    let end = text.indexOf("\r\n", start);
    if (end === -1) end = text.length;
    const colon = text.indexOf(":", start);
    if (colon === -1 || colon > end) throw badAnswer("a header line without a colon");
    const name = text.slice(start, colon);
    if (!token.test(name)) throw badAnswer("a header name that is none");
    const value = withoutSpaceAround(text, colon + 1, end);
    if (!fieldText.test(value)) throw badAnswer("a control character in a header");
    fields.push(name, value);
    start = end + 2;
  }
  return fields;
}

function withoutSpaceAround(text: string, from: number, to: number): string {
  let [start, end] = [from, to];
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** What the fields say of the message and its connection. */
interface FramingFields {
  lengthBytes: number | undefined;
  isChunked: boolean;
  closes: boolean;
  upgradesTo: string | undefined;
  namesUpgrade: boolean;
  keepAliveMs: number | undefined;
}

function readFraming(raw: readonly string[]): FramingFields {
  const fields: FramingFields = {
    lengthBytes: undefined,
    isChunked: false,
    closes: false,
    upgradesTo: undefined,
    namesUpgrade: false,
    keepAliveMs: undefined,
  };
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? "";
    // Only names of these lengths are of interest; most are none of them.
    const { length } = name;
    if (length === 7 || length === 10 || length === 14 || length === 17)
      readOne(fields, name.toLowerCase(), raw[index + 1] ?? "");
  }
  if (fields.isChunked && fields.lengthBytes !== undefined)
    throw badAnswer("both Content-Length and Transfer-Encoding");
  return fields;
}

function readOne(fields: FramingFields, name: string, value: string): void {
  switch (name) {
    case "content-length":
      if (fields.lengthBytes !== undefined) throw badAnswer("more than one Content-Length");
      if (!lengthText.test(value)) throw badAnswer("a Content-Length that is no length");
      fields.lengthBytes = Number(value);
      break;
    case "transfer-encoding":
      // Any other coding would be left in the body, and its end be known by the connection's at best.
      if (fields.isChunked || value.toLowerCase() !== "chunked") throw badAnswer("a Transfer-Encoding but `chunked`");
      fields.isChunked = true;
      break;
    case "connection": {
      const options = value.toLowerCase().split(",");
      fields.closes ||= options.some((option) => option.trim() === "close");
      fields.namesUpgrade ||= options.some((option) => option.trim() === "upgrade");
      break;
    }
    case "upgrade":
      fields.upgradesTo = value.toLowerCase();
      break;
    case "keep-alive": {
      const seconds = keepAliveTimeout.exec(value)?.[1];
      if (seconds !== undefined) fields.keepAliveMs = Number(seconds) * 1000;
      break;
    }
  }
}

function framingOf(status: number, fields: FramingFields, { method, upgrade }: Asked): Framing {
  if (status === 101) {
    const isAsked = upgrade !== undefined && fields.namesUpgrade && fields.upgradesTo === upgrade;
    if (!isAsked || fields.isChunked || (fields.lengthBytes ?? 0) > 0)
      throw badAnswer("a change of protocol that was not asked for");
    return "upgrade";
  }
  if (status < 200 || status === 204 || status === 304 || method === "HEAD") return "none";
  if (fields.isChunked) return "chunked";
  return fields.lengthBytes === undefined ? "close" : "length";
}
