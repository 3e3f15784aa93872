import { getEventListeners } from "node:events";
import { chatChunks, freePort, messageEvents, openAiError, reply, type SseEvent, sseText } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { createPool, providers } from "../index.ts";
import { aPool } from "./pool-bench.test-bench.ts";

const limited = openAiError(429, { message: "Slow down", type: "requests", code: "rate_limit_exceeded" });
const limitedMidway = { data: { error: { message: "Slow down", code: "rate_limit_exceeded" } } };

describe("what goes to the provider", () => {
  it("has the key of the pool and no other credential, and all else as it was", async () => {
    await using bench = await aPool();
    const body = '{"model":"gpt-test","input":"é",  "spaces": "kept"}';

    await bench.send({
      path: "/embeddings?key=of-the-sdk&trace=a%20b",
      headers: {
        "content-type": "application/json",
        authorization: "Bearer of-the-sdk",
        "x-api-key": "of-the-sdk",
        "api-key": "of-the-sdk",
        "x-goog-api-key": "of-the-sdk",
        "openai-organization": "org-of-the-environment",
        "openai-project": "proj-of-the-environment",
        "x-keywheel-session": "chat-1",
        "x-stainless-lang": "js",
      },
      body,
    });

    const [request] = bench.provider.requests;
    expect(bench.provider.faults).toEqual([]);
    expect(request).toMatchObject({ url: "/v1/embeddings?trace=a%20b", key: bench.keys[0] });
    expect(request?.header("x-stainless-lang")).toBe("js");
    expect(request?.body.toString()).toBe(body);
    for (const name of ["openai-organization", "openai-project", "x-keywheel-session"])
      expect(request?.header(name)).toBeUndefined();
  });

  it.each([
    ["anthropic", { path: "/models", method: "GET", body: null, headers: { "anthropic-version": "2023-06-01" } }],
    ["gemini", { path: "/models", method: "GET", body: null }],
    ["azure-openai", { path: "/deployments/gpt-test/chat/completions?api-version=1" }],
  ] as const)("has the key where %s wants it", async (kind, call) => {
    await using bench = await aPool({ kind });

    const response = await bench.send(call);

    expect(response.status).toBe(200);
    expect(bench.provider.faults).toEqual([]);
  });

  it("goes to the provider's own hosts over https, to the base URL that was named, and nowhere else", async () => {
    const asked: string[] = [];
    const fetch: typeof globalThis.fetch = async (input) => {
      asked.push(new Request(input).url);
      return Response.json({});
    };
    await using pool = createPool({
      provider: providers.openai,
      keys: ["sk-test-0123456789"],
      baseURL: "http://127.0.0.1:9/v1",
      fetch,
    });
    const taken = ["https://api.openai.com/v1/models", "https://eu.api.openai.com/v1/models", "http://127.0.0.1:9/x"];
    const refused = [
      "http://api.openai.com/v1/models",
      "https://openai.com.example/v1/models",
      "https://notopenai.com/v1",
      "http://127.0.0.1:10/v1",
    ];

    for (const url of taken) expect((await pool.fetch()(url)).status).toBe(200);
    for (const url of refused) {
      const response = await pool.fetch()(url);
      expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([400, "invalid_request"]);
      expect(await response.text()).toContain("name that address as `baseURL`");
    }
    expect(asked).toEqual(taken);
  });
});

