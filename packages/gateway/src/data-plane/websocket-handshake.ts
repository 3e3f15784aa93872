import type { IncomingMessage } from "node:http";
import { withoutKeySubprotocols } from "@keywheel/pool";
import { headerReader, requestHeaders, responseHeaders } from "./headers.ts";

const subprotocols = "sec-websocket-protocol";
/** Subprotocol items with which browsers say whose account is billed; the pool's key decides that (field case 57). */
const tenantItem = /^openai-(organization|project)\./;
/** Where Azure's clients put their credential if they can set no header; gateway tokens come that way then. */
const queryCredentials = new Set(["api-key", "authorization"]);

/** Whether a request asks for a WebSocket, rather than for HTTP/2 or something else (RFC 6455 §4.2.1, RFC 9110 §7.8). */
export function asksForWebSocket({ method, headers }: Pick<IncomingMessage, "method" | "headers">): boolean {
  return (
    method === "GET" && (headers.upgrade ?? "").split(",").some((name) => name.trim().toLowerCase() === "websocket")
  );
}

/** Why a request for an upgrade cannot be forwarded, as a sentence; undefined if it can. */
export function refuseUpgrade(request: Pick<IncomingMessage, "method" | "headers">): string | undefined {
  if (!asksForWebSocket(request)) return "The only upgrade that can be forwarded is a GET for a WebSocket.";
  const { "content-length": length, "transfer-encoding": coding } = request.headers;
  // What follows the head would be taken for frames by one side and for a body by the other.
  if ((length !== undefined && length !== "0") || coding !== undefined) return "A WebSocket handshake has no body.";
  return undefined;
}

/**
 * Reads the headers of a handshake; a credential that a browser had to put into the query is read as the header that
 * carries it elsewhere.
 */
export function handshakeReader(raw: readonly string[], query: string): (name: string) => string | undefined {
  const header = headerReader(raw);
  return (name) => header(name) ?? (queryCredentials.has(name) ? queryValue(query, name) : undefined);
}

/** The query without what `handshakeReader` takes from it; the rest byte for byte. */
export function withoutQueryCredentials(query: string): string {
  return query
    .split("&")
    .filter((pair) => !queryCredentials.has(nameOf(pair)))
    .join("&");
}

/** The model or deployment that the query of a realtime connection names, or undefined. */
export function modelInQuery(query: string): string | undefined {
  return queryValue(query, "model") ?? queryValue(query, "deployment");
}

/**
 * The client's headers of a handshake that go on to the provider: those of any request, and the WebSocket's own as they
 * came, but for subprotocols that are credentials. The client's nonce goes along, so that the provider's proof of it fits.
 *
 * @param raw flat name, value, name, value
 */
export function handshakeHeaders(raw: readonly string[]): string[] {
  const kept = requestHeaders(raw);
  const headers: string[] = [];
  for (let index = 0; index < kept.length; index += 2) {
    const [name = "", value = ""] = [kept[index], kept[index + 1]];
    const sent = name.toLowerCase() === subprotocols ? withoutCredentials(value) : value;
    if (sent !== "") headers.push(name, sent);
  }
  return headers;
}

/** The head with which a client's handshake is granted. */
export function switchingHead(rawHeaders: readonly string[], marks: readonly string[]): Buffer {
  const headers = ["connection", "Upgrade", "upgrade", "websocket", ...responseHeaders(rawHeaders), ...marks];
  let head = "HTTP/1.1 101 Switching Protocols\r\n";
  for (let index = 0; index < headers.length; index += 2) head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return Buffer.from(`${head}\r\n`, "latin1");
}

/** A list that holds no credential stays as it was written. */
function withoutCredentials(list: string): string {
  const items = withoutKeySubprotocols(list).filter((item) => !tenantItem.test(item));
  return items.length === list.split(",").length ? list : items.join(", ");
}

function queryValue(query: string, name: string): string | undefined {
  const pair = query.split("&").find((one) => nameOf(one) === name);
  return pair === undefined ? undefined : decoded(pair.slice(pair.indexOf("=") + 1)) || undefined;
}

function nameOf(pair: string): string {
  return decoded(pair.split("=", 1)[0] ?? "").toLowerCase();
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    // A malformed escape names nothing of ours; the text stands for itself.
    return text;
  }
}
