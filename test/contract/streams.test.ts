import { once } from "node:events";
import { connect } from "node:net";
import {
  anthropicError,
  chatChunks,
  messageEvents,
  openAiError,
  reply,
  runGateway,
  type RunningGateway,
  type SseEvent,
  sseText,
} from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { eventually, poolOf, type PooledProvider } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const chunks = chatChunks({ id: "chatcmpl-test", created: 1, model: "gpt-test" }, "one two three");
const [opening = "", first = "", second = "", third = ""] = chunks;
const message = messageEvents(
  { id: "msg_test", type: "message", role: "assistant", model: "claude-test" },
  "one two",
  {},
);

function textOf(events: readonly SseEvent[]): string {
  return events.map(sseText).join("");
}

async function nextText(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const { value } = await reader.read();
  return Buffer.from(value ?? "").toString();
}

async function streamOf(pool: PooledProvider, init: { signal?: AbortSignal; headers?: Record<string, string> } = {}) {
  const response = await pool.send({ stream: true, ...init });
  if (response.body === null) throw new Error("a stream without a body");
  return { response, reader: response.body.getReader() };
}

describe("contract: a stream passes chunk by chunk", () => {
  it.each<[string, Record<string, string>]>([
    ["plain", {}],
    ["with accept-encoding", { "accept-encoding": "gzip, br" }],
  ])("hands each event on before the next one is there (%s)", async (_, headers) => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const live = reply.live();
    pool.provider.on().next(live);
    const pending = streamOf(pool, { headers });
    await live.send(opening);
    await live.send(first);

    const { response, reader } = await pending;
    let text = "";
    while (!text.includes(sseText(first))) text += await nextText(reader);
    await live.send(second);
    const afterSecond = await nextText(reader);
    await live.send(third);
    const afterThird = await nextText(reader);
    await live.end();

    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("content-encoding")).toBeNull();
    expect([text, afterSecond, afterThird]).toEqual([textOf([opening, first]), sseText(second), sseText(third)]);
    expect((await reader.read()).done).toBe(true);
  });

  it("keeps comments, pings and odd line ends as they are", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const events = [
      ": keep-alive\n\n",
      "\r\n",
      'data: {"choices":[{"delta":{"content":"x"}}]}\r\n\r\n',
      "data: [DONE]\n\n",
    ];
    pool.provider.on().next(reply.sse(events));

    expect(await (await pool.send({ stream: true })).text()).toBe(events.join(""));
  });

  it("passes events that are split anywhere", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const text = textOf(chatChunks({ id: "c" }, "é €"));
    const headers = { "content-type": "text/event-stream", "content-length": String(Buffer.byteLength(text)) };
    pool.provider.on().next(reply.trickle(text, { pieceBytes: 7, headers }));

    expect(await (await pool.send({ stream: true })).text()).toBe(text);
  });
});

describe("contract: a stream that opens with an error before any content counts as not begun", () => {
  it.each<[string, readonly SseEvent[], object]>([
    [
      "an error event",
      [{ event: "error", data: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } }],
      { code: "overloaded", http_status: 529 },
    ],
    [
      "an opening and then an error",
      [
        message[0] ?? "",
        { event: "ping", data: { type: "ping" } },
        { event: "error", data: { type: "error", error: { type: "rate_limit_error", message: "Slow" } } },
      ],
      { code: "rate_limited" },
    ],
  ])("fails over after %s, and the client sees the second stream alone", async (_, events, reason) => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });
    pool.provider.forKey(pool.valueOf("A")).next(reply.sse(events));
    pool.provider.forKey(pool.valueOf("B")).next(reply.sse(message));

    const text = await (await pool.send({ stream: true })).text();

    expect(text).toBe(textOf(message));
    expect(pool.provider.picks()).toBe("AB");
    expect((await pool.key("A")).status_reason).toMatchObject(reason);
  });

  it("lets the head go after ten seconds at the latest, and the stream goes on", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const live = reply.live();
    pool.provider.on().next(live);
    const began = performance.now();
    const pending = streamOf(pool);
    await live.send(": waiting\n\n");

    // Real time, because the bound is the program's own promise.
    const { reader } = await pending;
    const waitedMs = performance.now() - began;
    await live.send(first);
    await live.end();

    expect(waitedMs).toBeLessThan(12_500);
    expect(await nextText(reader)).toContain("waiting");
  });
});

