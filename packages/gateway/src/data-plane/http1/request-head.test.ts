import { describe, expect, it } from "vitest";
import { type OutgoingRequest, type RequestHead, writeHead } from "./request-head.ts";

function head(changes: Partial<OutgoingRequest> = {}): RequestHead {
  const plain = {
    method: "POST",
    target: "/v1?a=b",
    host: "provider.test",
    headers: [],
    body: undefined,
    upgrade: undefined,
  };
  return writeHead({ ...plain, ...changes });
}

describe("the head of a request", () => {
  it("holds the headers in their order and spelling, and what concerns the connection", () => {
    const { text, announcedBytes } = head({ headers: ["X-B", "1", "x-a", "\xfc", "x-a", "", "content-length", "12"] });

    expect(text).toBe(
      "POST /v1?a=b HTTP/1.1\r\nhost: provider.test\r\nconnection: keep-alive\r\nX-B: 1\r\nx-a: \xfc\r\nx-a: \r\n",
    );
    expect(announcedBytes).toBe(12);
  });

  it.each([
    ["GET", undefined, true],
    ["DELETE", undefined, true],
    ["POST", Buffer.from("x"), true],
    ["HEAD", undefined, false],
    ["GET", Buffer.from("x"), false],
    ["DELETE", Buffer.from("x"), false],
  ])("says whether the connection may go on: %s %s", (method, body, isPersistent) => {
    const { text, isPersistent: told } = head({ method, body });

    expect(told).toBe(isPersistent);
    expect(text).toContain(`connection: ${isPersistent ? "keep-alive" : "close"}\r\n`);
  });

  it.each([
    ["a line break in a value", { headers: ["x-a", "b\r\nx-c: d"] }],
    ["a line break in a name", { headers: ["x-a: b\r\nx-c", "d"] }],
    ["a character beyond a byte", { headers: ["x-a", "한"] }],
    ["an empty name", { headers: ["", "a"] }],
    ["a space in the path", { target: "/a HTTP/1.1\r\n" }],
    ["no path", { target: "" }],
    ["a method that is none", { method: "GET /" }],
    ["a host that is none", { host: "a b" }],
    ["framing of the caller's", { headers: ["Transfer-Encoding", "chunked"] }],
    ["a second host", { headers: ["Host", "other.test"] }],
    ["an expectation", { headers: ["Expect", "100-continue"] }],
    ["two lengths", { headers: ["content-length", "1", "Content-Length", "1"] }],
    ["a length that is none", { headers: ["content-length", "1, 1"] }],
  ])("cannot be written with %s", (_, changes) => {
    expect(() => head(changes)).toThrow(expect.objectContaining({ code: "HTTP1_BAD_REQUEST" }) as Error);
  });
});
