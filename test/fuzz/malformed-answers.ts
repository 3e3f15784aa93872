import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { chunked, fieldLine, garbage, messageOf, oftenOf } from "./bytes.ts";
import type { RawMessage } from "./raw-socket.ts";

/** What providers, and what stands between, may answer. */

const statusLine = fc
  .tuple(
    fc.oneof({ weight: 20, arbitrary: fc.constant("HTTP/1.1") }, oftenOf("HTTP/1.0", "HTTP/2", "ICY", "")),
    oftenOf(
      "200",
      "200",
      "200",
      "200",
      "201",
      "204",
      "206",
      "304",
      "301",
      "400",
      "401",
      "403",
      "404",
      "413",
      "429",
      "429",
      "500",
      "503",
      "529",
      "599",
      "100",
      "101",
      "103",
      "600",
      "999",
      "0",
      "20",
      "abc",
      "",
    ),
    oftenOf("OK", "", "Too Many Requests", "\xed\x82\xa4", "\xff\xfe", "a".repeat(9_000), "with \0"),
  )
  .map((parts) => `${parts.join(" ")}\r\n`);

const field = fc.oneof(
  {
    weight: 3,
    arbitrary: fieldLine(
      oftenOf("Content-Type"),
      oftenOf(
        "application/json",
        "text/event-stream",
        "text/event-stream; charset=utf-16",
        "text/html",
        "",
        "a".repeat(9_000),
      ),
    ),
  },
  {
    weight: 2,
    arbitrary: fieldLine(
      oftenOf("Content-Encoding"),
      oftenOf("gzip", "br", "zstd", "deflate", "gzip, br", "bogus", "identity", ","),
    ),
  },
  fieldLine(
    oftenOf("Content-Length", "Transfer-Encoding"),
    oftenOf("0", "5", "-1", "5, 6", "chunked", "gzip, chunked", "99999999999999999999"),
  ),
  fieldLine(
    oftenOf(
      "Retry-After",
      "retry-after-ms",
      "x-ratelimit-reset-requests",
      "x-ratelimit-reset",
      "anthropic-ratelimit-requests-reset",
    ),
    oftenOf(
      "1",
      "-1",
      "1e999",
      "NaN",
      "Fri, 99 Zzz 9999",
      "2026-13-45T99:99:99Z",
      "9".repeat(400),
      "1h2m3",
      "",
      "0x10",
      "\xff",
    ),
  ),
  fieldLine(
    oftenOf("Connection", "Keep-Alive", "Trailer"),
    oftenOf("close", "keep-alive", "timeout=-1", "content-length", "x-trailer", ",,"),
  ),
  fieldLine(
    oftenOf("Location", "x-goog-upload-url", "operation-location", "x-goog-upload-status"),
    oftenOf("http://evil.example/", "//", "\xff", "http://[", "/v1/files/file-abc", ""),
  ),
  fieldLine(
    oftenOf("Set-Cookie", "x-keywheel-error", "x-keywheel-key", "access-control-allow-origin", "Upgrade"),
    oftenOf("internal", "a=b", "*", "websocket"),
  ),
  fieldLine(garbage, garbage),
  fc.constantFrom(
    " folded\r\n",
    ": no name\r\n",
    `X-Big: ${"a".repeat(140_000)}\r\n`,
    "a: b\r\n".repeat(3_000),
    "a:b\0c\r\n",
  ),
);

const sse = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n',
        'data: {"error":{"message":"slow","code":429}}\n\n',
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n',
        'event: message_start\r\ndata: {"type":"message_start","message":{"usage":{"input_tokens":-1e999}}}\r\n\r\n',
        'data: {"usage":{"prompt_tokens":"x","completion_tokens":{},"total_tokens":null}}\n\n',
        "data: [DONE]\n\n",
        ": keep-alive\n\n",
        "data\n\n",
        "data:\rdata:\r\r",
        "\xef\xbb\xbfdata: {}\n\n",
        "id: \0\nretry: x\n\n",
        "event: \xff\ndata: \xff\n\n",
        `data: ${"[".repeat(30_000)}\n\n`,
        `data: ${"a".repeat(200_000)}`,
        "\n".repeat(2_000),
      ),
      fc.json().map((value) => `data: ${value}\n\n`),
      garbage,
    ),
    { maxLength: 5 },
  )
  .map((events) => events.join(""));

const json = fc.oneof(
  fc.json(),
  fc.constantFrom(
    '{"error":{"message":"Rate limit","type":"requests","code":"rate_limit_exceeded"}}',
    '{"error":{"message":{},"type":[],"code":1e999,"details":[null,{"@type":1,"retryDelay":"x"}]}}',
    '{"error":"text"}',
    '[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":"x"}}]',
    '{"type":"error","error":null}',
    '{"id":{},"object":"file","usage":{"input_tokens":1e400,"output_tokens":"a"},"data":[null]}',
    "[".repeat(20_000),
    `{"error":{"message":"${"m".repeat(100_000)}"}}`,
    "null",
    '{"error":{"message":"\\ud800"}}',
    "<html><body>502 Bad Gateway</body></html>",
    "",
  ),
);

const content = fc.oneof({ weight: 3, arbitrary: sse }, { weight: 3, arbitrary: json }, garbage);
const coded = content.chain((text) => {
  const bytes = Buffer.from(text, "latin1");
  return fc.constantFrom(
    `Content-Encoding: gzip\r\n\0${gzipSync(bytes).toString("latin1")}`,
    `Content-Encoding: br\r\n\0${brotliCompressSync(bytes).toString("latin1")}`,
    `Content-Encoding: zstd\r\n\0${zstdCompressSync(bytes).toString("latin1")}`,
    `Content-Encoding: gzip\r\n\0${gzipSync(bytes).toString("latin1").slice(0, -6)}`,
    `Content-Encoding: gzip\r\n\0${text}`,
    `Content-Encoding: gzip\r\n\0${bomb}`,
  );
});
/** Ten megabytes of nothing. */
const bomb = gzipSync(Buffer.alloc(10_000_000)).toString("latin1");

const framed = (body: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    body.map((text) => `Content-Length: ${text.length}\r\n\r\n${text}`),
    chunked(body).map((text) => `Transfer-Encoding: chunked\r\n\r\n${text}`),
    body.map((text) => `Connection: close\r\n\r\n${text}`),
    body.map((text) => `Content-Length: ${text.length + 9}\r\n\r\n${text}`),
    body.map(
      (text) => `Content-Length: ${text.length}\r\n\r\n${text}HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned`,
    ),
  );

const body = fc.oneof(
  { weight: 4, arbitrary: framed(content) },
  coded.map((text) => {
    const at = text.indexOf("\0");
    const [header, bytes] = [text.slice(0, at), text.slice(at + 1)];
    return `${header}Content-Length: ${bytes.length}\r\n\r\n${bytes}`;
  }),
);

const answer = fc
  .tuple(statusLine, fc.array(field, { maxLength: 4 }), body)
  .map(([line, fields, rest]) => `${line}${fields.join("")}${rest}`);
const interim = fc.constantFrom(
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n",
  "HTTP/1.1 102\r\n\r\n",
);

export const malformedAnswer: fc.Arbitrary<RawMessage> = messageOf(
  fc.oneof(
    { weight: 12, arbitrary: answer },
    fc.tuple(interim, answer).map((parts) => parts.join("")),
    garbage,
    fc.constant(""),
  ),
  fc.oneof(
    { weight: 200, arbitrary: fc.constantFrom<RawMessage["end"]>("fin", "fin", "rst", "wait") },
    fc.constant<RawMessage["end"]>("hang"),
  ),
);
