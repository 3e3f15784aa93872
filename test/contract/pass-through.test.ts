import { brotliDecompressSync, gunzipSync, gzipSync, zstdDecompressSync } from "node:zlib";
import { reply, runGateway, type RunningGateway, sha256 } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { callOnWire, talkOnWire } from "../wire-client.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const decoders = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync };

describe("contract: response headers on forwarded responses", () => {
  it("names the key by its id, the attempts, and the session when one was recognised", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));

    const without = await pool.send();
    const within = await pool.send({ session: "s-1" });

    const own = (response: Response): (string | null)[] =>
      ["key", "attempts", "session"].map((name) => response.headers.get(`x-keywheel-${name}`));
    expect(own(without)).toEqual([pool.keys[1]?.id, "2", null]);
    expect(own(within)).toEqual([pool.keys[1]?.id, "1", "s-1"]);
  });
});

describe("contract: status and headers pass through unchanged", () => {
  it("keeps the provider's headers, repeated ones apart", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.on().next(
      reply.json(
        201,
        {
          "x-request-id": "req_1",
          "openai-organization": "org-test",
          "x-ratelimit-remaining-requests": "0",
          "x-ratelimit-reset-requests": "6m0s",
          "x-twice": ["one", "two"],
          "retry-after": "7",
          "server-timing": "a;dur=1",
        },
        { ok: true },
      ),
    );

    const answer = await callOnWire(gateway.url, { path: `/${pool.record.slug}/v1/models` });

    expect(answer.status).toBe(201);
    expect(answer.headerValues("x-twice").join(", ")).toBe("one, two");
    for (const [name, value] of [
      ["x-request-id", "req_1"],
      ["openai-organization", "org-test"],
      ["x-ratelimit-reset-requests", "6m0s"],
      ["retry-after", "7"],
      ["server-timing", "a;dur=1"],
      ["content-type", "application/json"],
    ] as const) {
      expect(answer.header(name)).toBe(value);
    }
    // Limits told on a success cool nothing.
    expect((await pool.key("A")).status).toBe("available");
  });

  it("keeps the client's headers, repeated ones apart, and its user agent", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic", weights: [1] });

    await callOnWire(gateway.url, {
      path: `/${pool.record.slug}/v1/models`,
      headers: {
        "anthropic-version": "2023-06-01",
        "anthropic-beta": ["one-2026-01-01", "two-2026-01-01"],
        "user-agent": "some-client/1.0",
        "x-stainless-lang": "js",
        "x-custom": "kept",
        "idempotency-key": "idem-1",
        accept: "application/json",
      },
    });

    const [request] = pool.provider.requests;
    expect(request?.headerValues("anthropic-beta").join(", ")).toBe("one-2026-01-01, two-2026-01-01");
    for (const [name, value] of [
      ["user-agent", "some-client/1.0"],
      ["x-stainless-lang", "js"],
      ["x-custom", "kept"],
      ["idempotency-key", "idem-1"],
      ["host", new URL(pool.provider.origin).host],
    ] as const) {
      expect(request?.header(name)).toBe(value);
    }
  });

  it("drops what belongs to one hop, and what `connection` names, both ways", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider
      .on()
      .next(reply.json(200, { connection: "keep-alive, x-hop", "x-hop": "1", "keep-alive": "timeout=5" }, {}));

    const answer = await callOnWire(gateway.url, {
      path: `/${pool.record.slug}/v1/models`,
      headers: { connection: "close, x-secret", "x-secret": "1", te: "trailers", "keep-alive": "timeout=1" },
    });

    const [request] = pool.provider.requests;
    for (const name of ["x-secret", "te", "keep-alive", "upgrade"]) expect(request?.header(name)).toBeUndefined();
    expect(answer.header("x-hop")).toBeUndefined();
  });

  it("tells the provider nothing about the network before the gateway", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });

    await callOnWire(gateway.url, {
      path: `/${pool.record.slug}/v1/models`,
      headers: {
        "x-forwarded-for": "203.0.113.7",
        "x-forwarded-host": "inner.example",
        "x-real-ip": "203.0.113.7",
        forwarded: "for=203.0.113.7",
        via: "1.1 inner",
        "cf-connecting-ip": "203.0.113.7",
      },
    });

    expect(pool.provider.requests[0]?.rawHeaders.join("\n")).not.toMatch(/203\.0\.113\.7|inner/);
  });

  it("keeps a vendor's cookies away from the origin on which the settings pages live", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.on().next(reply.json(200, { "set-cookie": ["a=1; Path=/", "b=2"] }, {}));

    const answer = await callOnWire(gateway.url, { path: `/${pool.record.slug}/v1/models` });

    expect(answer.headerValues("set-cookie")).toEqual([]);
  });

  it.each([
    [301, "https://elsewhere.example/x"],
    [307, "/v1/other"],
  ])("hands a %i back instead of following it", async (status, location) => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.on().next(reply.redirect(location, status));

    const answer = await callOnWire(gateway.url, { path: `/${pool.record.slug}/v1/models` });

    expect(answer.status).toBe(status);
    expect(pool.provider.requests).toHaveLength(1);
  });

  it.each([204, 304])("passes a %i without a body", async (status) => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.on().next(reply.status(status, { etag: '"1"' }));

    const answer = await callOnWire(gateway.url, { path: `/${pool.record.slug}/v1/models` });

    expect([answer.status, answer.header("etag"), answer.body.length]).toEqual([status, '"1"', 0]);
  });

  it("answers HEAD with the head alone", async () => {
    await using pool = await poolOf(gateway, { kind: "openai-compatible", weights: [1] });

    const answer = await callOnWire(gateway.url, { method: "HEAD", path: `/${pool.record.slug}/v1/models` });

    expect(answer.status).toBe(200);
    expect(answer.body).toHaveLength(0);
    expect(pool.provider.requests[0]?.method).toBe("HEAD");
  });

  it.each(["gzip", "br", "zstd"] as const)("leaves a body in %s as it is", async (coding) => {
    await using pool = await poolOf(gateway, { weights: [1] });
    let asked: string | undefined;
    pool.provider.on().next(
      reply.by((request) => {
        asked = request.header("accept-encoding");
        return reply.encoded(coding, 200, {}, { text: "x".repeat(5_000) });
      }),
    );

    const answer = await callOnWire(gateway.url, {
      path: `/${pool.record.slug}/v1/models`,
      headers: { "accept-encoding": coding },
    });

    expect(asked).toBe(coding);
    expect(answer.header("content-encoding")).toBe(coding);
    expect(answer.body.length).toBeLessThan(1_000);
    expect(decoders[coding](answer.body).toString()).toBe(`{"text":"${"x".repeat(5_000)}"}`);
  });

  it("lives through interim answers and trailers", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider
      .on()
      .next(
        reply.interim(103, { link: "</a>; rel=preload" }, reply.json(200, {}, { n: 1 })),
        reply.trailers({ "x-checksum": "abc" }, 200, {}, '{"n":2}'),
      );

    const first = await callOnWire(gateway.url, { path: `/${pool.record.slug}/v1/models` });
    const second = await callOnWire(gateway.url, { path: `/${pool.record.slug}/v1/models` });

    expect([first.json(), second.json()]).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it("takes a body that ends with the connection for a whole one", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.on().next(reply.halfOpen(200, { "content-type": "application/json" }, '{"n":1}'));

    const answer = await callOnWire(gateway.url, { path: `/${pool.record.slug}/v1/models` });

    expect([answer.complete, answer.json()]).toEqual([true, { n: 1 }]);
  });

  it("asks for the body itself when a client expects 100-continue, and never forwards that", async () => {
    await using pool = await poolOf(gateway, { kind: "openai-compatible", weights: [1] });

    const said = await talkOnWire(
      gateway.url,
      `POST /${pool.record.slug}/x HTTP/1.1\r\nHost: ${new URL(gateway.url).host}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n`,
      (received) => received.includes("\r\n\r\n"),
    );

    expect(said).toMatch(/^HTTP\/1\.1 100 /);
    expect(pool.provider.requests.filter((request) => request.header("expect") !== undefined)).toEqual([]);
  });
});

