import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { reply } from "./reply.ts";
import { type ScriptedKind, type ScriptedProvider, startScriptedProvider } from "./scripted-provider.ts";

const keyA = "sk-test-AAAAAAAAAAAAAAAA";
const keyB = "sk-test-BBBBBBBBBBBBBBBB";
const bearerA = { authorization: `Bearer ${keyA}` };

async function started(kind: ScriptedKind = "openai"): Promise<ScriptedProvider> {
  return startScriptedProvider({ kind, keys: [keyA, keyB] });
}

function chat(
  provider: ScriptedProvider,
  init: { headers?: Record<string, string>; body?: object; query?: string } = {},
) {
  return fetch(`${provider.baseUrl}/chat/completions${init.query ?? ""}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(init.headers ?? bearerA) },
    body: JSON.stringify(init.body ?? { model: "gpt-test", messages: [{ role: "user", content: "Hi there" }] }),
  });
}

describe("a healthy provider", () => {
  it("answers a chat and counts its tokens", async () => {
    await using provider = await started();

    const response = await chat(provider);

    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      object: "chat.completion",
      choices: [{ message: { content: "You said: Hi there" } }],
      usage: { completion_tokens: 4 },
    });
  });

  it("streams a chat up to [DONE], with the usage chunk only where it was asked for", async () => {
    await using provider = await started();
    const body = { messages: [{ role: "user", content: "Hi" }], stream: true };

    const plain = await (await chat(provider, { body })).text();
    const withUsage = await (
      await chat(provider, { body: { ...body, stream_options: { include_usage: true } } })
    ).text();

    expect(plain.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(plain).not.toContain("usage");
    expect(withUsage).toContain('"choices":[],"usage":{"prompt_tokens"');
  });

  it("keeps what was made under one key from the other", async () => {
    await using provider = await started();
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", new Blob(["{}\n"]), "in.jsonl");
    const made = await fetch(`${provider.baseUrl}/files`, { method: "POST", headers: bearerA, body: form });
    const { id, bytes } = (await made.json()) as { id: string; bytes: number };

    const own = await fetch(`${provider.baseUrl}/files/${id}/content`, { headers: bearerA });
    const foreign = await fetch(`${provider.baseUrl}/files/${id}`, { headers: { authorization: `Bearer ${keyB}` } });

    expect(bytes).toBe(3);
    expect(await own.text()).toBe("{}\n");
    expect(foreign.status).toBe(404);
  });
});

describe("credentials", () => {
  it.each([
    ["none at all", {}],
    ["an unknown one", { authorization: "Bearer sk-test-unknown" }],
    ["the right one beside another", { ...bearerA, "x-api-key": keyA }],
    ["the right one beside a cookie", { ...bearerA, cookie: "kw=1" }],
    ["the right one beside a gateway token", { ...bearerA, "x-custom": "kw_0123456789abcdef" }],
    ["the right one beside a header meant for the gateway", { ...bearerA, "x-keywheel-session": "s1" }],
  ])("refuses %s", async (_, headers) => {
    await using provider = await started();

    const response = await chat(provider, { headers });

    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
  });

  it("refuses one in the query", async () => {
    await using provider = await started();

    const response = await chat(provider, { query: `?key=${keyA}` });

    expect(response.status).toBe(401);
    expect(provider.faults).toEqual(["credential in query key"]);
  });

  it.each<[ScriptedKind, string, number, object]>([
    ["anthropic", "/messages", 401, { type: "error", error: { type: "authentication_error" } }],
    ["gemini", "/models/gemini-test:generateContent", 400, { error: { details: [{ reason: "API_KEY_INVALID" }] } }],
    ["azure-openai", "/v1/chat/completions", 401, { error: { code: "401" } }],
    ["openai-compatible", "/anything", 401, { error: { code: "unauthorized" } }],
  ])("refuses in the words of %s", async (kind, path, status, body) => {
    await using provider = await started(kind);

    const response = await fetch(provider.baseUrl + path, {
      method: "POST",
      headers: { ...bearerA, "x-api-key": keyA, "x-goog-api-key": keyA },
      body: "{}",
    });

    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject(body);
  });

  it("forgets a revoked key", async () => {
    await using provider = await started();

    provider.revoke(keyA);

    expect((await chat(provider)).status).toBe(401);
  });
});

describe("a script", () => {
  it("answers a key's requests in turn, then leaves them to the provider", async () => {
    await using provider = await started();
    provider.forKey(keyA).next(reply.json(429, { "retry-after": "7" }, { error: { message: "slow down" } }));

    const first = await chat(provider);
    const second = await chat(provider);

    expect([first.status, first.headers.get("retry-after"), second.status]).toEqual([429, "7", 200]);
    expect(provider.picks()).toBe("AA");
  });

  it("goes out compressed, with trailers and after an interim answer", async () => {
    await using provider = await started();
    provider
      .forKey(keyA)
      .next(
        reply.encoded("gzip", 200, {}, { a: 1 }),
        reply.encoded("br", 200, {}, { a: 2 }),
        reply.trailers({ "x-sum": "abc" }),
        reply.interim(103, { link: "</x>; rel=preload" }, reply.json(200, {}, { a: 3 })),
      );

    const bodies = [await chat(provider), await chat(provider), await chat(provider), await chat(provider)];

    expect(await Promise.all(bodies.map((one) => one.text()))).toEqual(['{"a":1}', '{"a":2}', "{}", '{"a":3}']);
  });

  it.each<["fin" | "rst"]>([["fin"], ["rst"]])("breaks a body off with a %s", async (how) => {
    await using provider = await started();
    provider.forKey(keyA).next(reply.cutInBody(how, { sent: "abc", length: 10 }));

    const response = await chat(provider);

    await expect(response.text()).rejects.toThrow("terminated");
    expect(provider.requests[0]?.state).toBe("cut");
  });

  it("breaks the connection before any answer", async () => {
    await using provider = await started();
    provider.forKey(keyA).next(reply.cutBeforeHeaders());

    await expect(chat(provider)).rejects.toThrow("fetch failed");
    expect(provider.requests[0]).toMatchObject({ state: "cut", bodyComplete: true });
  });

  it("is led by the hand", async () => {
    await using provider = await started();
    const live = reply.live();
    provider.forKey(keyA).next(live);
    const response = await chat(provider);
    const reader = response.body!.getReader();

    await live.send({ data: "one" });
    const one = await reader.read();
    await live.send({ data: "two" });
    const two = await reader.read();
    await live.end();

    expect([one, two].map(({ value }) => Buffer.from(value ?? "").toString())).toEqual([
      "data: one\n\n",
      "data: two\n\n",
    ]);
    expect((await reader.read()).done).toBe(true);
  });

  it("answers before the upload was read", async () => {
    await using provider = await started();
    provider.forKey(keyA).next(reply.early(413, {}, "too much"));
    const client = httpRequest(`${provider.baseUrl}/files`, { method: "POST", headers: bearerA, agent: false });
    const answered = new Promise<number | undefined>((resolve) => client.on("response", (r) => resolve(r.statusCode)));
    client.on("error", () => undefined);

    client.write("the beginning of an upload that never ends");

    expect(await answered).toBe(413);
    expect(provider.requests[0]?.bodyComplete).toBe(false);
    client.destroy();
  });
});

describe("the record", () => {
  it("holds target, headers and body as they came", async () => {
    await using provider = await started("openai-compatible");
    const socket = connect(provider.port, "127.0.0.1");
    socket.pipe(new Writable({ write: (_chunk, _encoding, done) => done() }));

    socket.end(
      `PUT /a//b%2Fc?x=%20&x HTTP/1.1\r\nHost: h\r\nX-Twice: 1\r\nx-twice: 2\r\nAuthorization: Bearer ${keyA}\r\nContent-Length: 3\r\n\r\nabc`,
    );
    const request = await provider.arrived(1);
    await request.ended;

    expect(request).toMatchObject({
      method: "PUT",
      url: "/a//b%2Fc?x=%20&x",
      key: keyA,
      state: "answered",
      connectionId: 0,
    });
    expect(request.rawHeaders).toContain("X-Twice");
    expect(request.headerValues("X-TWICE")).toEqual(["1", "2"]);
    expect(request.body.toString()).toBe("abc");
  });

  it("tells an aborted request from an answered one", async () => {
    await using provider = await started();
    provider.forKey(keyA).next(reply.hang());
    const aborter = new AbortController();
    const failed = fetch(`${provider.baseUrl}/models`, { headers: bearerA, signal: aborter.signal }).catch(
      () => "gone",
    );

    const request = await provider.arrived(1);
    aborter.abort();
    await request.ended;

    expect(request.state).toBe("aborted");
    expect(await failed).toBe("gone");
  });

  it("counts connections and notices their end", async () => {
    await using provider = await started();

    await chat(provider, { headers: { ...bearerA, connection: "close" } }).then((response) => response.text());
    await provider.until(() => provider.connections.open === 0, "the end of the connection");

    expect(provider.connections.opened).toBe(1);
  });
});

describe("a WebSocket", () => {
  it("echoes", async () => {
    await using provider = await started();
    const text = "x".repeat(300);
    const socket = new WebSocket(`${provider.baseUrl.replace("http", "ws")}/realtime`, {
      protocols: ["realtime"],
      headers: bearerA,
    });

    const echoed = new Promise((resolve) => socket.addEventListener("message", ({ data }) => resolve(data)));
    socket.addEventListener("open", () => socket.send(text));

    expect(await echoed).toBe(text);
    socket.close();
  });
});

describe("close", () => {
  it("ends hanging requests, and twice is once", async () => {
    const provider = await started();
    provider.forKey(keyA).next(reply.hang());
    const failed = chat(provider).catch(() => "gone");
    await provider.arrived(1);

    await provider.close();
    await provider.close();

    expect(await failed).toBe("gone");
  });

  it("tells of a reply that broke", async () => {
    const provider = await started();
    provider.forKey(keyA).next(
      reply.by(() => {
        throw new Error("a mistake in the test");
      }),
    );

    await chat(provider).catch(() => "gone");

    await expect(provider.close()).rejects.toThrow(AggregateError);
  });
});
