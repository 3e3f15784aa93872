import { gzipSync } from "node:zlib";
import { testAdminToken } from "@keywheel/testkit";
import fc from "fast-check";
import { chunked, fieldLine, garbage, messageOf, oftenOf } from "./bytes.ts";
import type { RawMessage } from "./raw-socket.ts";

/** What clients, broken and hostile ones among them, write to either plane. The provider is called `fuzz` there. */

const method = oftenOf(
  "GET",
  "POST",
  "POST",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "PRI",
  "get",
  "",
);
const target = oftenOf(
  "/fuzz/v1/chat/completions",
  "/fuzz/v1/chat/completions",
  "/fuzz/v1/messages",
  "/fuzz/v1/models?key=x&key=%zz",
  "/fuzz/v1/files",
  "/fuzz/v1/realtime?model=m",
  "/fuzz",
  "/fuzz/../api",
  "/fuzz/%2e%2e/%",
  "/fuzz/\x80\xff",
  "/nobody/v1/x",
  "/api/providers",
  "/api/providers/other/keys",
  "/api/providers/other/keys/import",
  "/api/providers/other/preview?n=-1",
  "/api/requests?limit=1e9&provider=%00",
  "/api/usage?from=x&to=9999999999999&by=y",
  "/api/sign-in",
  "/api/sessions/%ff%fe",
  "/api/%",
  "/ui/../../etc/passwd",
  "/ui/%2e%2e%2f",
  "/metrics",
  "/",
  "*",
  "http://localhost/fuzz/v1/models",
  "//",
  `/fuzz/${"a".repeat(20_000)}`,
  "/api/providers?" + "a=b&".repeat(4_000),
);
const version = fc.oneof(
  { weight: 20, arbitrary: fc.constant("HTTP/1.1") },
  oftenOf("HTTP/1.0", "HTTP/2.0", "HTTP/9.9", "http/1.1", ""),
);

const field = fc.oneof(
  {
    weight: 3,
    arbitrary: fieldLine(
      oftenOf("Content-Length"),
      oftenOf("0", "5", "-1", "+5", "0x5", "5, 5", "5, 6", "", "1e3", "99999999999999999999", "4"),
    ),
  },
  {
    weight: 3,
    arbitrary: fieldLine(
      oftenOf("Transfer-Encoding"),
      oftenOf(
        "chunked",
        "chunked",
        "gzip, chunked",
        "chunked, gzip",
        "identity",
        "xchunked",
        "chunked;q=1",
        " chunked",
      ),
    ),
  },
  fieldLine(oftenOf("Connection"), oftenOf("close", "keep-alive", "upgrade", "content-length, host", "\x00", ",,,")),
  fieldLine(oftenOf("Expect"), oftenOf("100-continue", "200-ok", "")),
  fieldLine(
    oftenOf("Content-Type"),
    oftenOf(
      "application/json",
      "application/json; charset=\xff",
      "multipart/form-data",
      "multipart/form-data; boundary=",
      "multipart/form-data; boundary=x",
      "text/plain",
      "",
    ),
  ),
  fieldLine(oftenOf("Content-Encoding"), oftenOf("gzip", "br", "zstd", "deflate", "gzip, gzip", "bogus")),
  fieldLine(
    oftenOf("Authorization", "authorization"),
    oftenOf(`Bearer ${testAdminToken}`, "Bearer ", "Bearer kw_x", "Basic Og==", "Bearer \x7f"),
  ),
  fieldLine(oftenOf("Cookie"), oftenOf("keywheel_session=x", "a=b; ;;;=;", "keywheel_session=%ff", ";".repeat(999))),
  fieldLine(
    oftenOf("Host", "X-Forwarded-For", "Origin", "Sec-Fetch-Site"),
    oftenOf("localhost", "", "[", "[::1", "a b", "null", "http://", "localhost:99999", "\xff"),
  ),
  fieldLine(
    oftenOf("x-keywheel-session", "session-id", "traceparent"),
    oftenOf("s", "a".repeat(5_000), "\xe9\xff", "", "__proto__"),
  ),
  fieldLine(
    oftenOf("Upgrade", "Sec-WebSocket-Version", "Sec-WebSocket-Key", "HTTP2-Settings"),
    oftenOf("websocket", "h2c", "13", "0", "x"),
  ),
  fieldLine(garbage, garbage),
  fc.constantFrom(
    " folded\r\n",
    ": no name\r\n",
    "X-Big: " + "a".repeat(70_000) + "\r\n",
    "a: b\r\n".repeat(2_500),
    "a:b\0c\r\n",
  ),
);