describe("contract: framing", () => {
  it.each([
    ["chunked", reply.sse(["data: 1\n\n"], { status: 418 })],
    ["of a told length", reply.json(418, {}, {})],
  ])("gives an answer %s exactly one framing header", async (_, answered) => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.on().next(answered);

    const answer = await callOnWire(gateway.url, { path: `/${pool.record.slug}/v1/models` });

    const framing = answer.rawHeaders.filter(
      (name, at) => at % 2 === 0 && /^(content-length|transfer-encoding)$/i.test(name),
    );
    expect(framing).toHaveLength(1);
    expect(answer.complete).toBe(true);
  });

  it("reaches a provider on this machine directly, whatever the environment says of proxies", async () => {
    const nowhere = "http://127.0.0.1:9";
    await using proxied = await runGateway({ env: { HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, http_proxy: nowhere } });
    await using pool = await poolOf(proxied, { weights: [1] });

    expect((await pool.send()).status).toBe(200);
  });
});

describe("contract: bodies are identical, byte for byte", () => {
  const megabytes = 20;
  const large = Buffer.alloc(megabytes * 1024 * 1024);
  for (let at = 0; at < large.length; at += 4) large.writeUInt32LE((at * 2_654_435_761) >>> 0, at);

  it.each<[name: string, type: string, body: () => Uint8Array<ArrayBuffer>]>([
    [
      "JSON in odd form",
      "application/json",
      () => Buffer.from('{ "messages" : [\n\t{"role":"user","content":"é\\u00e9 \\/"} ], "n":1.0 }\r\n'),
    ],
    ["JSON that is none", "application/json", () => Buffer.from('{"messages": [')],
    ["every byte there is", "application/octet-stream", () => Buffer.from(Array.from({ length: 256 }, (_, at) => at))],
    ["gzipped JSON", "application/json", () => gzipSync('{"messages":[]}')],
    ["nothing", "application/json", () => Buffer.alloc(0)],
  ])("sends %s on as it came", async (name, type, make) => {
    await using pool = await poolOf(gateway, { kind: "openai-compatible", weights: [1] });
    const body = make();

    await callOnWire(gateway.url, {
      path: `/${pool.record.slug}/x`,
      method: "POST",
      headers: { "content-type": type, ...(name.startsWith("gzip") ? { "content-encoding": "gzip" } : {}) },
      body,
    });

    const [request] = pool.provider.requests;
    expect(request?.bodyHash).toBe(sha256(body));
    expect(request?.header("content-length")).toBe(String(body.length));
    expect(request?.header("content-type")).toBe(type);
  });

  it("sends a form on with its boundary", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const boundary = "----test-boundary";
    const body = Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--${boundary}\r\n`),
      Buffer.from('Content-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'),
      large.subarray(0, 300_000),
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]);

    const answer = await callOnWire(gateway.url, {
      path: `/${pool.record.slug}/v1/files`,
      headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
      body,
    });

    expect(answer.json()).toMatchObject({ bytes: 300_000, purpose: "batch" });
    expect(pool.provider.requests[0]?.bodyHash).toBe(sha256(body));
  });

  it(`carries ${megabytes} MB each way`, async () => {
    await using pool = await poolOf(gateway, { kind: "openai-compatible", weights: [1] });
    pool.provider.on().next(reply.status(200, { "content-type": "application/octet-stream" }, large));

    const answer = await callOnWire(gateway.url, { path: `/${pool.record.slug}/x`, body: large });

    expect(sha256(answer.body)).toBe(sha256(large));
    expect(pool.provider.requests[0]?.bodyHash).toBe(sha256(large));
    expect(answer.header("content-length")).toBe(String(large.length));
  });

  it("sends the very same bytes again with the next key, an upload without a length too", async () => {
    await using pool = await poolOf(gateway, { kind: "openai-compatible", weights: [1, 1] });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    const body = large.subarray(0, 2_000_000);

    const response = await fetch(`${pool.baseUrl}/x`, {
      method: "POST",
      headers: { "content-type": "application/octet-stream" },
      body: new Blob([body]).stream(),
      duplex: "half",
    });
    await response.arrayBuffer();

    expect(response.status).toBe(200);
    expect(pool.provider.picks()).toBe("AB");
    expect(pool.provider.requests.map((request) => request.bodyHash)).toEqual([sha256(body), sha256(body)]);
  });

  it("switches keys although the refusal comes before the upload was read", async () => {
    await using pool = await poolOf(gateway, { kind: "openai-compatible", weights: [1, 1] });
    pool.provider.forKey(pool.valueOf("A")).next(reply.early(429, {}, "no"));
    const body = large.subarray(0, 4_000_000);

    const answer = await callOnWire(gateway.url, { path: `/${pool.record.slug}/x`, body });

    expect(answer.status).toBe(200);
    expect(pool.provider.requests[1]?.bodyHash).toBe(sha256(body));
    expect((await pool.key("A")).status).toBe("cooling_down");
  });

  it("does not wait for the end of a refusal that has none", async () => {
    await using pool = await poolOf(gateway, { kind: "openai-compatible", weights: [1, 1] });
    pool.provider.forKey(pool.valueOf("A")).next(reply.endless("x".repeat(1_000), { status: 429, delayMs: 5 }));

    const response = await pool.send();
    await response.arrayBuffer();

    expect(response.status).toBe(200);
    await pool.provider.until(() => pool.provider.openRequests.length === 0, "the end of the refusal");
  });
});
