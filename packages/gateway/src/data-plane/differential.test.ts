import { createHash } from "node:crypto";
import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Bench, openDataPlane } from "./data-plane.test-bench.ts";

/** One exchange: what the client sends and what the provider answers. */
interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly requestHeaders: readonly (readonly [string, string])[];
  readonly requestChunks: readonly Uint8Array[];
  readonly requestFraming: "length" | "chunked";
  readonly status: number;
  readonly reason: string;
  readonly responseHeaders: readonly (readonly [string, string])[];
  readonly responseChunks: readonly Uint8Array[];
  readonly responseFraming: "length" | "chunked" | "close";
  readonly coding: "identity" | "gzip" | "br" | "zstd";
  /** Break the connection behind so many bytes of the body; null to end it well. */
  readonly cutBehind: number | null;
}

/** What either side saw. */
interface Seen {
  readonly provider: {
    readonly method: string;
    readonly url: string;
    readonly headers: string[];
    readonly body: string;
  };
  readonly client:
    | { readonly cut: true }
    | {
        readonly cut: false;
        readonly status: number;
        readonly reason: string;
        readonly headers: string[];
        readonly body: string;
      };
}

const word = fc.stringMatching(/^[a-z][a-z0-9-]{1,10}$/);
const headerName = word.map((name) => `X-Test-${name}`);
const headerValue = fc.stringMatching(/^[!-~]([ -~]{0,30}[!-~])?$/);
const segment = fc.oneof(
  word,
  fc.constantFrom("a%20b", "%E2%82%AC", "file.tar.gz", "org%2Fmodel", "x:generate", "~_-."),
);
const query = fc.oneof(
  fc.constant(""),
  fc.constantFrom("?alt=sse", "?beta=true&a=%2F&b", "?q=a+b&q=c", "?=", "?x[]=1;y"),
);
const chunks = fc.array(fc.uint8Array({ maxLength: 3_000 }), { maxLength: 6 });
// None of these sends a request to another key; those that do have their own tests.
const status = fc.constantFrom(
  200,
  201,
  202,
  203,
  206,
  226,
  301,
  302,
  303,
  307,
  308,
  400,
  404,
  405,
  406,
  409,
  410,
  415,
  418,
  422,
  451,
  500,
  501,
  502,
  503,
);
const exchange: fc.Arbitrary<Exchange> = fc.record({
  method: fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "POST", "POST"),
  path: fc
    .tuple(fc.array(segment, { minLength: 1, maxLength: 4 }), query)
    .map(([parts, text]) => `/${parts.join("/")}${text}`),
  requestHeaders: fc.array(fc.tuple(headerName, headerValue), { maxLength: 6 }),
  requestChunks: chunks,
  requestFraming: fc.constantFrom("length", "chunked"),
  status,
  reason: fc.constantFrom("OK", "As Scripted", "Not (quite) right"),
  responseHeaders: fc.array(fc.tuple(headerName, headerValue), { maxLength: 8 }),
  responseChunks: chunks,
  responseFraming: fc.constantFrom("length", "chunked", "close"),
  coding: fc.constantFrom("identity", "identity", "gzip", "br", "zstd"),
  cutBehind: fc.option(fc.nat(4_000), { freq: 8 }),
});

const agent = new Agent({ keepAlive: true });
let bench: Bench;
let current: Exchange;
let seenByProvider: Seen["provider"];
const provider = createServer((request, response) => void answer(request, response));

beforeAll(async () => {
  provider.listen(0, "127.0.0.1");
  await once(provider, "listening");
  bench = await openDataPlane({ baseUrl: `http://127.0.0.1:${(provider.address() as AddressInfo).port}` });
});

afterAll(() => {
  agent.destroy();
  provider.closeAllConnections();
  provider.close();
});