/** Bodies that a parser of JSON, of multipart or of a coding may stumble over. */
const body = fc.oneof(
  fc.json(),
  fc.constantFrom(
    '{"model":"m","messages":[{"role":"user","content":"hi"}]}',
    '{"model":{},"messages":"x","stream":"yes"}',
    '{"model":"m","messages":[null,1,[],{"role":null,"content":{"__proto__":{"a":1}}}]}',
    '{"__proto__":{"x":1},"constructor":{"prototype":{}}}',
    '{"conversation":{"id":{}},"previous_response_id":[],"metadata":{"user_id":1e999}}',
    '{"input":[{"type":"message","content":[{"file_id":null},{"image_url":[]}]}],"prompt_cache_key":{}}',
    '{"api_key":"k1,k2","weight":1e400,"label":"\\ud800"}',
    `${"[".repeat(20_000)}${"]".repeat(20_000)}`,
    `{"a":${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}`,
    '{"model":"m","model":"n","messages":[]}',
    '{"text":"' + "k,".repeat(3_000) + '"}',
    "\xef\xbb\xbf{}",
    "{",
    '"\xff\xfe"',
    '--x\r\nContent-Disposition: form-data; name="file"; filename="\xff"\r\n\r\nx\r\n--x--',
    "--x\r\n\r\n--x\r\n",
    gzipSync('{"model":"m","messages":[]}').toString("latin1"),
    gzipSync("0".repeat(1_000_000)).toString("latin1").slice(0, 500),
  ),
  garbage,
);

const framedBody = fc.oneof(
  body.map((text) => `Content-Length: ${text.length}\r\n\r\n${text}`),
  chunked(body).map((text) => `Transfer-Encoding: chunked\r\n\r\n${text}`),
  body.map((text) => `\r\n${text}`),
  body.map((text) => `Content-Length: ${text.length + 7}\r\n\r\n${text}`),
  body.map((text) => `Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n${text}`),
);

const request = fc
  .tuple(method, target, version, fc.array(field, { maxLength: 5 }), framedBody)
  .map(([verb, where, how, fields, rest]) => `${verb} ${where} ${how}\r\nHost: localhost\r\n${fields.join("")}${rest}`);

/** A control-plane call that gets as far as its body. */
const adminCall = fc
  .tuple(
    fc.constantFrom(
      "POST /api/providers",
      "PATCH /api/providers/other",
      "POST /api/providers/other/keys",
      "PUT /api/providers/other/keys/order",
      "POST /api/providers/other/keys/bulk",
      "POST /api/providers/other/keys/import",
      "POST /api/tokens",
      "GET /api/requests",
      "GET /api/usage",
      "GET /api/events",
      "POST /api/notices/x/dismiss",
      "PATCH /api/keys/x",
    ),
    fc.oneof(
      body,
      fc
        .json()
        .map((value) => `{"settings":${value},"api_key":${value},"ids":${value},"weight":${value},"where":${value}}`),
    ),
  )
  .map(
    ([call, text]) =>
      `${call} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${testAdminToken}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`,
  );

const handshake = fc
  .tuple(
    oftenOf("/fuzz/v1/realtime?model=m", "/fuzz/v1/realtime", "/api/events", "/nobody"),
    fc.array(
      fieldLine(
        oftenOf(
          "Sec-WebSocket-Protocol",
          "Sec-WebSocket-Extensions",
          "Sec-WebSocket-Key",
          "Sec-WebSocket-Version",
          "Origin",
        ),
        oftenOf(
          "realtime",
          "openai-insecure-api-key.sk-x",
          "permessage-deflate; client_max_window_bits=99",
          ",,",
          "x",
          "13",
        ),
      ),
      { maxLength: 3 },
    ),
  )
  .map(
    ([where, fields]) =>
      `GET ${where} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${fields.join("")}\r\n`,
  );

const frame = fc
  .record({
    first: fc.nat(255),
    isMasked: fc.boolean(),
    length: fc.constantFrom(0, 5, 125, 126, 127),
    extended: garbage,
    payload: garbage,
  })
  .map(({ first, isMasked, length, extended, payload }) => {
    const size = length === 126 ? extended.slice(0, 2) : length === 127 ? extended.slice(0, 8) : "";
    return String.fromCharCode(first, (isMasked ? 128 : 0) | length) + size + payload;
  });

const webSocket = fc
  .tuple(handshake, fc.array(frame, { maxLength: 5 }))
  .map(([head, frames]) => head + frames.join(""));

const pipelined = fc
  .array(fc.oneof(request, adminCall), { minLength: 2, maxLength: 4 })
  .map((requests) => requests.join(""));

export const malformedRequest: fc.Arbitrary<RawMessage> = messageOf(
  fc.oneof(
    { weight: 10, arbitrary: request },
    { weight: 4, arbitrary: adminCall },
    { weight: 4, arbitrary: webSocket },
    pipelined,
    garbage,
  ),
  fc.constantFrom<RawMessage["end"]>("fin", "rst", "wait", "wait"),
);