describe("contract: a retry happens only while no byte has gone to the client", () => {
  it("hands an error after content on, tries nothing again, and rests the key", async () => {
    await using pool = await poolOf(gateway);
    const error = { data: { error: { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" } } };
    pool.provider.forKey(pool.valueOf("A")).next(reply.sse([opening, first, error]));

    const text = await (await pool.send({ stream: true })).text();

    expect(text).toBe(textOf([opening, first, error]));
    expect(pool.provider.picks()).toBe("A");
    await pool.becomes("A", "cooling_down");
  });

  it.each(["fin", "rst"] as const)("shows a stream that breaks with a %s as broken, never as ended", async (how) => {
    await using pool = await poolOf(gateway);
    const live = reply.live();
    pool.provider.forKey(pool.valueOf("A")).next(live);
    const pending = streamOf(pool);
    await live.send(opening);
    await live.send(first);
    const { reader } = await pending;
    await nextText(reader);

    await live.cut(how);

    await expect(
      (async () => {
        while (!(await reader.read()).done);
      })(),
    ).rejects.toThrow("terminated");
    expect(pool.provider.picks()).toBe("A");
    expect(await pool.key("A")).toMatchObject({ status: "available", consecutive_failures: 0 });
  });

  it("shows a plain body that breaks as broken", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(reply.cutInBody("rst", { sent: '{"id":', length: 500 }));

    const outcome = await pool.send().then(
      async (response) => ({ status: response.status, text: await response.text().catch(() => "broken") }),
      () => ({ status: 0, text: "broken" }),
    );

    // Either it was still held, and then it is the gateway's 502, or it had begun, and then it breaks.
    expect(outcome.status === 502 || outcome.text === "broken").toBe(true);
    expect(pool.provider.picks()).toBe("A");
  });

  it("tries a connection that breaks before any byte once more with the same key where that is safe, then says 502", async () => {
    await using once = await poolOf(gateway);
    await using always = await poolOf(gateway);
    once.provider.on().next(reply.cutBeforeHeaders());
    always.provider.on().always(reply.cutBeforeHeaders());

    const saved = await fetch(`${once.baseUrl}/v1/models`);
    const lost = await fetch(`${always.baseUrl}/v1/models`);

    expect([saved.status, once.provider.picks()]).toEqual([200, "AA"]);
    expect([lost.status, lost.headers.get("x-keywheel-error")]).toEqual([502, "upstream_unreachable"]);
    expect(always.provider.picks()).toBe("AA");
    expect((await always.key("A")).status).toBe("available");
  });

  it("does not send a generation twice that the provider may have begun", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.on().always(reply.slowHeaders(50, reply.cutBeforeHeaders()));

    const response = await pool.send();

    expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([502, "upstream_unreachable"]);
    expect(pool.provider.picks()).toBe("A");
  });

  it("repeats a call whose idle connection was closed under it, on a fresh one, with the same key", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider
      .on()
      .next(
        reply.json(200, {}, { n: 1 }),
        { ...reply.cutBeforeHeaders("rst"), readsBody: false },
        reply.json(200, {}, { n: 2 }),
      );
    await (await pool.send()).arrayBuffer();

    const response = await pool.send();

    expect(await response.json()).toEqual({ n: 2 });
    expect(pool.provider.connections.opened).toBe(2);
    expect((await pool.key("A")).consecutive_failures).toBe(0);
  });
});