function encode(bytes: Buffer, coding: Exchange["coding"]): Buffer {
  if (coding === "gzip") return gzipSync(bytes);
  if (coding === "br") return brotliCompressSync(bytes);
  return coding === "zstd" ? zstdCompressSync(bytes) : bytes;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status, reason, responseHeaders, responseFraming, coding, cutBehind } = current;
  const body = await read(request);
  seenByProvider = {
    method: request.method ?? "",
    url: request.url ?? "",
    headers: endToEnd(request.rawHeaders),
    body: hash(body),
  };
  const bytes = encode(Buffer.concat(current.responseChunks), coding);
  const headers = responseHeaders.flat();
  headers.push("Content-Type", "application/octet-stream", "Date", "Mon, 08 Jun 2026 20:00:00 GMT");
  if (coding !== "identity") headers.push("Content-Encoding", coding);
  if (responseFraming === "length") headers.push("Content-Length", String(bytes.length));
  if (responseFraming === "close") response.shouldKeepAlive = false;
  response.writeHead(status, reason, headers);
  if (responseFraming === "close") response.useChunkedEncodingByDefault = false;
  const end = cutBehind === null ? bytes.length : Math.min(cutBehind, bytes.length);
  for (let at = 0; at < end; at += 1_000) response.write(bytes.subarray(at, Math.min(at + 1_000, end)));
  if (isCut(current)) response.write("", () => request.socket.destroy());
  else response.end();
}

/** Whether the client can see a cut: there was more to come, and the framing tells. */
function isCut({ cutBehind, responseChunks, coding, responseFraming }: Exchange): boolean {
  return (
    cutBehind !== null &&
    responseFraming !== "close" &&
    cutBehind < encode(Buffer.concat(responseChunks), coding).length
  );
}

async function send(origin: string, exchange: Exchange): Promise<Seen["client"]> {
  const { method, path, requestHeaders, requestChunks, requestFraming } = exchange;
  const headers = requestHeaders.flat();
  const hasBody = method !== "GET" && method !== "OPTIONS";
  const total = requestChunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (hasBody && requestFraming === "length") headers.push("Content-Length", String(total));
  else if (hasBody) headers.push("Transfer-Encoding", "chunked");
  const url = new URL(origin);
  const options = {
    agent,
    host: url.hostname,
    port: url.port,
    path: (url.pathname === "/" ? "" : url.pathname) + path,
    method,
  };
  const request = httpRequest({
    ...options,
    headers: [...headers, "Host", url.host, "User-Agent", "differential/1", "Authorization", "Bearer kw_x"],
  });
  try {
    if (hasBody) for (const chunk of requestChunks) request.write(chunk);
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const body = hash(await read(response));
    return {
      cut: false,
      status: response.statusCode ?? 0,
      reason: response.statusMessage ?? "",
      headers: endToEnd(response.rawHeaders),
      body,
    };
  } catch {
    // Broken off, and that is what is compared.
    return { cut: true };
  }
}

async function read(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of message as AsyncIterable<Buffer>) parts.push(part);
  if (!message.complete) throw new Error("cut");
  return Buffer.concat(parts);
}

function hash(bytes: Buffer): string {
  return `${bytes.length} ${createHash("sha256").update(bytes).digest("hex")}`;
}

const perConnection = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "content-length",
  "host",
  "authorization",
]);

/** Names and values as they stood, without what belongs to one connection, to framing or to us. */
function endToEnd(raw: readonly string[]): string[] {
  const lines: string[] = [];
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? "";
    const lower = name.toLowerCase();
    if (!perConnection.has(lower) && !lower.startsWith("x-keywheel-")) lines.push(`${name}: ${raw[index + 1]}`);
  }
  return lines;
}

async function play(origin: string, exchange: Exchange): Promise<Seen> {
  current = exchange;
  const client = await send(origin, exchange);
  return { provider: seenByProvider, client };
}

describe("the gateway", () => {
  it("cannot be told from the provider: 2,000 exchanges, direct and through it, are the same", async () => {
    const direct = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    const ends = { whole: 0, cut: 0 };
    await fc.assert(
      fc.asyncProperty(exchange, async (exchange) => {
        const through = await play(bench.url, exchange);
        const straight = await play(direct, exchange);

        expect(through).toEqual(straight);
        ends[straight.client.cut ? "cut" : "whole"]++;
      }),
      { numRuns: 2_000, endOnFailure: true },
    );
    expect(bench.faults).toEqual([]);
    expect(ends.cut).toBeGreaterThan(50);
    expect(ends.whole).toBeGreaterThan(1_500);
  }, 120_000);
});
