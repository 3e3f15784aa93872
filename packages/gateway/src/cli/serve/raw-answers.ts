import type { Duplex } from "node:stream";

/**
 * Answers on a bare socket, where Node has made no response: the request could not be read, or asked for something that
 * is no request. The shape is that of OpenAI's errors, which the other vendors' clients read as well.
 */
function answer(socket: Duplex, status: string, code: string, message: string): void {
  const body = JSON.stringify({ error: { message, type: "invalid_request_error", code, param: null } });
  socket.end(
    [
      `HTTP/1.1 ${status}`,
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(body)}`,
      `x-keywheel-error: ${code}`,
      "connection: close",
      "",
      body,
    ].join("\r\n"),
    () => socket.destroy(),
  );
}

/** @param isBusy whether a response is under way on the socket: what is written now would be read as a part of it */
export function answerClientError(error: Error, socket: Duplex, isBusy: boolean): void {
  const code = "code" in error ? error.code : undefined;
  if (isBusy || !socket.writable || code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  if (code === "HPE_HEADER_OVERFLOW")
    answer(
      socket,
      "431 Request Header Fields Too Large",
      "invalid_request",
      "The request headers are larger than 64 KB.",
    );
  else if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    answer(socket, "408 Request Timeout", "invalid_request", "The request headers did not come within 60 s.");
  else
    answer(
      socket,
      "400 Bad Request",
      "invalid_request",
      "This is not HTTP as it can be understood. If the client uses https, it must use http here.",
    );
}

export function answerConnect(socket: Duplex): void {
  socket.on("error", () => socket.destroy());
  answer(
    socket,
    "405 Method Not Allowed",
    "invalid_request",
    "This gateway is no proxy for CONNECT: set its address as the base URL of the client.",
  );
}

export function answerUpgrade(socket: Duplex): void {
  answer(socket, "501 Not Implemented", "invalid_request", "This path does not speak WebSocket.");
}