describe("a redirect", () => {
  it("is followed with the key at home and without it elsewhere", async () => {
    const sent: string[] = [];
    const answers: Readonly<Record<string, Response>> = {
      "https://api.openai.com/v1/files/f/content": new Response(null, {
        status: 302,
        headers: { location: "/v1/other" },
      }),
      "https://api.openai.com/v1/other": Response.redirect("https://storage.example.com/f", 307),
      "https://storage.example.com/f": new Response("content"),
    };
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const { url } = new Request(input);
      sent.push(`${url} ${new Headers(init?.headers).get("authorization") ?? "without a key"}`);
      return answers[url] ?? Response.error();
    };
    await using pool = createPool({ provider: providers.openai, keys: ["sk-test-0123456789"], fetch });

    const response = await pool.fetch()("https://api.openai.com/v1/files/f/content");

    expect(await response.text()).toBe("content");
    expect(sent).toEqual([
      "https://api.openai.com/v1/files/f/content Bearer sk-test-0123456789",
      "https://api.openai.com/v1/other Bearer sk-test-0123456789",
      "https://storage.example.com/f without a key",
    ]);
  });

  it("of a POST, or one that was not to be followed, is given back", async () => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).always(reply.redirect("http://127.0.0.1:9/elsewhere", 307));

    const posted = await bench.send({ session: "s" });
    const manual = await bench.send({ session: "s", path: "/models", method: "GET", body: null, redirect: "manual" });

    expect([posted.status, manual.status]).toEqual([307, 307]);
  });
});

