import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { healthy } from "@keywheel/pool";
import { reply, sha256, startScriptedProvider } from "@keywheel/testkit";
import {
  benchKeys,
  chat,
  comesToPass,
  failuresOf,
  isOwnClient,
  openDataPlane,
  rawSocket,
  readUntilClosed,
} from "./data-plane.test-bench.ts";

/** Says everything before it reads anything. */
async function writeAll(socket: Socket, length: number): Promise<void> {
  const piece = Buffer.alloc(1_000_000);
  for (let left = length; left > 0; left -= piece.length) {
    if (!socket.write(piece.subarray(0, Math.min(left, piece.length)))) await once(socket, "drain");
  }
}

it("lets go of the connections of a burst, however long the provider would keep them", async () => {
  const bench = await openDataPlane({ keepAliveMs: 500 });
  bench.provider.on().always(reply.slowHeaders(100, reply.json(200, {}, {})));
  const count = 20;
  await Promise.all(
    Array.from({ length: count }, async () => (await fetch(`${bench.url}/chat/completions`, chat)).arrayBuffer()),
  );
  // On a busy machine the last of them find those of the first idle.
  expect(bench.provider.connections.open).toBeGreaterThan(count / 4);

  await comesToPass(() => expect(bench.provider.connections.open).toBe(0));
});

