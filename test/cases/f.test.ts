import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, request as httpRequest } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { gzipSync, zstdCompressSync } from "node:zlib";
import {
  anthropicError,
  type Reply,
  reply,
  runGateway,
  type RunningGateway,
  type ScriptedKind,
  sha256,
  startScriptedProvider,
} from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, type PooledProvider } from "../pooled-provider.ts";
import { callOnWire, talkOnWire } from "../wire-client.ts";
import { healthOf } from "./observed.ts";

let gateway: RunningGateway;
/** One that lets nobody in without a token. */
let guarded: RunningGateway;
let token: string;
beforeAll(async () => {
  [gateway, guarded] = await Promise.all([runGateway(), runGateway({ flags: ["--require-token"] })]);
  ({ token } = await guarded.api<{ token: string }>("POST", "/tokens", { name: "cases" }));
  return async () => {
    await gateway[Symbol.asyncDispose]();
    await guarded[Symbol.asyncDispose]();
  };
});

const mebibyte = 1024 * 1024;

/** Takes the upload in without keeping it, as a test of many large ones must. */
const swallow: Reply = {
  readsBody: false,
  async play(exchange) {
    await exchange.discardBody();
    exchange.head(200, { "content-type": "application/json", "content-length": "2" });
    await exchange.end("{}");
  },
};

function pieces(bytes: Buffer, pieceBytes: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.subarray(at, (at += pieceBytes)));
    },
  });
}