describe("contract: a client that goes away ends the upstream request at once, in every phase", () => {
  const phases: [string, (pool: PooledProvider) => void, boolean][] = [
    ["before the head", (pool) => pool.provider.on().next(reply.hang()), false],
    ["while the opening is held back", (pool) => pool.provider.on().next(reply.sse([opening], { end: "hang" })), false],
    [
      "in the middle of a stream",
      (pool) => pool.provider.on().next(reply.sse([opening, first], { end: "hang" })),
      true,
    ],
    [
      "in a body without an end",
      (pool) => pool.provider.on().next(reply.endless("x".repeat(100), { delayMs: 5 })),
      true,
    ],
  ];

  it.each(phases)("%s", async (_, script, hasBegun) => {
    await using pool = await poolOf(gateway);
    script(pool);
    const aborter = new AbortController();
    const pending = pool.send({ stream: true, signal: aborter.signal }).then(
      async (response) => {
        const reader = response.body?.getReader();
        await reader?.read();
        return reader;
      },
      () => undefined,
    );
    const request = await pool.provider.arrived(1);
    if (hasBegun) await pending;

    const left = performance.now();
    aborter.abort();
    await request.ended;

    expect(request.state).toBe("aborted");
    expect((request.endedAt ?? Infinity) - left).toBeLessThan(1_000);
    expect(pool.provider.picks()).toBe("A");
    expect(await pool.key("A")).toMatchObject({ status: "available", consecutive_failures: 0 });
  });

  it("in the middle of an upload", async () => {
    await using pool = await poolOf(gateway);
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    socket.write(
      `POST /${pool.record.slug}/v1/files HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Length: 1000000\r\n\r\nthe beginning`,
    );

    socket.destroy();
    await (await pool.send()).arrayBuffer();

    await pool.provider.until(() => pool.provider.openRequests.length === 0, "the end of the upload");
    expect(pool.provider.requests.filter((request) => request.path === "/v1/files" && request.bodyComplete)).toEqual(
      [],
    );
    expect((await gateway.keys(pool.record)).map((key) => key.consecutive_failures)).toEqual([0, 0]);
  });

  it("notes it as the client's doing", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.on().next(reply.hang());
    const aborter = new AbortController();
    const pending = pool.send({ signal: aborter.signal }).catch(() => undefined);
    await pool.provider.arrived(1);
    aborter.abort();
    await pending;

    const { data } = await eventually(
      () => gateway.api<{ data: { outcome?: string }[] }>("GET", `/requests?provider=${pool.record.id}`),
      (answer) => answer.data.length === 1,
      { what: "the request to be listed" },
    );

    expect(JSON.stringify(data)).toContain("client_gone");
  });
});

describe("contract: an error inside a 200", () => {
  it("counts as the error that it is, and fails over", async () => {
    await using pool = await poolOf(gateway);
    pool.provider
      .forKey(pool.valueOf("A"))
      .next(reply.json(200, {}, { error: { code: 429, message: "Rate limit exceeded" } }));

    const response = await pool.send();

    expect(await response.json()).toMatchObject({ object: "chat.completion" });
    expect(await pool.key("A")).toMatchObject({ status: "cooling_down", consecutive_failures: 1 });
  });
});

describe("contract: what is not the key's fault does not punish the key", () => {
  const html = "<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>";
  it.each([
    [
      "a challenge page",
      reply.status(403, { "content-type": "text/html; charset=UTF-8", "cf-mitigated": "challenge" }, html),
    ],
    [
      "a refused region",
      openAiError(403, {
        message: "Country, region, or territory not supported",
        type: "request_forbidden",
        code: "unsupported_country_region_territory",
      }),
    ],
  ])("%s: one hit, no key touched", async (_, refusal) => {
    await using pool = await poolOf(gateway);
    pool.provider.on().always(refusal);

    const response = await pool.send();
    await response.arrayBuffer();

    expect(response.status).toBe(403);
    expect(pool.provider.picks()).toBe("A");
    expect((await gateway.keys(pool.record)).map((key) => key.status)).toEqual(["available", "available"]);
  });

  it("a key that lacks a model rests for that model alone", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });
    const lacks = "Your API key does not have permission to use model: claude-test.";
    pool.provider.forKey(pool.valueOf("A")).next(anthropicError(403, "permission_error", lacks));

    const response = await pool.send();
    await response.arrayBuffer();

    expect(response.status).toBe(200);
    expect(pool.provider.picks()).toBe("AB");
    expect(await pool.key("A")).toMatchObject({ enabled: true, status: "available" });
  });
});
