import type { Readable } from "node:stream";
import type { Pieces } from "../pieces.ts";
import { Http1Error } from "./http1-error.ts";

/** A request as it is written. */
export interface OutgoingRequest {
  readonly method: string;
  /** Path and query; to a forwarding proxy, the whole URL. */
  readonly target: string;
  /** The value of `host`. */
  readonly host: string;
  /** Flat name, value, name, value; of those that frame the message, `content-length` alone, for a body that is streamed. */
  readonly headers: readonly string[];
  readonly body: Buffer | Pieces | Readable | undefined;
  readonly upgrade: string | undefined;
}

export interface RequestHead {
  /** One character a byte, without what frames the body and without the empty line. */
  readonly text: string;
  /** As announced, of a body that is streamed. */
  readonly announcedBytes: number | undefined;
  /** Whether the connection may carry another request. */
  readonly isPersistent: boolean;
  /** Whether servers wait for a body, so that one without any has to be announced as well (RFC 9110 §8.6). */
  readonly expectsBody: boolean;
}

const expectingBody = new Set(["POST", "PUT", "PATCH", "QUERY", "PROPFIND", "PROPPATCH"]);
/** Written here, or not at all. */
const ours = new Set(["host", "connection", "upgrade", "expect", "keep-alive", "transfer-encoding"]);
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const targetText = /^[\x21-\x7e\x80-\xff]+$/;
const fieldText = /^[\t\x20-\x7e\x80-\xff]*$/;

/** @throws Http1Error for what cannot be written, or could be read as more than one request */
export function writeHead({ method, target, host, headers, body, upgrade }: OutgoingRequest): RequestHead {
  if (!token.test(method) || !targetText.test(target) || !targetText.test(host))
    throw new Http1Error(
      "HTTP1_BAD_REQUEST",
      "Neither method nor path nor host may hold spaces or control characters.",
    );
  const expectsBody = expectingBody.has(method);
  // Servers differ in what they make of a body that the method has no use for, and may answer HEAD with one.
  const isPersistent = upgrade === undefined && method !== "HEAD" && (expectsBody || body === undefined);
  const option = upgrade === undefined ? (isPersistent ? "keep-alive" : "close") : `upgrade\r\nupgrade: ${upgrade}`;
  let text = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: ${option}\r\n`;
  let announcedBytes: number | undefined;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? "";
    const value = headers[index + 1] ?? "";
    if (!token.test(name) || !fieldText.test(value))
      throw new Http1Error("HTTP1_BAD_REQUEST", "A header holds a character that it must not.");
    if (mayBeOurs(name.length)) {
      const lower = name.toLowerCase();
      if (ours.has(lower)) throw new Http1Error("HTTP1_BAD_REQUEST", `The header ${lower} is not the caller's.`);
      if (lower === "content-length") {
        announcedBytes = announced(value, announcedBytes);
        continue;
      }
    }
    text += `${name}: ${value}\r\n`;
  }
  return { text, announcedBytes, isPersistent, expectsBody };
}

function mayBeOurs(length: number): boolean {
  return length === 4 || length === 6 || length === 7 || length === 10 || length === 14 || length === 17;
}

function announced(value: string, before: number | undefined): number {
  if (before !== undefined || !/^\d{1,15}$/.test(value))
    throw new Http1Error("HTTP1_BAD_REQUEST", "A body has one length.");
  return Number(value);
}