function audioForm(): { readonly type: string; readonly body: Buffer } {
  const boundary = "----keywheel-test-boundary";
  const head =
    `--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-test\r\n` +
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n`;
  const audio = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7) & 255));
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.concat([Buffer.from(head), audio, Buffer.from(`\r\n--${boundary}--\r\n`)]),
  };
}

/** Resident memory of a process, MiB. */
function residentMiB(pid: number): number {
  return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) / 1024;
}

/** The raw head of a handshake. */
function handshake(pool: PooledProvider, from: RunningGateway, headers: readonly string[]): string {
  const lines = [
    `GET /${pool.record.slug}/v1/realtime?model=gpt-realtime HTTP/1.1`,
    `Host: ${new URL(from.url).host}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ...headers,
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

describe("F. bodies, headers, URLs", () => {
  const json = Buffer.from(JSON.stringify({ model: "gpt-test", messages: [], text: "é".repeat(1_000_000) }));
  const form = audioForm();
  it.each([
    ["2 MB of JSON", "/v1/chat/completions", "application/json", json],
    ["a form with audio", "/v1/audio/transcriptions", form.type, form.body],
    ["bytes of no known kind", "/v1/anything", "application/octet-stream", Buffer.alloc(100_000, 200)],
  ])("case 50: the retry sends %s whole: same bytes, length and boundary", async (_, path, type, body) => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    pool.provider.forKey(pool.valueOf("B")).next(reply.json(200, {}, {}));

    const response = await pool.send({ path, headers: { "content-type": type }, body: new Uint8Array(body) });

    expect([response.status, pool.provider.picks()]).toEqual([200, "AB"]);
    for (const request of pool.provider.requests) {
      expect(request.bodyHash).toBe(sha256(body));
      expect(request.headerValues("content-length")).toEqual([String(body.length)]);
      expect(request.headerValues("content-type")).toEqual([type]);
    }
  });

  it("case 50: the retry sends an upload of unknown length whole", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    const init = { method: "POST", body: pieces(form.body, 7_000), duplex: "half" as const };

    const response = await fetch(`${pool.baseUrl}/v1/audio/transcriptions`, {
      ...init,
      headers: { "content-type": form.type },
    });

    expect(await response.json()).toEqual({ text: "Heard 300000 bytes of a.wav." });
    expect(pool.provider.requests.map((request) => request.bodyHash)).toEqual([sha256(form.body), sha256(form.body)]);
  });

  it("case 50: a body too large to be kept is sent once; its refusal reaches the client, and the key still cools", async () => {
    await using pool = await poolOf(gateway, { settings: { max_body_bytes: 80 * mebibyte } });
    pool.provider.forKey(pool.valueOf("A")).next({
      readsBody: false,
      async play(exchange) {
        await exchange.discardBody();
        await reply.json(429, {}, { error: { message: "Slow down" } }).play(exchange);
      },
    });

    const response = await pool.send({ path: "/v1/files", body: new Uint8Array(65 * mebibyte) });

    expect([response.status, response.headers.get("x-keywheel-attempts")]).toEqual([429, "1"]);
    expect(await response.json()).toEqual({ error: { message: "Slow down" } });
    expect(pool.provider.picks()).toBe("A");
    expect(await healthOf(gateway, pool)).toEqual(["cooling_down 1", "available 0"]);
  });

  it("case 52: a request with 20 MB of image passes with the default settings, and over a failover too", async () => {
    await using pool = await poolOf(gateway);
    const image = Buffer.alloc(15_000_000, 137).toString("base64");
    const content = [{ type: "image_url", image_url: { url: `data:image/png;base64,${image}` } }];
    const body = JSON.stringify({ model: "gpt-test", messages: [{ role: "user", content }] });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    pool.provider.forKey(pool.valueOf("B")).next(reply.json(200, {}, {}));

    const response = await pool.send({ body });

    expect([response.status, body.length > 20_000_000]).toEqual([200, true]);
    expect(pool.provider.requests.map((request) => request.bodyHash)).toEqual([sha256(body), sha256(body)]);
  });

  it("case 52: two hundred uploads of 10 MB at once leave the gateway's memory bounded", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.on().always(swallow);
    const body = Buffer.alloc(10_000_000);
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, residentMiB(gateway.pid))), 200);

    // Not with `fetch`, which would copy each body.
    const upload = { path: `/${pool.record.slug}/v1/files`, body };
    const answers = await Promise.all(Array.from({ length: 200 }, () => callOnWire(gateway.url, upload)));
    clearInterval(watch);

    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([200]));
    // 2 GB went through; bodies may take 512 MiB together, beyond which they are streamed.
    expect(most).toBeLessThan(1_200);
  });

  const question = '{"model":"gpt-test","messages":[{"role":"user","content":"Hi"}]}';
  it.each([
    ["gzip", gzipSync(question)],
    ["zstd", zstdCompressSync(question)],
    ["gzip", gzipSync(Buffer.alloc(80 * mebibyte))],
    ["br", Buffer.from("not brotli at all")],
  ])("case 53: a body in %s reaches the provider as it was, named as it was", async (coding, body) => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.on().next(reply.json(200, {}, {}));

    const response = await pool.send({ headers: { "content-encoding": coding }, body: new Uint8Array(body) });

    const [request] = pool.provider.requests;
    expect([response.status, request?.bodyHash]).toEqual([200, sha256(body)]);
    expect(request?.headerValues("content-encoding")).toEqual([coding]);
  });

  it("case 54: a client that waits for leave gets it at once, and the provider never hears of it", async () => {
    await using pool = await poolOf(guarded);
    const headers = { authorization: `Bearer ${token}`, expect: "100-continue", "content-type": "application/json" };
    const waitedMs: number[] = [];
    for (let attempt = 0; attempt < 3; attempt++) {
      const call = httpRequest(`${pool.baseUrl}/v1/chat/completions`, { method: "POST", headers });
      const began = performance.now();
      call.flushHeaders();
      await once(call, "continue");
      waitedMs.push(performance.now() - began);
      call.end(question);
      const [response] = (await once(call, "response")) as [IncomingMessage];
      response.resume();
      expect(response.statusCode).toBe(200);
    }

    // The fastest of three: what is measured is the gateway, not a busy machine.
    expect(Math.min(...waitedMs)).toBeLessThan(100);
    for (const request of pool.provider.requests) {
      expect([request.header("expect"), request.bodyHash]).toEqual([undefined, sha256(question)]);
    }
  });

  it("case 54: one with a wrong token is refused without being asked for its body", async () => {
    await using pool = await poolOf(guarded);
    const head =
      `POST /${pool.record.slug}/v1/chat/completions HTTP/1.1\r\nHost: ${new URL(guarded.url).host}\r\n` +
      "Authorization: Bearer kw_wrong\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";

    const received = await talkOnWire(guarded.url, head, (text) => text.includes("\r\n\r\n"));

    expect(received).toMatch(/^HTTP\/1\.1 401 /);
    expect(received).not.toContain("100 Continue");
    expect(pool.provider.requests).toHaveLength(0);
  });

  it("case 55: what `connection` names stays on its own hop", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.on().next(reply.json(200, { connection: "keep-alive, x-inner", "x-inner": "1" }, {}));

    const answer = await callOnWire(gateway.url, {
      path: `/${pool.record.slug}/v1/models`,
      headers: {
        connection: "close, x-secret",
        "x-secret": "1",
        "keep-alive": "timeout=9",
        te: "trailers",
        "proxy-connection": "keep-alive",
      },
    });

    const names = (pool.provider.requests[0]?.rawHeaders ?? [])
      .filter((_, at) => at % 2 === 0)
      .map((name) => name.toLowerCase());
    for (const name of ["x-secret", "te", "keep-alive", "proxy-connection"]) expect(names).not.toContain(name);
    expect(answer.header("x-inner")).toBeUndefined();
  });

  it.each<[string, Reply]>([
    ["chunked", reply.trickle('{"error":{"message":"Slow"}}', { status: 429, pieceBytes: 5, headers: {} })],
    ["of told length", reply.json(429, {}, { error: { message: "Slow" } })],
    ["chunked, with trailers", reply.trailers({ "x-sum": "1" }, 429)],
    ["ended by the end of its connection", reply.halfOpen(429, { "content-type": "application/json" }, "{}")],
  ])("case 55: a refusal that was %s is framed once, whether it is passed on or replaced", async (_, refusal) => {
    await using empty = await poolOf(gateway, { weights: [], apiKey: "sk-test-provider-level-0123456789abcdef" });
    await using resting = await poolOf(gateway, { weights: [1] });
    const answers = [];
    for (const pool of [empty, resting]) {
      pool.provider.on().next(refusal);
      answers.push(
        await callOnWire(gateway.url, {
          path: `/${pool.record.slug}/v1/models`,
          headers: { connection: "keep-alive" },
        }),
      );
    }

    expect(answers.map((answer) => answer.status)).toEqual([429, 429]);
    expect(answers.map((answer) => answer.header("x-keywheel-error"))).toEqual([undefined, "pool_exhausted"]);
    for (const answer of answers) {
      const framing = [...answer.headerValues("content-length"), ...answer.headerValues("transfer-encoding")];
      expect([framing.length, answer.complete]).toEqual([1, true]);
    }
  });

  it("case 56: the provider sees its own host and nothing of the way to the gateway", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const traces = {
      forwarded: "for=203.0.113.7",
      "x-forwarded-for": "203.0.113.7",
      "x-forwarded-host": "inner.example",
      "x-forwarded-proto": "https",
      "x-real-ip": "203.0.113.7",
      "cf-connecting-ip": "203.0.113.7",
      "cf-ray": "inner-1",
      "true-client-ip": "203.0.113.7",
      "cdn-loop": "inner",
      via: "1.1 inner",
    };

    await callOnWire(gateway.url, { path: `/${pool.record.slug}/v1/models`, headers: traces });

    const [request] = pool.provider.requests;
    expect(request?.headerValues("host")).toEqual([new URL(pool.provider.origin).host]);
    expect(request?.rawHeaders.join("\n")).not.toMatch(/203\.0\.113\.7|inner/);
  });

  it.each<ScriptedKind>(["openai", "anthropic", "gemini", "azure-openai"])(
    "case 57: a token shown in five places at once lets the client in and goes no further, for kind %s",
    async (kind) => {
      await using pool = await poolOf(guarded, { kind, weights: [1] });
      const paths: Record<string, string> = {
        gemini: "/v1beta/models",
        "azure-openai": "/openai/v1/models",
      };

      const answer = await callOnWire(guarded.url, {
        path: `/${pool.record.slug}${paths[kind] ?? "/v1/models"}?alt=sse&key=${token}&b=%2F`,
        headers: {
          authorization: `Bearer ${token}`,
          "x-api-key": token,
          "api-key": token,
          "x-goog-api-key": token,
          cookie: `session=${token}`,
          "openai-organization": "org-1",
          "openai-project": "proj-1",
          "anthropic-version": "2023-06-01",
        },
      });

      const [request] = pool.provider.requests;
      expect(answer.status).toBe(200);
      // Whatever else it had seen would be a fault of its record, which fails the test at its end.
      expect([request?.key, request?.faults]).toEqual([pool.valueOf("A"), []]);
      expect(request?.url.split("?")[1]).toBe("alt=sse&b=%2F");
      expect(request?.rawHeaders.join("\n")).not.toMatch(/org-1|proj-1|kw_/);
    },
  );

  it("case 58: Anthropic sees one credential, whichever header the client used", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic", weights: [1] });
    for (const headers of [{ authorization: "Bearer own" }, { "x-api-key": "own", authorization: "Bearer own" }]) {
      const response = await pool.send({ headers });
      expect(response.status).toBe(200);
    }

    for (const request of pool.provider.requests) {
      expect(request.headerValues("x-api-key")).toEqual([pool.valueOf("A")]);
      expect(request.header("authorization")).toBeUndefined();
    }
  });

  it("case 58: a key that is a token of Anthropic's is shown as a bearer, and alone", async () => {
    const oauth = "sk-ant-oat01-test-0123456789abcdef0123456789abcdef";
    // The generic dialect wants a bearer, and objects to anything beside it.
    await using provider = await startScriptedProvider({ kind: "openai-compatible", keys: [oauth] });
    const record = await gateway.addProvider({ kind: "anthropic", slug: "oauth", baseUrl: provider.baseUrl });
    await gateway.addKeys(record, [oauth]);

    const response = await fetch(`${gateway.baseUrlOf(record)}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": "own", "anthropic-version": "2023-06-01", "content-type": "application/json" },
      body: "{}",
    });

    expect([response.status, provider.requests[0]?.key, provider.faults]).toEqual([200, oauth, []]);
  });

  it("case 59: headers of features and of programs arrive as they were, repeated ones twice", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic", weights: [1] });
    const sent = {
      "anthropic-version": "2023-06-01",
      "anthropic-beta": ["one-2026-01-01", "two-2026-01-01"],
      "anthropic-dangerous-direct-browser-access": "true",
      "x-app": "cli",
      "x-stainless-lang": "js",
      "x-stainless-timeout": "600",
      "user-agent": "claude-cli/9.9 (external, cli)",
      "x-nobody-has-heard-of": "this",
    };

    await callOnWire(gateway.url, { path: `/${pool.record.slug}/v1/models`, headers: sent });

    const [request] = pool.provider.requests;
    for (const [name, value] of Object.entries(sent)) expect(request?.headerValues(name)).toEqual([value].flat());
  });

  it("case 60: the counting of tokens is a path like any other, query and all", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });
    const body = { model: "claude-test", messages: [{ role: "user", content: "Hi" }] };

    const response = await pool.send({ path: "/v1/messages/count_tokens?beta=true", body });

    expect(await response.json()).toEqual({ input_tokens: expect.any(Number) });
    expect(pool.provider.requests[0]?.url).toBe("/v1/messages/count_tokens?beta=true");
  });

  it.each([
    [404, anthropicError(404, "not_found_error", "Not found")],
    [400, anthropicError(400, "invalid_request_error", "count_tokens is not supported")],
    [501, reply.status(501)],
  ])("case 60: a provider that cannot count (%i) says so itself, and no key suffers", async (status, answer) => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });
    pool.provider.on({ path: /count_tokens$/ }).always(answer);

    const response = await pool.send({ path: "/v1/messages/count_tokens", body: { model: "m", messages: [] } });

    expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([status, null]);
    expect([pool.provider.picks(), ...(await healthOf(gateway, pool))]).toEqual(["A", "available 0", "available 0"]);
  });

  it.each<[ScriptedKind, string, string, string]>([
    ["openai", "/v1", "/v1/chat/completions", "/v1/chat/completions"],
    ["openai", "/v1", "/chat/completions", "/v1/chat/completions"],
    ["openai", "/v1/", "/v1/chat/completions", "/v1/chat/completions"],
    ["openai", "/v1", "//chat/completions", "/v1/chat/completions"],
    ["openai", "/v1", "/v10/chat", "/v1/v10/chat"],
    ["openai", "/v1", "/v1beta/chat", "/v1/v1beta/chat"],
    ["openai", "/v1", "/files/v1/content", "/v1/files/v1/content"],
    ["openai-compatible", "", "/v1/chat/completions", "/v1/chat/completions"],
    ["openai-compatible", "/api/paas/v4", "/chat/completions", "/api/paas/v4/chat/completions"],
    ["openai-compatible", "/api/paas/v4/", "/v4/chat/completions", "/api/paas/v4/chat/completions"],
    ["openai-compatible", "/custom/prefix", "/v1/x/", "/custom/prefix/v1/x/"],
    ["openai-compatible", "/api/v1", "/api/v1/chat/completions", "/api/v1/chat/completions"],
  ])(
    "case 61: for kind %s, base %s and request %s meet at %s, and the key's test stays under the same base",
    async (kind, base, path, joined) => {
      await using provider = await startScriptedProvider({ kind: "openai-compatible", keys: [joinKey] });
      const slug = `joined-${++joins}`;
      const record = await gateway.addProvider({ kind, slug, baseUrl: `${provider.origin}${base}` });
      const [key] = await gateway.addKeys(record, [joinKey]);

      await callOnWire(gateway.url, { path: `/${slug}${path}?a=1` });
      const tested = await gateway.api<{ ok: boolean }>("POST", `/keys/${key?.id}/test`);

      const cleanBase = base.replace(/\/$/, "");
      expect(provider.requests.map((request) => request.url)).toEqual([`${joined}?a=1`, `${cleanBase}/models`]);
      expect(tested.ok).toBe(true);
    },
  );
  const joinKey = "sk-test-joined-0123456789abcdef";
  let joins = 0;

  it("case 62: Azure sees `api-key` alone, and the version that the client asks for", async () => {
    await using pool = await poolOf(gateway, { kind: "azure-openai", weights: [1] });

    const response = await pool.send({ headers: { authorization: "Bearer own", "api-key": "own" } });

    const [request] = pool.provider.requests;
    expect(response.status).toBe(200);
    expect(request?.headerValues("api-key")).toEqual([pool.valueOf("A")]);
    expect(request?.header("authorization")).toBeUndefined();
    expect(request?.query.get("api-version")).toBe("2026-01-01");
  });

  it("case 64: a vendor's cookie named like the operator's never gets out; the operator's never gets in", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const cookies = ["keywheel_session=stolen; Path=/", "kw_session=stolen", "__Host-keywheel=stolen; Secure; Path=/"];
    pool.provider
      .on()
      .next(reply.json(200, { "set-cookie": cookies }, {}), reply.status(500, { "set-cookie": cookies }));

    for (let request = 0; request < 2; request++) {
      const answer = await callOnWire(gateway.url, {
        path: `/${pool.record.slug}/v1/models`,
        headers: { cookie: "keywheel_session=operators" },
      });
      expect(answer.headerValues("set-cookie")).toEqual([]);
    }

    expect(pool.provider.requests).toHaveLength(2);
    for (const request of pool.provider.requests) expect(request.header("cookie")).toBeUndefined();
  });

  it.each([
    ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"],
    ["http_proxy", "https_proxy", "no_proxy"],
  ])("case 65: %s, %s and %s are obeyed; this machine is reached directly", async (http, https, none) => {
    const asked: string[] = [];
    const proxy = createServer((incoming, outgoing) => {
      asked.push(`${incoming.method} ${incoming.url}`);
      outgoing.writeHead(200, { "content-type": "application/json" }).end('{"from":"proxy"}');
    });
    proxy.on("connect", (incoming: IncomingMessage, socket: Socket) => {
      asked.push(`CONNECT ${incoming.url}`);
      socket.end("HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n");
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await using own = await runGateway({ env: { [http]: url, [https]: url, [none]: "exempt.invalid" } });
    await using local = await poolOf(own, { weights: [1] });
    const statuses: number[] = [];
    for (const [slug, baseUrl] of [
      ["far", "http://provider.invalid/v1"],
      ["secure", "https://provider.invalid/v1"],
      ["exempt", "http://exempt.invalid/v1"],
    ] as const) {
      const record = await own.addProvider({ slug, baseUrl });
      await own.addKeys(record, [`sk-test-${slug}-0123456789abcdef`]);
      statuses.push((await fetch(`${own.baseUrlOf(record)}/models`)).status);
    }

    statuses.push((await local.send()).status);
    proxy.close();

    expect(statuses).toEqual([200, 502, 502, 200]);
    expect(asked).toEqual(["GET http://provider.invalid/v1/models", "CONNECT provider.invalid:443"]);
  });

  it("case 66: an upgrade that the first key is refused is granted by the next; the token's item is taken out", async () => {
    await using pool = await poolOf(guarded);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));

    const received = await talkOnWire(
      guarded.url,
      handshake(pool, guarded, [
        `Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.${token}, openai-beta.realtime-v1`,
      ]),
      (text) => text.includes("\r\n\r\n"),
    );

    expect(received).toMatch(/^HTTP\/1\.1 101 /);
    expect(received).toMatch(/sec-websocket-protocol: realtime\r\n/i);
    expect(pool.provider.picks()).toBe("AB");
    expect(pool.provider.requests[1]?.header("sec-websocket-protocol")).toBe("realtime, openai-beta.realtime-v1");
    expect(await healthOf(guarded, pool)).toEqual(["cooling_down 1", "available 0"]);
  });

  it("case 66: an upgrade that a revoked key is refused disables it", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.revoke(pool.valueOf("A"));

    const received = await talkOnWire(gateway.url, handshake(pool, gateway, []), (text) => text.includes("\r\n\r\n"));

    expect(received).toMatch(/^HTTP\/1\.1 101 /);
    expect(await healthOf(gateway, pool)).toEqual(["disabled 0", "available 0"]);
  });

  it("case 66: nobody is let in on the strength of an upgrade", async () => {
    await using pool = await poolOf(guarded);

    const received = await talkOnWire(
      guarded.url,
      handshake(pool, guarded, ["Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.kw_wrong"]),
    );

    expect(received).toMatch(/^HTTP\/1\.1 401 /);
    expect(pool.provider.requests).toHaveLength(0);
  });

  it("case 66: a connection that stands is not moved to another key; its end is the client's to see", async () => {
    await using pool = await poolOf(gateway);
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    socket.write(handshake(pool, gateway, []));
    await once(socket, "data");

    await pool.provider.close();
    await once(socket.resume(), "close");

    expect(pool.provider.picks()).toBe("A");
    expect(await healthOf(gateway, pool)).toEqual(["available 0", "available 0"]);
  });
});