describe("a request", () => {
  it("arrives with method, path, query, body and end-to-end headers as they were sent, and one credential: the pool's", async () => {
    const bench = await openDataPlane();
    const socket = await rawSocket(
      bench,
      "PATCH /llm/v1/things/a%20b?alt=sse&key=kw_x&b=%2F HTTP/1.1\r\nHost: gateway.example\r\nAuthorization: Bearer kw_x\r\n" +
        "x-api-key: kw_x\r\napi-key: kw_x\r\nx-goog-api-key: kw_x\r\nCookie: a=b\r\nX-Forwarded-For: 10.0.0.1\r\n" +
        "Forwarded: for=10.0.0.1\r\nVia: 1.1 x\r\nCF-Ray: 1\r\nTE: trailers\r\nConnection: close, X-Secret\r\nX-Secret: 1\r\n" +
        "OpenAI-Organization: org-1\r\nanthropic-beta: one\r\nanthropic-beta: two\r\nX-Stainless-Lang: js\r\n" +
        "User-Agent: test/1\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
    );
    await readUntilClosed(socket);

    const [seen] = bench.provider.requests;
    expect(seen?.method).toBe("PATCH");
    expect(seen?.url).toBe("/v1/things/a%20b?alt=sse&b=%2F");
    expect(seen?.body.toString()).toBe("hello");
    const names = (seen?.rawHeaders ?? []).filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    expect(names.sort()).toEqual(
      [
        "anthropic-beta",
        "anthropic-beta",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "user-agent",
        "x-stainless-lang",
      ].sort(),
    );
    expect(seen?.headerValues("anthropic-beta")).toEqual(["one", "two"]);
    expect(seen?.header("authorization")).toBe(`Bearer ${benchKeys[0]}`);
    expect(seen?.header("host")).toBe(new URL(bench.provider.origin).host);
  });

  it("of our own pages needs no token, and its cookie goes no further", async () => {
    const { provider, url } = await openDataPlane({ token: "kw_right" });
    const send = async (headers: Record<string, string>): Promise<number> => {
      const response = await fetch(`${url}/chat/completions`, { ...chat, headers: { ...chat.headers, ...headers } });
      await response.text();
      return response.status;
    };

    expect(await send({})).toBe(401);
    expect(await send({ cookie: "somebody-else" })).toBe(401);
    expect(await send({ cookie: "signed-in" })).toBe(200);
    expect(provider.requests.map((request) => request.headerValues("cookie"))).toEqual([[]]);
  });

  // Anthropic refuses what has an origin, Ollama what has a foreign one: a refusal that would cost the key.
  it("of our own pages arrives without what the browser says of the way here", async () => {
    const { provider, url } = await openDataPlane();
    const ofBrowser = {
      origin: "http://127.0.0.1:8787",
      referer: url,
      "sec-fetch-site": "same-origin",
      "sec-gpc": "1",
    };
    const headers = { ...chat.headers, ...ofBrowser, "x-stainless-lang": "js" };

    await (
      await fetch(`${url}/chat/completions`, { ...chat, headers: { ...headers, "x-keywheel-page": "chat" } })
    ).text();
    await (await fetch(`${url}/chat/completions`, { ...chat, headers })).text();

    const [ours, others] = provider.requests;
    const seen = (name: string): unknown[] => [ours?.header(name), others?.header(name)];
    expect(seen("origin")).toEqual([undefined, "http://127.0.0.1:8787"]);
    expect(seen("referer")).toEqual([undefined, url]);
    expect(seen("sec-fetch-site")).toEqual([undefined, "same-origin"]);
    expect(seen("sec-gpc")).toEqual([undefined, "1"]);
    expect(seen("x-stainless-lang")).toEqual(["js", "js"]);
    expect(ours?.headerValues("x-keywheel-page")).toEqual([]);
  });

  it("without a user agent gets one of ours (case 21)", async () => {
    const bench = await openDataPlane();
    await readUntilClosed(await rawSocket(bench, "GET /llm/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"));

    expect(bench.provider.requests[0]?.header("user-agent")).toBe("keywheel/0.0.0");
  });

  it.each([
    ["2 MB of JSON", Buffer.from(JSON.stringify({ model: "m", text: "x".repeat(2_000_000) })), {}],
    ["a gzipped body", gzipSync('{"model":"m"}'), { "content-encoding": "gzip" }],
    ["binary", Buffer.from(Array.from({ length: 70_000 }, (_, index) => index & 255)), { "content-type": "audio/wav" }],
  ])("of %s is sent again byte for byte after a 429 (case 50)", async (_, body, headers) => {
    const { provider, url } = await openDataPlane();
    provider.on({ key: benchKeys[0]! }).next(reply.json(429, {}, {}));
    provider.on({ key: benchKeys[1]! }).next(reply.json(200, {}, { ok: true }));

    const response = await fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });

    expect(response.status).toBe(200);
    expect(provider.requests.map((request) => request.bodyHash)).toEqual([sha256(body), sha256(body)]);
    expect(provider.requests[0]?.rawHeaders.length).toBe(provider.requests[1]?.rawHeaders.length);
  });

  it("of chunks without a length is sent again whole", async () => {
    const { provider, url } = await openDataPlane();
    provider.on({ key: benchKeys[0]! }).next(reply.json(429, {}, {}));
    const stream = new ReadableStream({
      async start(controller) {
        for (let n = 0; n < 20; n++) controller.enqueue(new Uint8Array(1_000).fill(n));
        controller.close();
      },
    });

    await fetch(`${url}/audio`, { method: "POST", body: stream, duplex: "half" });

    expect(provider.requests.map((request) => request.body.length)).toEqual([20_000, 20_000]);
    expect(provider.requests[0]?.bodyHash).toBe(provider.requests[1]?.bodyHash);
  });

  it("over the replay limit is streamed once and not tried again; the key still cools", async () => {
    const bench = await openDataPlane({ replayBytes: 1_000 });
    bench.provider.on({ key: benchKeys[0]! }).next(reply.json(429, {}, { error: { message: "slow" } }));
    const body = Buffer.alloc(500_000, 7);

    const response = await fetch(`${bench.url}/files`, { method: "POST", body });

    expect(response.status).toBe(429);
    expect(await response.json()).toEqual({ error: { message: "slow" } });
    expect(bench.provider.requests.map((request) => request.bodyHash)).toEqual([sha256(body)]);
    expect(await failuresOf(bench)).toEqual([1, 0, 0]);
  });

  it("finds no room in the common budget: it is streamed, not refused (case 52)", async () => {
    const { provider, url } = await openDataPlane({ budgetBytes: 1_000 });
    provider.on().always(reply.json(200, {}, {}));
    const body = Buffer.alloc(50_000, 1);

    expect((await fetch(`${url}/things`, { method: "POST", body })).ok).toBe(true);
    expect(provider.requests[0]?.bodyHash).toBe(sha256(body));
  });

  it.each([
    ["announced", { "content-length": "2000" }],
    ["found out on the way", { "transfer-encoding": "chunked" }],
  ])("over max_body_bytes, %s, is answered with 413 and never forwarded", async (_, headers) => {
    const { provider, port } = await openDataPlane({ settings: { maxBodyBytes: 1_000 } });
    const request = httpRequest({ port, path: "/llm/files", method: "POST", headers });
    request.end(Buffer.alloc(2_000));
    const [response] = (await once(request, "response")) as [IncomingMessage];

    expect(response.statusCode).toBe(413);
    expect(response.headers["x-keywheel-error"]).toBe("body_too_large");
    response.resume();
    expect(provider.requests).toHaveLength(0);
  });

  it("over max_body_bytes that was streamed gets 413 as well", async () => {
    const { port } = await openDataPlane({ settings: { maxBodyBytes: 200_000 }, replayBytes: 1_000 });
    const request = httpRequest({
      port,
      path: "/llm/files",
      method: "POST",
      headers: { "transfer-encoding": "chunked" },
    });
    request.on("error", () => {});
    request.end(Buffer.alloc(400_000));
    const [response] = (await once(request, "response")) as [IncomingMessage];

    expect(response.statusCode).toBe(413);
    response.resume();
  });

  it("that waits for leave to send too much does not get it", async () => {
    const bench = await openDataPlane({ settings: { maxBodyBytes: 1_000 } });
    const head = "POST /llm/files HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2000\r\n\r\n";
    const socket = await rawSocket(bench, head);
    const [first] = (await once(socket, "data")) as [Buffer];
    socket.destroy();

    expect(first.toString()).toMatch(/^HTTP\/1\.1 413 /);
  });

  it.each(["close", "keep-alive"])(
    "that is too large is read out, so that its client gets to the 413 (%s)",
    async (connection) => {
      const bench = await openDataPlane({ settings: { maxBodyBytes: 1_000 } });
      const length = 20_000_000;
      const socket = await rawSocket(
        bench,
        `POST /llm/files HTTP/1.1\r\nhost: x\r\nconnection: ${connection}\r\ncontent-length: ${length}\r\n\r\n`,
      );
      await writeAll(socket, length);
      const [first] = (await once(socket, "data")) as [Buffer];
      socket.destroy();

      expect(first.toString()).toMatch(/^HTTP\/1\.1 413 /);
    },
  );

  it("that is streamed and answered early is read out: its client may read nothing before it has said all", async () => {
    const bench = await openDataPlane({ replayBytes: 1_000 });
    bench.provider.on().next(reply.early(401, { "content-type": "application/json" }, '{"error":{"message":"no"}}'));
    const length = 30_000_000;
    const socket = await rawSocket(bench, `POST /llm/files HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`);
    await writeAll(socket, length);
    const [first] = (await once(socket, "data")) as [Buffer];
    socket.write("GET /llm/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    const next = await readUntilClosed(socket);

    expect(first.toString()).toMatch(/^HTTP\/1\.1 401 /);
    expect(next).toContain("HTTP/1.1 200 OK");
  });

  it("that waits for leave to send its body gets it (case 54)", async () => {
    const { provider, port } = await openDataPlane();
    const request = httpRequest({
      port,
      path: "/llm/chat/completions",
      method: "POST",
      headers: { expect: "100-continue", "content-type": "application/json" },
    });
    request.flushHeaders();
    await once(request, "continue");
    request.end('{"model":"m","messages":[]}');
    const [response] = (await once(request, "response")) as [IncomingMessage];

    expect(response.statusCode).toBe(200);
    response.resume();
    expect(provider.requests[0]?.header("expect")).toBeUndefined();
  });

  it.each([
    ["/nope/models", 404, "unknown_provider"],
    ["/llm/../etc", 400, "invalid_request"],
    ["/llm/%2e%2e/etc", 400, "invalid_request"],
    ["/llm/a%2f..%2fb", 400, "invalid_request"],
  ])("for %s is answered with %i %s", async (path, status, code) => {
    const bench = await openDataPlane();
    const socket = await rawSocket(bench, `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    const text = await readUntilClosed(socket);

    expect(text).toContain(`HTTP/1.1 ${status} `);
    expect(text).toContain(`x-keywheel-error: ${code}`);
    expect(bench.provider.requests).toHaveLength(0);
  });

  it.each(["http://elsewhere.example/llm/models", "//llm/models", "*"])(
    "never lets its target %s choose the destination (case 104)",
    async (target) => {
      const bench = await openDataPlane();
      const text = await readUntilClosed(
        await rawSocket(bench, `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`),
      );

      expect(text).toMatch(/^HTTP\/1\.1 40[04] /);
      expect(bench.provider.requests).toHaveLength(0);
    },
  );
});

describe("an answer", () => {
  it("comes back with status, reason, headers and bytes as they were, but for hop-by-hop headers and cookies", async () => {
    const bench = await openDataPlane();
    bench.provider.on().next(
      reply.status(
        418,
        {
          "X-Custom": ["a", "b"],
          "set-cookie": "kw=1",
          "keep-alive": "timeout=5",
          "alt-svc": "h3",
          date: "Mon, 08 Jun 2026 20:00:00 GMT",
        },
        "short and stout",
      ),
    );

    const text = await readUntilClosed(
      await rawSocket(bench, "GET /llm/pot HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
    );

    const [head = "", body] = text.split("\r\n\r\n");
    expect(body).toBe("short and stout");
    expect(head).toContain("X-Custom: a\r\nX-Custom: b");
    expect(head).toContain("date: Mon, 08 Jun 2026 20:00:00 GMT");
    expect(head).toContain(`x-keywheel-key: ${benchKeys[0]}`);
    expect(head).toContain("x-keywheel-attempts: 1");
    expect(head).not.toMatch(/set-cookie|alt-svc|timeout=5/i);
    expect(head.match(/content-length|transfer-encoding/gi)).toHaveLength(1);
  });

  it.each([
    ["in UTF-8 as it is", Buffer.from("请求错误 é"), Buffer.from("请求错误 é")],
    [
      "in Latin-1 as it is, where the client hands it on: undici does not",
      Buffer.from("Requ\u00eate", "latin1"),
      isOwnClient ? Buffer.from("Requ\u00eate", "latin1") : "Bad Request",
    ],
    ["of nothing as nothing", Buffer.from(""), ""],
    ["with a nought, which may stand in none", Buffer.from("O\0K"), "Bad Request"],
    ["with a control character", Buffer.from("O\x1bK\x7f"), "Bad Request"],
  ])("passes on a reason phrase %s", async (_, sent, expected) => {
    const bench = await openDataPlane();
    const head = Buffer.concat([Buffer.from("HTTP/1.1 400 "), sent, Buffer.from("\r\ncontent-length: 2\r\n\r\n{}")]);
    bench.provider.on().next(reply.raw([head], { end: "fin" }));

    const text = await readUntilClosed(
      await rawSocket(bench, "GET /llm/pot HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
    );

    expect(text.split("\r\n")[0]).toBe(`HTTP/1.1 400 ${Buffer.from(expected).toString("latin1")}`);
    expect(bench.faults).toEqual([]);
    expect((await fetch(`${bench.url}/models`)).status).toBe(200);
  });

  it.each([
    ["HEAD", 200],
    ["GET", 204],
    ["GET", 304],
  ])("without a body is passed on: %s %i", async (method, status) => {
    const { provider, url } = await openDataPlane();
    provider.on().always(reply.status(status, { etag: '"1"' }, status === 200 ? "x".repeat(100) : undefined));

    for (let n = 0; n < 3; n++) {
      const response = await fetch(`${url}/models`, { method });
      expect(response.status).toBe(status);
      expect(response.headers.get("etag")).toBe('"1"');
      expect(await response.text()).toBe("");
    }
  });

  it("to HEAD that would be a stream is passed on", async () => {
    const { provider, url } = await openDataPlane();
    provider.on().next(reply.status(200, { "content-type": "text/event-stream" }));

    const response = await fetch(`${url}/chat/completions`, { method: "HEAD" });

    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  });

  it("has trailers, but for those that are not the client's to see", async () => {
    const bench = await openDataPlane();
    const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nHi\r\n0\r\n";
    const trailers = "x-sum: 1\r\nset-cookie: a=b\r\naccess-control-allow-origin: *\r\nx-keywheel-key: other\r\n\r\n";
    bench.provider.on().next(reply.raw([chunked + trailers], { end: "fin" }));

    const text = await readUntilClosed(
      await rawSocket(bench, "GET /llm/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
    );

    expect(text.slice(text.indexOf("\r\n0\r\n"))).toBe("\r\n0\r\nx-sum: 1\r\n\r\n");
  });

  it("whose end is that of its connection is cut if the connection is reset (case 43)", async () => {
    const bench = await openDataPlane();
    const head = "HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\nconnection: close\r\n\r\n";
    bench.provider.on().next(reply.raw([head, "half of it"], { delayMs: 50, end: "rst" }));

    const response = await fetch(`${bench.url}/audio/speech`, chat);

    await expect(response.arrayBuffer()).rejects.toThrow("terminated");
    await expect.poll(() => bench.records).toMatchObject([{ ending: "truncated" }]);
  });

  it("that is cut is seen as cut by a client of HTTP/1.0 as well (case 43)", async () => {
    const bench = await openDataPlane();
    bench.provider.on().next(reply.cutInBody("rst", { headers: { "content-type": "audio/mpeg" }, sent: "half of it" }));
    const socket = await rawSocket(bench, "GET /llm/x HTTP/1.0\r\nhost: x\r\n\r\n");
    socket.resume();

    await expect(once(socket, "close")).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  it("of 200 that tells that what was to be made has failed is an error: another key makes it", async () => {
    const bench = await openDataPlane();
    const error = { code: "rate_limit_exceeded", message: "Rate limit reached for gpt-x" };
    bench.provider
      .on()
      .next(reply.json(200, {}, { id: "resp_0123", object: "response", status: "failed", output: [], error }));

    const response = await fetch(`${bench.url}/responses`, { ...chat, body: '{"model":"m","input":"Hi"}' });

    expect(response.headers.get("x-keywheel-attempts")).toBe("2");
    expect(bench.attempts.map(({ outcome }) => outcome)).toEqual(["model_rate_limited", "succeeded"]);
    expect(await failuresOf(bench)).toEqual([1, 0, 0]);
  });

  it("of 200 that describes what has failed earlier is an answer", async () => {
    const bench = await openDataPlane();
    const error = { code: "rate_limit_exceeded", message: "Rate limit reached for gpt-x" };
    const failed = { id: "resp_0123", object: "response", status: "failed", output: [], error };
    bench.provider.on().next(reply.json(200, {}, failed));

    expect(await (await fetch(`${bench.url}/responses/resp_0123`)).json()).toEqual(failed);
    expect(await failuresOf(bench)).toEqual([0, 0, 0]);
  });

  it("in JSON that comes slowly is not kept back to its end", async () => {
    const bench = await openDataPlane();
    bench.provider
      .on()
      .next(
        reply.raw(["HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n", '{"choices":[{']),
      );
    const started = performance.now();

    const response = await fetch(`${bench.url}/chat/completions`, chat);

    expect(response.status).toBe(200);
    // Held back for a second: an error may stand behind the result.
    expect(performance.now() - started).toBeLessThan(4_000);
    await response.body?.cancel();
  });

  it("that redirects is given to the client, not followed", async () => {
    const { provider, url } = await openDataPlane();
    provider.on().next(reply.status(302, { location: "http://127.0.0.1:1/elsewhere" }));

    const response = await fetch(`${url}/models`, { redirect: "manual" });

    expect(response.status).toBe(302);
    expect(response.headers.get("location")).toBe("http://127.0.0.1:1/elsewhere");
  });

  it("in gzip that ends in the middle is no success, though HTTP has it as whole", async () => {
    const bench = await openDataPlane();
    const events = 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n';
    const bytes = gzipSync(events).subarray(0, -9);
    const headers = { "content-type": "text/event-stream", "content-encoding": "gzip" };
    bench.provider.on().next(reply.status(200, headers, bytes));

    const text = await readUntilClosed(
      await rawSocket(bench, "GET /llm/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
    );

    expect(text.endsWith(bytes.toString("latin1"))).toBe(true);
    await expect.poll(() => bench.records).toMatchObject([{ ending: "truncated" }]);
  });

  it("streams piece by piece, as it comes (case 45)", async () => {
    const { provider, url } = await openDataPlane();
    const events = Array.from({ length: 5 }, (_, index) => ({
      data: { choices: [{ delta: { content: `${index}` } }] },
    }));
    provider.on().next(reply.sse(events, { delayMs: 200 }));

    const response = await fetch(`${url}/chat/completions`, {
      ...chat,
      headers: { ...chat.headers, "accept-encoding": "gzip" },
    });
    const times: number[] = [];
    for await (const _ of response.body as unknown as AsyncIterable<Uint8Array>) times.push(performance.now());

    expect(times.length).toBeGreaterThanOrEqual(5);
    for (let index = 1; index < 5; index++) expect((times[index] ?? 0) - (times[index - 1] ?? 0)).toBeGreaterThan(120);
    expect(response.headers.get("x-accel-buffering")).toBe("no");
  });

  it.each(["fin", "rst"] as const)("that is cut (%s) is seen as cut (case 43)", async (how) => {
    const bench = await openDataPlane();
    bench.provider.on().next(reply.sse(['data: {"choices":[{"delta":{"content":"Once"}}]}\n\n'], { end: how }));

    const response = await fetch(`${bench.url}/chat/completions`, chat);

    await expect(response.text()).rejects.toThrow("terminated");
    expect(await failuresOf(bench)).toEqual([0, 0, 0]);
    expect(bench.provider.requests).toHaveLength(1);
  });

  it("is not gathered for a client that does not read: memory stays bounded", async () => {
    const bench = await openDataPlane();
    bench.provider
      .on()
      .next(reply.endless(Buffer.alloc(64 * 1024, "x"), { headers: { "content-type": "application/octet-stream" } }));
    const before = process.memoryUsage().rss;
    const socket = await rawSocket(bench, "GET /llm/files/f/content HTTP/1.1\r\nhost: x\r\n\r\n");
    socket.pause();

    // Time in which a proxy without backpressure takes in hundreds of megabytes from this provider.
    await new Promise((resolve) => setTimeout(resolve, 700));

    expect(process.memoryUsage().rss - before).toBeLessThan(120 * 1024 * 1024);
    socket.destroy();
    await bench.provider.until(() => bench.provider.openRequests.length === 0, "the provider's side has ended");
  });
});

describe("failover", () => {
  it.each(["openai", "anthropic", "gemini", "azure-openai", "openai-compatible"] as const)(
    "needs no hint header, for kind %s (case 12)",
    async (kind) => {
      const { provider, url } = await openDataPlane({ kind });
      provider.on({ key: benchKeys[0]! }).next(reply.json(429, {}, {}));
      provider.on({ key: benchKeys[1]! }).next(reply.json(200, {}, { ok: 1 }));

      const response = await fetch(`${url}/anything`, chat);

      expect(await response.json()).toEqual({ ok: 1 });
      expect(response.headers.get("x-keywheel-attempts")).toBe("2");
      expect(provider.picks()).toBe("AB");
      expect(provider.faults).toEqual([]);
    },
  );

  it("lets no other request choose a key whose 429 is still being read (case 76)", async () => {
    const { provider, url } = await openDataPlane();
    provider.on({ key: benchKeys[0]! }).always(reply.slowBody(500, 429, {}, { error: {} }));

    const first = fetch(`${url}/chat/completions`, chat);
    await provider.arrived(1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const others = await Promise.all([1, 2, 3, 4].map(() => fetch(`${url}/chat/completions`, chat)));

    expect(others.map((response) => response.status)).toEqual([200, 200, 200, 200]);
    expect((await first).status).toBe(200);
    expect(provider.counts().A).toBe(1);
  });

  it("does not wait for a refusal without an end, and does not leak its connection (case 38)", async () => {
    const bench = await openDataPlane();
    bench.provider.on({ key: benchKeys[0]! }).always(reply.endless(Buffer.alloc(20_000, "x"), { status: 429 }));

    const started = performance.now();
    const response = await fetch(`${bench.url}/chat/completions`, chat);

    expect(response.status).toBe(200);
    expect(performance.now() - started).toBeLessThan(1_500);
    await bench.provider.until(() => bench.provider.openRequests.length === 0, "the refusal's connection is let go");
  });

  it.each([403])("waits for what a %i says, for ten seconds: it may not be the key's fault", async (status) => {
    const bench = await openDataPlane();
    const said = { error: { message: "Flagged", type: "invalid_request_error", code: "content_policy_violation" } };
    bench.provider
      .on()
      .next(reply.slowBody(1_500, status, { "content-type": "application/json" }, JSON.stringify(said)));

    const response = await fetch(`${bench.url}/chat/completions`, chat);

    expect([response.status, await response.json()]).toEqual([status, said]);
    expect(bench.provider.picks()).toBe("A");
    expect(await bench.pool.snapshot()).toMatchObject(benchKeys.map(() => ({ health: healthy, reason: undefined })));
  });

  it("leaves a key that lacks an endpoint to all others", async () => {
    const bench = await openDataPlane();
    const lacks = { error: { message: "Missing scopes: api.model.read", type: "invalid_request_error" } };
    bench.provider.on({ path: "/v1/models" }).always(reply.json(403, {}, lacks));

    const listed = await fetch(`${bench.url}/models`);
    const again = await fetch(`${bench.url}/models`);
    const chats = [];
    for (let n = 0; n < 3; n++) chats.push((await fetch(`${bench.url}/chat/completions`, chat)).status);
    const files = await fetch(`${bench.url}/files`);

    expect([listed.status, again.status]).toEqual([429, 429]);
    expect(bench.provider.requests.filter(({ url }) => url === "/v1/models")).toHaveLength(3);
    expect(chats).toEqual([200, 200, 200]);
    expect(files.status).toBe(200);
    expect(bench.records.map(({ model }) => model)).toEqual([undefined, undefined, "m", "m", "m", undefined]);
  });

  it.each([401, 403])("does not disable a key for a %i that breaks off", async (status) => {
    const bench = await openDataPlane();
    bench.provider.on().next(reply.cutInBody("fin", { status, sent: '{"error": {"message": "What it is that' }));

    const response = await fetch(`${bench.url}/chat/completions`, chat);

    expect(response.status).toBe(status);
    await expect(response.text()).rejects.toThrow("terminated");
    expect(bench.attempts).toMatchObject([{ status, outcome: "provider_error" }]);
    expect(bench.events).toEqual([]);
  });

  it("ends in the pool's own 429 when all keys rest: status, shape, wait and counts (case 85)", async () => {
    const { provider, url } = await openDataPlane();
    provider.on().always(reply.json(429, {}, { error: { message: "Rate limit reached for gpt-x." } }));

    const response = await fetch(`${url}/chat/completions`, chat);
    const body = (await response.json()) as { error: { message: string; code: string } };

    expect(response.status).toBe(429);
    expect(response.headers.get("x-keywheel-error")).toBe("pool_exhausted");
    expect(response.headers.get("retry-after")).toBe("60");
    expect(body.error.code).toBe("pool_exhausted");
    expect(body.error.message).toContain("of 3 keys 3 are cooling down");
    expect(body.error.message).toContain("429: Rate limit reached for gpt-x.");
    expect(provider.picks()).toBe("ABC");
  });

  it.each([
    ["anthropic", 529],
    ["openai", 503],
  ] as const)(
    "ends in an overload when overload alone emptied the pool, for kind %s: %i (case 32)",
    async (kind, status) => {
      const { provider, url } = await openDataPlane({ kind });
      provider.on().always(reply.json(529, {}, {}));

      const response = await fetch(`${url}/anything`, chat);

      expect(response.status).toBe(status);
      expect(response.headers.get("x-keywheel-error")).toBe("pool_exhausted");
      expect(response.headers.get("retry-after")).toBe("60");
    },
  );
});

describe("a conversation that nobody named", () => {
  const user = (content: string): object => ({ role: "user", content });
  const said = (content: string): object => ({ role: "assistant", content });
  const send = async (url: string, messages: readonly object[]): Promise<string | null> => {
    const body = JSON.stringify({ model: "m", messages });
    const response = await fetch(`${url}/chat/completions`, { ...chat, body });
    await response.text();
    return response.headers.get("x-keywheel-key");
  };

  it("goes on at the key that served its beginning; first turns take turns, even when their text repeats", async () => {
    const { provider, url } = await openDataPlane();
    for (let n = 0; n < 3; n++) await send(url, [user("Hi")]);
    expect(provider.picks()).toBe("ABC");

    provider.forget();
    const opening = [user("Tell me a story"), said("Once"), user("Go on")];
    const first = await send(url, opening.slice(0, 1));
    await send(url, [user("Something else")]);
    const second = await send(url, opening);
    const third = await send(url, [...opening, said("upon"), user("And then?")]);

    expect([second, third]).toEqual([first, first]);
  });

  it("moves on when its key rests, and stays there", async () => {
    const { provider, url } = await openDataPlane();
    await send(url, [user("Hi")]);
    provider.on({ key: benchKeys[0]! }).next(reply.json(429, {}, {}));
    await send(url, [user("Hi"), said("Hello"), user("A?")]);
    await send(url, [user("Hi"), said("Hello"), user("A?"), said("A"), user("B?")]);

    expect(provider.picks()).toBe("AABB");
  });
});

describe("a stored object", () => {
  const post = (body: object): RequestInit => ({ ...chat, body: JSON.stringify(body) });

  it.each([
    ["a file", "/files", { id: "file-abc123" }, "/files/file-abc123", undefined],
    ["a response", "/responses", { id: "resp_abc123" }, "/responses", { previous_response_id: "resp_abc123" }],
    ["a batch", "/batches", { id: "batch_abc123" }, "/batches/batch_abc123", undefined],
    [
      "a kept completion",
      "/chat/completions",
      { id: "chatcmpl-abc123" },
      "/chat/completions/chatcmpl-abc123",
      undefined,
    ],
  ])("goes back to the key that made it: %s (contract §4 rule 11)", async (_, path, made, laterPath, laterBody) => {
    const { provider, url } = await openDataPlane();
    provider.on({ path: `/v1${path}`, method: "POST" }).next(reply.json(200, {}, made));
    provider.on().always(reply.json(200, {}, {}));
    await (await fetch(url + path, post({ model: "m", store: true }))).text();

    for (let n = 0; n < 4; n++) {
      await (await fetch(url + laterPath, laterBody === undefined ? {} : post(laterBody))).text();
    }

    expect(provider.picks()).toBe("AAAAA");
  });

  it("is learnt from the first event of a stream, before the stream has ended", async () => {
    const { provider, url } = await openDataPlane();
    const created = { type: "response.created", response: { id: "resp_stream1", status: "in_progress" } };
    const delta = { type: "response.output_text.delta", delta: "Hi" };
    provider.on({ key: benchKeys[0]! }).next(reply.sse([{ data: created }, { data: delta }], { end: "hang" }));
    provider.on().always(reply.json(200, {}, {}));
    const stream = await fetch(`${url}/responses`, post({ model: "m", stream: true }));
    await stream.body?.getReader().read();

    const later = await fetch(`${url}/responses/resp_stream1`);

    expect(later.headers.get("x-keywheel-key")).toBe(benchKeys[0]);
  });

  it.each([
    ["as it is", undefined],
    ["in gzip", "gzip"],
  ])("is learnt from an answer longer than what is looked at, %s", async (_, coding) => {
    const bench = await openDataPlane();
    const noise = Buffer.from(Array.from({ length: 400_000 }, (__, i) => 97 + ((i * i * 31) % 26))).toString();
    const made = JSON.stringify({ id: "resp_long01", object: "response", output: [{ id: "msg_1", text: noise }] });
    const headers = { "content-type": "application/json", ...(coding && { "content-encoding": coding }) };
    bench.provider.on().next(reply.status(200, headers, coding ? gzipSync(made) : made));
    const post = (body: object): Promise<Response> =>
      fetch(`${bench.url}/responses`, { ...chat, body: JSON.stringify(body) });

    expect(await (await post({ model: "m", input: "Hi" })).text()).toBe(made);
    for (let n = 0; n < 3; n++) await (await post({ model: "m", previous_response_id: "resp_long01" })).text();

    expect(bench.provider.picks()).toBe("AAAA");
  });

  it("is learnt from where the answer says that it is", async () => {
    const bench = await openDataPlane();
    bench.provider
      .on()
      .next(reply.status(201, { location: "/v1/realtime/calls/rtc_0123", "content-type": "application/sdp" }, "v=0"));
    await (await fetch(`${bench.url}/realtime/calls`, { ...chat, body: "v=0" })).text();

    for (let n = 0; n < 3; n++) await (await fetch(`${bench.url}/realtime/calls/rtc_0123/hangup`, chat)).text();

    expect(bench.provider.picks()).toBe("AAAA");
  });

  it("that is a fine-tuned model is asked of its maker's key", async () => {
    const bench = await openDataPlane();
    bench.provider.on().next(reply.json(200, {}, { id: "ftjob-1a", fine_tuned_model: "ft:gpt-x:acme::abc" }));
    await (await fetch(`${bench.url}/fine_tuning/jobs/ftjob-1a`)).text();

    const body = '{"model":"ft:gpt-x:acme::abc","messages":[]}';
    for (let n = 0; n < 3; n++) await (await fetch(`${bench.url}/chat/completions`, { ...chat, body })).text();

    expect(bench.provider.picks()).toBe("AAAA");
  });

  it("whose key rests gets the gateway's error, not another key's 404", async () => {
    const { provider, url } = await openDataPlane();
    provider.on({ method: "POST", path: "/v1/files" }).next(reply.json(200, {}, { id: "file-abc123" }));
    provider.on({ path: "/v1/files/file-abc123" }).always(reply.json(429, {}, {}));
    await (await fetch(`${url}/files`, post({}))).text();

    const first = await fetch(`${url}/files/file-abc123`);
    const second = await fetch(`${url}/files/file-abc123`);

    expect([first.status, second.status]).toEqual([429, 429]);
    expect(second.headers.get("x-keywheel-error")).toBe("pool_exhausted");
    expect(second.headers.get("retry-after")).toBe("60");
    expect(provider.picks()).toBe("AA");
  });

  it("of Gemini is uploaded by way of the gateway, by one key, and known from then on", async () => {
    const { provider, url, port } = await openDataPlane({ kind: "gemini" });
    const uploadUrl = `${provider.origin}/upload/v1beta/files?upload_id=AbC-123&upload_protocol=resumable`;
    provider
      .on({ path: "/upload/v1beta/files" })
      .next(
        reply.json(200, { "x-goog-upload-url": uploadUrl, "x-goog-upload-status": "active" }, {}),
        reply.json(200, { "x-goog-upload-status": "final" }, { file: { name: "files/abc-def-123" } }),
      );
    provider.on().always(reply.json(200, {}, {}));
    const begun = await fetch(`${url}/upload/v1beta/files`, post({ file: {} }));
    const address = begun.headers.get("x-goog-upload-url") ?? "";
    expect(address).toBe(
      `http://127.0.0.1:${port}/llm/upload/v1beta/files?upload_id=AbC-123&upload_protocol=resumable`,
    );

    await (await fetch(address, { method: "POST", body: "bytes" })).text();
    await (await fetch(`${url}/v1beta/files/abc-def-123`)).text();
    const uri = "https://generativelanguage.googleapis.com/v1beta/files/abc-def-123";
    await (
      await fetch(
        `${url}/v1beta/models/g:generateContent`,
        post({ contents: [{ parts: [{ fileData: { fileUri: uri } }] }] }),
      )
    ).text();

    expect(provider.picks()).toBe("AAAA");
    expect(provider.faults).toEqual([]);
  });

  it("of another's text pins nothing", async () => {
    const { provider, url } = await openDataPlane();
    provider.on().always(reply.json(200, {}, { id: "chatcmpl-abc123" }));
    for (let n = 0; n < 3; n++) await (await fetch(`${url}/chat/completions`, chat)).text();

    expect(provider.picks()).toBe("ABC");
  });

  it("is listed from one key, always the same", async () => {
    const { provider, url } = await openDataPlane();
    provider.on().always(reply.json(200, {}, { object: "list", data: [] }));
    for (let n = 0; n < 3; n++) await (await fetch(`${url}/files?limit=2`)).text();

    expect(provider.picks()).toBe("AAA");
  });
});

