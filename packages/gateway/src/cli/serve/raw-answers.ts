import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { ErrorCode } from "@keywheel/pool";

/** An answer on a bare socket, where Node has made no response: the request could not be read, or is to be none. */
export interface RawAnswer {
  readonly status: number;
  readonly code: ErrorCode;
  readonly contentType: string;
  readonly body: string;
}

/** Writes the answer and closes. */
export function answerRaw(socket: Duplex, { status, code, contentType, body }: RawAnswer): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    `content-type: ${contentType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-keywheel-error: ${code}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

/** In the shape of OpenAI's errors: nobody knows which provider was meant, and the other vendors' clients read it too. */
function refuse(socket: Duplex, status: number, message: string): void {
  const body = JSON.stringify({
    error: { message, type: "invalid_request_error", code: "invalid_request", param: null },
  });
  answerRaw(socket, { status, code: "invalid_request", contentType: "application/json", body });
}

/** @param isBusy whether a response is under way on the socket: what is written now would be read as a part of it */
export function answerClientError(error: Error, socket: Duplex, isBusy: boolean): void {
  const code = "code" in error ? error.code : undefined;
  if (isBusy || !socket.writable || code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  if (code === "HPE_HEADER_OVERFLOW") refuse(socket, 431, "The request headers are larger than 64 KB.");
  else if (code === "ERR_HTTP_REQUEST_TIMEOUT") refuse(socket, 408, "The request headers did not come within 30 s.");
  else
    refuse(socket, 400, "This is not HTTP as it can be understood. If the client uses https, it must use http here.");
}

export function answerConnect(socket: Duplex): void {
  socket.on("error", () => socket.destroy());
  refuse(socket, 405, "This gateway is no proxy for CONNECT: set its address as the base URL of the client.");
}

export function answerUpgrade(socket: Duplex): void {
  refuse(socket, 501, "This path does not speak WebSocket.");
}