describe("a body", () => {
  const text = JSON.stringify({ model: "gpt-test", messages: [{ role: "user", content: "Hello" }] });
  const json = { "content-type": "application/json" };
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new Blob(["{}\n"]), "batch.jsonl");

  it.each([
    ["text", () => ({ body: text })],
    ["bytes", () => ({ body: new TextEncoder().encode(text) })],
    ["a buffer", () => ({ body: new TextEncoder().encode(text).buffer })],
    ["a blob", () => ({ body: new Blob([text]) })],
  ])("that is %s is sent again with another key", async (_, init) => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).next(limited);

    const response = await bench.send({ headers: json, ...init() });

    expect(response.status).toBe(200);
    expect(bench.provider.requests.map((request) => request.body.toString())).toEqual([text, text]);
  });

  it("that is a form is sent again with another key", async () => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).next(limited);

    const response = await bench.send({ path: "/files", headers: {}, body: form });

    expect(response.status).toBe(200);
    expect(bench.provider.picks()).toBe("AB");
  });

  it("of a Request is sent again with another key, with its method, headers and signal", async () => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).next(limited);
    const request = new Request(`${bench.provider.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { ...json, "x-session-id": "chat-1" },
      body: text,
    });

    const response = await bench.pool.fetch()(request);

    expect(response.status).toBe(200);
    expect(response.headers.get("x-keywheel-attempts")).toBe("2");
    expect(bench.provider.requests.map((one) => one.body.toString())).toEqual([text, text]);
    expect((await bench.pool.keys()).map((key) => key.boundSessions)).toEqual([0, 1, 0]);
  });

  it("of a Request that is too large to be kept is sent once", async () => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).next(limited);
    const bytes = new Uint8Array(9 * 1024 * 1024).fill(0x20);
    const request = new Request(`${bench.provider.baseUrl}/embeddings`, { method: "POST", headers: json, body: bytes });

    const response = await bench.pool.fetch()(request);

    expect(response.status).toBe(429);
    expect(bench.provider.picks()).toBe("A");
    expect(bench.provider.requests[0]?.body.length).toBe(bytes.length);
  });

  it("that is a stream goes out as it comes and only once; its refusal is given back", async () => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).next(limited);
    const bytes = new TextEncoder().encode(text);
    const stream = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });

    const response = await bench.send({ headers: json, body: stream, duplex: "half" });

    expect(response.status).toBe(429);
    expect(bench.provider.picks()).toBe("A");
    expect(bench.provider.requests[0]?.body.toString()).toBe(text);
    expect((await bench.pool.keys())[0]?.status).toBe("cooling_down");
  });
});

describe("an answer", () => {
  it("is the provider's own, with the key that served it", async () => {
    await using bench = await aPool();
    bench.provider
      .forKey(bench.keys[0]!)
      .next(reply.json(404, { "x-request-id": "req_1" }, { error: { message: "No such model" } }));

    const response = await bench.send();

    expect([response.status, response.statusText, response.url]).toEqual([
      404,
      "Not Found",
      `${bench.provider.baseUrl}/chat/completions`,
    ]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "x-request-id": "req_1",
      "x-keywheel-key": "A",
      "x-keywheel-attempts": "1",
    });
    expect(await response.json()).toEqual({ error: { message: "No such model" } });
  });

  it("comes byte for byte, compressed or not, however large", async () => {
    await using bench = await aPool();
    const large = JSON.stringify({ text: "wheel ".repeat(200_000) });
    const script = bench.provider.forKey(bench.keys[0]!);
    script.next(reply.encoded("gzip", 200, {}, JSON.parse(large) as object), reply.json(200, {}, JSON.parse(large)));
    await using pool = createPool({ ...bench.options, keys: bench.options.keys.slice(0, 1) });
    for (const _ of [1, 2]) {
      const response = await pool.fetch()(`${bench.provider.baseUrl}/models`);
      expect((await response.text()) === large).toBe(true);
    }
  });

  it.each([204, 304])("without a body is given without one: %i", async (status) => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).next(reply.status(status));

    const response = await bench.send();

    expect([response.status, response.body]).toEqual([status, null]);
  });

  it("is the provider's error when every key has been tried or rests, in its shape and with the wait", async () => {
    await using bench = await aPool({ kind: "anthropic" });
    for (const key of bench.keys) bench.provider.forKey(key).always(reply.status(429));

    const response = await bench.send({ path: "/messages" });

    expect(response.status).toBe(429);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "x-keywheel-error": "pool_exhausted",
      "retry-after": "60",
    });
    expect(await response.json()).toMatchObject({
      type: "error",
      error: { type: "rate_limit_error", message: expect.stringContaining("of 3 keys 3 are cooling down") as string },
    });
  });

  it("that repeats the key is given without it", async () => {
    await using bench = await aPool();
    const [key = ""] = bench.keys;
    const error = { error: { message: `The key ${key}, or ${encodeURIComponent(key)}, may not do this` } };
    bench.provider.forKey(key).next(reply.json(400, { "x-echo": key }, error));

    const response = await bench.send();
    const text = await response.text();

    expect(text).toBe('{"error":{"message":"The key [redacted], or [redacted], may not do this"}}');
    expect(response.headers.get("x-echo")).toBe("[redacted]");
    expect(response.headers.get("content-length")).toBeNull();
  });

  it("rests a key for as long as the provider names", async () => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).next(reply.status(429, { "retry-after": "300" }));

    await bench.send();

    expect((await bench.pool.keys())[0]).toMatchObject({
      cooldownUntil: bench.clock.now() + 300_000,
      reason: { wait: "stated" },
    });
  });
});

/** The events of a chat completion in these words. */
function chunks(text: string): SseEvent[] {
  return chatChunks({ id: "chatcmpl-1" }, text);
}

describe("a stream", () => {
  it("comes piece by piece, and its success counts with its end", async () => {
    await using bench = await aPool();
    const live = reply.live();
    bench.provider.forKey(bench.keys[0]!).next(live);
    const outcome: string[] = [];
    const pending = bench.send();
    const [first = "", ...rest] = chunks("Hel lo").map(sseText);
    await live.send(first);
    await live.send(rest[0] ?? "");

    const response = await pending;
    const reader = response.body!.getReader();
    let text = "";
    while (!text.includes("Hel")) text += new TextDecoder().decode((await reader.read()).value);
    outcome.push("first piece read");
    for (const event of rest.slice(1)) await live.send(event);
    await live.end();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += new TextDecoder().decode(value);
    }

    expect(outcome).toEqual(["first piece read"]);
    expect(text).toBe([first, ...rest].join(""));
  });

  it("that opens with an error before any content counts as not begun", async () => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).next(reply.sse([": one moment\n\n", limitedMidway]));
    bench.provider.forKey(bench.keys[1]!).next(reply.sse(chunks("Hello")));

    const text = await (await bench.send()).text();

    expect(text).toContain("Hello");
    expect(bench.provider.picks()).toBe("AB");
    expect((await bench.pool.keys())[0]?.status).toBe("cooling_down");
  });

  it("that fails after content is given as it is, and rests the key", async () => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).next(reply.sse([chunks("Hel")[0]!, chunks("Hel")[1]!, limitedMidway]));

    const text = await (await bench.send()).text();

    expect(text).toContain("Slow down");
    expect(bench.provider.picks()).toBe("A");
    expect((await bench.pool.keys())[0]?.status).toBe("cooling_down");
  });

  it("that is cut breaks for the reader too, and the key's count stays", async () => {
    await using bench = await aPool({ kind: "anthropic" });
    const events = messageEvents({ id: "msg_1" }, "Hello wheel", { input_tokens: 1, output_tokens: 1 }).slice(0, 5);
    bench.provider.forKey(bench.keys[0]!).next(reply.sse(events, { end: "rst" }));

    const response = await bench.send({ path: "/messages" });

    await expect(response.text()).rejects.toThrow("terminated");
    expect(bench.provider.picks()).toBe("A");
  });

  it("that is not read on ends at the provider", async () => {
    await using bench = await aPool();
    bench.provider
      .forKey(bench.keys[0]!)
      .next(reply.endless(sseText(chunks("Hello")[1]!), { headers: { "content-type": "text/event-stream" } }));

    const response = await bench.send();
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();

    await bench.provider.until(() => bench.provider.openRequests.length === 0, "the request to end");
    expect(bench.provider.requests[0]?.state).toBe("aborted");
    expect((await bench.pool.keys())[0]).toMatchObject({ status: "available", consecutiveFailures: 0 });
  });
});

describe("a signal", () => {
  it("that has been aborted before sends nothing", async () => {
    await using bench = await aPool();

    await expect(bench.send({ signal: AbortSignal.abort(new Error("never mind")) })).rejects.toThrow("never mind");
    expect(bench.provider.requests).toHaveLength(0);
  });

  it("ends a request that waits for its answer, with the reason, and blames no key", async () => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).next(reply.hang());
    const controller = new AbortController();
    const pending = bench.send({ signal: controller.signal });
    await bench.provider.arrived(1);

    controller.abort(new Error("too slow"));

    await expect(pending).rejects.toThrow("too slow");
    await bench.provider.until(() => bench.provider.openRequests.length === 0, "the request to end");
    expect(bench.provider.picks()).toBe("A");
    expect((await bench.pool.keys())[0]).toMatchObject({ status: "available", consecutiveFailures: 0 });
  });

  it("ends a request whose refusal is being read", async () => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).next(reply.slowBody(60_000, 401, {}, { error: { message: "no" } }));
    const controller = new AbortController();
    const pending = bench.send({ signal: controller.signal });
    await bench.provider.arrived(1);
    setTimeout(() => controller.abort(), 50);

    await expect(pending).rejects.toMatchObject({ name: "AbortError" });
    expect((await bench.pool.keys())[0]?.status).toBe("available");
  });

  it("that lives on holds nothing of requests that have ended", async () => {
    await using bench = await aPool();
    const { signal } = new AbortController();
    bench.provider.forKey(bench.keys[0]!).next(limited);

    for (let call = 0; call < 3; call++) await (await bench.send({ signal })).text();
    await bench.send({ signal, path: "/models", method: "HEAD", body: null });

    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("breaks a stream off under its reader", async () => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).next(reply.sse(chunks("Hel lo").slice(0, 2), { end: "hang" }));
    const controller = new AbortController();
    const response = await bench.send({ signal: controller.signal });
    const text = response.text();

    controller.abort();

    await expect(text).rejects.toMatchObject({ name: "AbortError" });
    await bench.provider.until(() => bench.provider.openRequests.length === 0, "the request to end");
    expect((await bench.pool.keys())[0]).toMatchObject({ status: "available", consecutiveFailures: 0 });
  });
});

describe("no answer", () => {
  it("is what fetch itself would have thrown; no key is blamed and nothing is sent twice that may have been worked on", async () => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).always(reply.cutBeforeHeaders("rst"));
    const seen: (string | undefined)[] = [];
    bench.pool.on("attempt-ended", ({ attempt }) => seen.push(attempt.message));

    await expect(bench.send()).rejects.toBeInstanceOf(TypeError);

    expect(bench.provider.picks()).toBe("A");
    expect(seen).toEqual([expect.stringContaining("The provider could not be reached: ")]);
    expect((await bench.pool.keys())[0]).toMatchObject({ status: "available", consecutiveFailures: 0 });
  });

  it("to a GET is asked for once more", async () => {
    await using bench = await aPool();
    bench.provider.forKey(bench.keys[0]!).next(reply.cutBeforeHeaders("rst"));

    const response = await bench.send({ path: "/models", method: "GET", body: null });

    expect(response.status).toBe(200);
    expect(bench.provider.picks()).toBe("AA");
  });

  it("because nobody is there is told in the system's words", async () => {
    const port = await freePort();
    const baseURL = `http://127.0.0.1:${port}/v1`;
    await using pool = createPool({ provider: providers.openai, keys: ["sk-test-0123456789"], baseURL });

    await expect(pool.fetch()(`${baseURL}/models`)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });
});

