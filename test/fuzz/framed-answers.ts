import fc from "fast-check";
import { chunked, fieldLine, messageOf, oftenOf } from "./bytes.ts";
import type { RawMessage } from "./raw-socket.ts";

/** Answers that are nearly right: what tells where a body ends is what is played with. */

const statusLine = fc.oneof(
  { weight: 12, arbitrary: fc.constant("HTTP/1.1 200 OK\r\n") },
  { weight: 3, arbitrary: fc.constantFrom("HTTP/1.1 204 No Content\r\n", "HTTP/1.1 304 \r\n", "HTTP/1.1 429\r\n") },
  fc
    .tuple(
      oftenOf("HTTP/1.1", "HTTP/1.0", "HTTP/1.2", "http/1.1"),
      oftenOf("200", "404", "100", "103", "101", "099", "2000"),
      oftenOf("OK", "", "\u0001", "a\tb"),
    )
    .map((parts) => `${parts.join(" ")}\r\n`),
);

const framing = fieldLine(
  oftenOf("Content-Length", "content-length", "Transfer-Encoding", "TRANSFER-ENCODING", "Connection", "Keep-Alive"),
  oftenOf(
    "0",
    "2",
    "5",
    "+5",
    " 5 ",
    "5, 5",
    "0x5",
    "05",
    "9007199254740993",
    "chunked",
    "Chunked",
    "gzip, chunked",
    "chunked, chunked",
    "identity",
    "close",
    "keep-alive",
    "upgrade",
    "timeout=1",
    "timeout=60",
  ),
);
const other = fieldLine(
  oftenOf("X-Test", "Content-Type", "Upgrade", "Trailer", "Set-Cookie"),
  oftenOf("", "a", "websocket", "text/event-stream", " two  spaces ", "\u00fc", "a".repeat(3_000)),
);
const text = fc.constantFrom(
  "",
  "ab",
  "hello",
  "{}",
  "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
  "x".repeat(5_000),
);
const rest = fc.oneof(
  { weight: 4, arbitrary: text.map((body) => `Content-Length: ${body.length}\r\n\r\n${body}`) },
  { weight: 4, arbitrary: chunked(text).map((body) => `Transfer-Encoding: chunked\r\n\r\n${body}`) },
  text.map((body) => `\r\n${body}`),
  text.map((body) => `Content-Length: 2\r\n\r\n${body}`),
);
const answer = fc
  .tuple(
    statusLine,
    fc.array(fc.oneof({ weight: 2, arbitrary: framing }, { weight: 3, arbitrary: other }), { maxLength: 2 }),
    rest,
  )
  .map(([line, fields, body]) => line + fields.join("") + body);
const interim = fc.constantFrom(
  "",
  "",
  "",
  "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n",
  "HTTP/1.1 100 Continue\r\n\r\n",
);
const behind = fc.constantFrom("", "", "", "\r\n", "x", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");

export const framedAnswer: fc.Arbitrary<RawMessage> = messageOf(
  fc.tuple(interim, answer, behind).map((parts) => parts.join("")),
  fc.constantFrom<RawMessage["end"]>("fin", "fin", "wait"),
);