describe("the network", () => {
  it("closing an idle connection under a request costs nothing: same key, fresh connection (case 36)", async () => {
    const bench = await openDataPlane({ keys: [benchKeys[0]!] });
    bench.provider
      .on()
      .next(reply.json(200, {}, { n: 1 }), reply.cutBeforeHeaders("rst"), reply.json(200, {}, { n: 3 }));

    expect(await (await fetch(`${bench.url}/chat/completions`, chat)).json()).toEqual({ n: 1 });
    const response = await fetch(`${bench.url}/chat/completions`, chat);

    expect(await response.json()).toEqual({ n: 3 });
    expect(bench.provider.connections.opened).toBe(2);
    expect(await failuresOf(bench)).toEqual([0]);
    expect(response.headers.get("x-keywheel-attempts")).toBe("2");
    expect(bench.attempts.map(({ keyId, outcome }) => [keyId, outcome])).toEqual([
      [benchKeys[0], "succeeded"],
      [benchKeys[0], "unreachable"],
      [benchKeys[0], "succeeded"],
    ]);
  });

  it("breaking within an answer's head is not tried again, on a used connection neither (case 37)", async () => {
    const bench = await openDataPlane({ keys: [benchKeys[0]!] });
    bench.provider.on().next(reply.json(200, {}, {}), reply.raw(["HTTP/1.1 200 OK\r\nContent-T"], { end: "rst" }));
    await (await fetch(`${bench.url}/chat/completions`, chat)).text();

    expect((await fetch(`${bench.url}/chat/completions`, chat)).status).toBe(502);
    expect(bench.provider.requests).toHaveLength(2);
  });

  it("breaking on a fresh connection after the request was read is not tried again: it may have been worked on (case 37)", async () => {
    const bench = await openDataPlane();
    bench.provider.on().always(reply.slowHeaders(100, reply.cutBeforeHeaders("rst")));

    const response = await fetch(`${bench.url}/chat/completions`, chat);

    expect(response.status).toBe(502);
    expect(response.headers.get("x-keywheel-error")).toBe("upstream_unreachable");
    expect(bench.provider.requests).toHaveLength(1);
  });

  it("breaking under a GET is tried once more", async () => {
    const bench = await openDataPlane();
    bench.provider.on().next(reply.cutBeforeHeaders("rst"));

    expect((await fetch(`${bench.url}/models`)).status).toBe(200);
    expect(bench.provider.picks()).toBe("AA");
  });

  it("being down gives 502 each time, cools nobody, and the first request after it is back succeeds (case 31)", async () => {
    // Below the ports that the system hands out: nobody else may take it meanwhile.
    const gone = await startScriptedProvider({ keys: benchKeys, port: 20_000 + (process.pid % 10_000) });
    await gone.close();
    const bench = await openDataPlane({ baseUrl: gone.baseUrl });

    for (let n = 0; n < 20; n++) expect((await fetch(`${bench.url}/chat/completions`, chat)).status).toBe(502);
    expect(await failuresOf(bench)).toEqual([0, 0, 0]);

    await using back = await startScriptedProvider({ keys: benchKeys, port: gone.port });
    expect((await fetch(`${bench.url}/chat/completions`, chat)).status).toBe(200);
    expect(back.requests).toHaveLength(1);
  });

  it("being silent gives 504 after headers_ms and blames nobody; an answer within it is waited for (case 34)", async () => {
    const bench = await openDataPlane({ settings: { timeouts: { connectMs: 1_000, headersMs: 400, idleMs: 5_000 } } });
    bench.provider.on().next(reply.slowHeaders(100, reply.json(200, {}, {})), reply.hang());

    expect((await fetch(`${bench.url}/chat/completions`, chat)).status).toBe(200);
    const response = await fetch(`${bench.url}/chat/completions`, chat);

    expect(response.status).toBe(504);
    expect(response.headers.get("x-keywheel-error")).toBe("upstream_timeout");
    expect(await failuresOf(bench)).toEqual([0, 0, 0]);
  });

  // It may have begun to work on it. undici takes no such answer that was not asked for.
  it("answering 100 Continue and no more gives 502 and is not tried again, on a used connection neither", async () => {
    const bench = await openDataPlane({ keys: benchKeys.slice(0, 1) });
    await (await fetch(`${bench.url}/chat/completions`, chat)).arrayBuffer();
    bench.provider.on().always(reply.raw(["HTTP/1.1 100 Continue\r\n\r\n"], { end: "fin" }));

    const response = await fetch(`${bench.url}/chat/completions`, chat);

    expect(response.status).toBe(502);
    expect(response.headers.get("x-keywheel-attempts")).toBe("1");
    expect(bench.provider.requests).toHaveLength(2);
    expect(bench.provider.connections.opened).toBe(1);
  });

  it("answering 100 Continue unasked, and then the answer, has answered; but undici does not take it", async () => {
    const bench = await openDataPlane();
    const interim = "HTTP/1.1 100 Continue\r\nx-early: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n";
    bench.provider.on().next(reply.raw([interim, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"], { delayMs: 20 }));

    const response = await fetch(`${bench.url}/chat/completions`, chat);

    expect(response.status).toBe(isOwnClient ? 200 : 502);
    expect(await response.text()).toMatch(isOwnClient ? /^\{\}$/ : /not valid HTTP/);
    expect([response.headers.get("x-early"), response.headers.get("link")]).toEqual([null, null]);
  });

  it("answering nonsense gives 502", async () => {
    const bench = await openDataPlane();
    bench.provider.on().always(reply.raw(["nonsense\r\n\r\n"]));

    expect((await fetch(`${bench.url}/chat/completions`, chat)).status).toBe(502);
  });

  it("is asked for one key on many connections at once, each reused", async () => {
    const bench = await openDataPlane();
    for (let round = 0; round < 3; round++) {
      await Promise.all(
        Array.from({ length: 20 }, async () => (await fetch(`${bench.url}/chat/completions`, chat)).arrayBuffer()),
      );
    }

    expect(bench.provider.requests).toHaveLength(60);
    expect(bench.provider.connections.opened).toBeLessThanOrEqual(25);
  });
});

describe("a client that leaves", () => {
  const head = "POST /llm/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";

  it("while it uploads: nothing is forwarded", async () => {
    const bench = await openDataPlane();
    const socket = await rawSocket(bench, `${head}content-length: 100\r\n\r\n{"mod`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();

    await expect.poll(() => bench.records.length).toBe(1);
    expect(bench.records[0]?.ending).toBe("gone");
    expect(bench.provider.requests).toHaveLength(0);
  });

  it.each([
    ["before the answer's head", reply.hang()],
    ["while a limit is read", reply.endless("x", { status: 429, delayMs: 50 })],
    ["while a refusal is read", reply.endless("x", { status: 403, delayMs: 50 })],
    ["before a stream has begun", reply.sse([": nothing yet\n\n"], { end: "hang" })],
    ["within a stream", reply.sse(['data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'], { end: "hang" })],
  ])("%s: the provider's side ends within a second, and no key is blamed (case 47)", async (when, answer) => {
    const bench = await openDataPlane();
    bench.provider.on().always(answer);
    const socket = await rawSocket(bench, `${head}content-length: 27\r\n\r\n{"model":"m","messages":[]}`);
    await bench.provider.arrived(1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const leftAt = performance.now();
    socket.destroy();

    await bench.provider.until(() => bench.provider.openRequests.length === 0, "the provider's side has ended", 1_500);
    expect(performance.now() - leftAt).toBeLessThan(1_000);
    await expect.poll(() => bench.records.length).toBe(1);
    expect(bench.records[0]?.ending).toBe("gone");
    expect(bench.faults).toEqual([]);
    expect(bench.attempts.map(({ outcome }) => outcome)).toEqual([
      when === "within a stream" ? "succeeded" : "client_gone",
    ]);
    expect(await bench.pool.snapshot()).toMatchObject(benchKeys.map(() => ({ health: healthy, reason: undefined })));
  });
});

describe("a crowd at the end of a cooldown (case 75)", () => {
  // Long beside what fifty requests take on a busy machine.
  const soon = { cooldown: { baseMs: 500, capMs: 5_000 } };

  it("sends one request ahead; that fails, and the key rests one step longer: the rest never reach it", async () => {
    const bench = await openDataPlane({ keys: [benchKeys[0]!], policy: soon });
    bench.provider.on().always(reply.slowHeaders(50, reply.json(429, {}, {})));
    await fetch(`${bench.url}/chat/completions`, chat);
    await new Promise((resolve) => setTimeout(resolve, 550));
    bench.provider.forget();

    const crowd = await Promise.all(Array.from({ length: 50 }, () => fetch(`${bench.url}/chat/completions`, chat)));

    expect(crowd.map((response) => response.status)).toEqual(Array.from({ length: 50 }, () => 429));
    expect(bench.provider.requests).toHaveLength(1);
    expect(await failuresOf(bench)).toEqual([2]);
  });

  it("follows at once when the first is served", async () => {
    const bench = await openDataPlane({ keys: [benchKeys[0]!], policy: soon });
    bench.provider
      .on()
      .next(reply.json(429, {}, {}))
      .always(reply.slowHeaders(50, reply.json(200, {}, {})));
    await fetch(`${bench.url}/chat/completions`, chat);
    await new Promise((resolve) => setTimeout(resolve, 550));

    const crowd = await Promise.all(Array.from({ length: 50 }, () => fetch(`${bench.url}/chat/completions`, chat)));

    expect(crowd.every((response) => response.status === 200)).toBe(true);
    expect(await failuresOf(bench)).toEqual([0]);
  });
});

it.each([
  ["text/html", "sandbox"],
  ["application/xhtml+xml", "sandbox"],
  ["image/svg+xml; charset=utf-8", "sandbox"],
  ["text/xml", "sandbox"],
  ["application/json, text/html", "sandbox"],
  [undefined, "sandbox"],
  ["application/json", null],
  ["text/event-stream", null],
  ["image/png", null],
])("an answer of type %s cannot run scripts under the operator's origin", async (type, policy) => {
  const { provider, url } = await openDataPlane();
  provider.on({}).next(reply.status(200, type === undefined ? {} : { "content-type": type }, "x"));

  const response = await fetch(`${url}/models`);
  await response.text();

  expect(response.headers.get("content-security-policy")).toBe(policy);
});