describe("where a request belongs", () => {
  const turn = (...texts: string[]): string =>
    JSON.stringify({
      model: "gpt-test",
      messages: texts.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content })),
    });

  it("is where the conversation began that it continues", async () => {
    await using bench = await aPool();
    for (const body of [turn("one"), turn("two"), turn("one", "1", "and?"), turn("two", "2", "and?"), turn("one")])
      await (await bench.send({ body })).text();

    expect(bench.provider.picks()).toBe("ABABC");
  });

  it("is with the key under which a file is stored", async () => {
    await using bench = await aPool();
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", new Blob(["{}\n"]), "b.jsonl");
    const file = (await (await bench.send({ path: "/files", headers: {}, body: form })).json()) as { id: string };
    await bench.turns(1);
    const body = JSON.stringify({ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" });

    const batch = await bench.send({ path: "/batches", body });
    const read = await bench.send({ path: `/files/${file.id}`, method: "GET", body: null });

    expect([batch.status, read.status]).toEqual([200, 200]);
    expect(bench.provider.picks()).toBe("ABAA");
  });

  it("is what the body names as its session", async () => {
    await using bench = await aPool();
    const body = (session_id: string): string => JSON.stringify({ model: "gpt-test", input: "x", session_id });
    for (const id of ["a", "b", "a", "b"]) await (await bench.send({ path: "/embeddings", body: body(id) })).text();

    expect(bench.provider.picks()).toBe("ABAB");
  });
});

it("tries the provider's own errors again with another key, as often as it may", async () => {
  await using bench = await aPool({ retry: { providerErrors: 1 } });
  for (const key of bench.keys) bench.provider.forKey(key).next(reply.status(500));

  const response = await bench.send();

  expect(response.status).toBe(500);
  expect(bench.provider.picks()).toBe("AB");
  expect((await bench.pool.keys()).map(({ status }) => status)).toEqual(["available", "available", "available"]);
});

it("serves many requests at once, each key by its share", async () => {
  await using bench = await aPool();

  const responses = await Promise.all(Array.from({ length: 60 }, () => bench.send()));

  expect(responses.every((response) => response.ok)).toBe(true);
  expect(bench.provider.counts()).toEqual({ A: 20, B: 20, C: 20 });
});
