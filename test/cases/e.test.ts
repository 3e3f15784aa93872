import { once } from "node:events";
import { connect } from "node:net";
import {
  chatChunks,
  messageEvents,
  reply,
  runGateway,
  type RunningGateway,
  type SseEvent,
  sseText,
} from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { eventually, poolOf, type PooledProvider, type PoolOptions } from "../pooled-provider.ts";
import { healthOf } from "./observed.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  lateStream = watchLateStream();
  return () => gateway[Symbol.asyncDispose]();
});

const chunks = chatChunks({ id: "chatcmpl-test", created: 1, model: "gpt-test" }, "one two three");
const message = messageEvents(
  { id: "msg_test", type: "message", role: "assistant", model: "claude-test" },
  "one two",
  {},
);
const inAnthropicsWords = (type: string): SseEvent => ({
  event: "error",
  data: { type: "error", error: { type, message: "No." } },
});
const inOpenAisWords = (code: number | string): SseEvent => ({ data: { error: { code, message: "No.", type: "e" } } });
const short = { cooldown: { base_ms: 100, cap_ms: 100 } };

function textOf(events: readonly SseEvent[]): string {
  return events.map(sseText).join("");
}

/** What a client saw of a stream that takes longer to show content than an opening is held back. */
interface LateStream {
  readonly headAfterMs: number;
  readonly status: number;
  readonly text: string;
  readonly picks: string;
  readonly health: readonly string[];
}

let lateStream: Promise<LateStream>;

/** Runs beside the other tests of this file: ten seconds of real time, which the product itself fixes (contract §4 rule 7). */
async function watchLateStream(): Promise<LateStream> {
  await using pool = await poolOf(gateway, { weights: [1, 1] });
  const live = reply.live();
  pool.provider.forKey(pool.valueOf("A")).next(live);
  const began = performance.now();
  const pending = pool.send({ stream: true });
  await live.send(": thinking\n\n");
  const response = await pending;
  const headAfterMs = performance.now() - began;
  await live.send(inOpenAisWords(429));
  await live.end();
  const text = await response.text();
  await eventually(
    () => pool.key("A"),
    (key) => key.consecutive_failures === 1,
    { what: "the key to be blamed" },
  );
  return {
    headAfterMs,
    status: response.status,
    text,
    picks: pool.provider.picks(),
    health: await healthOf(gateway, pool),
  };
}

/** A client's own connection, so that it can be torn. */
async function rawCall(pool: PooledProvider, path: string, body: object) {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  let received = "";
  socket.on("data", (bytes) => (received += bytes.toString("latin1")));
  socket.on("error", () => {
    // Torn by the test itself.
  });
  const text = JSON.stringify(body);
  socket.write(
    `POST /${pool.record.slug}${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\n` +
      `anthropic-version: 2023-06-01\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  return { socket, received: () => received };
}

describe("E. streams", () => {
  it.each<[string, readonly SseEvent[], PoolOptions, string]>([
    ["Anthropic's overload", [inAnthropicsWords("overloaded_error")], { kind: "anthropic" }, "cooling_down 1"],
    ["Anthropic's limit", [inAnthropicsWords("rate_limit_error")], { kind: "anthropic" }, "cooling_down 1"],
    ["Anthropic's refusal", [inAnthropicsWords("authentication_error")], { kind: "anthropic" }, "disabled 0"],
    [
      "an overload behind an opening and a ping",
      [message[0] ?? "", { event: "ping", data: { type: "ping" } }, inAnthropicsWords("overloaded_error")],
      { kind: "anthropic" },
      "cooling_down 1",
    ],
    ["OpenAI's limit by number", [inOpenAisWords(429)], {}, "cooling_down 1"],
    ["OpenAI's limit by name", [inOpenAisWords("rate_limit_exceeded")], {}, "cooling_down 1"],
    ["OpenAI's refusal", [inOpenAisWords(401)], {}, "disabled 0"],
    ["an empty purse behind a role", [chunks[0] ?? "", inOpenAisWords("insufficient_quota")], {}, "cooling_down 1"],
    [
      "comments and then a limit",
      [": OPENROUTER PROCESSING\n\n", ": OPENROUTER PROCESSING\n\n", inOpenAisWords(429)],
      {},
      "cooling_down 1",
    ],
    [
      "Gemini's limit",
      [{ data: { error: { code: 429, message: "Quota exceeded", status: "RESOURCE_EXHAUSTED" } } }],
      { kind: "gemini" },
      "cooling_down 1",
    ],
  ])(
    "case 39: a 200 that opens with %s: the client sees the next key's stream alone",
    async (_, events, options, health) => {
      await using pool = await poolOf(gateway, options);
      const healthy = options.kind === "anthropic" ? message : chunks;
      pool.provider.forKey(pool.valueOf("A")).next(reply.sse(events));
      pool.provider.forKey(pool.valueOf("B")).next(reply.sse(healthy));

      const response = await pool.send({ stream: true });

      expect([response.status, await response.text()]).toEqual([200, textOf(healthy)]);
      expect(pool.provider.picks()).toBe("AB");
      expect(await healthOf(gateway, pool)).toEqual([health, "available 0"]);
    },
  );

  it.each<[string, readonly SseEvent[], "clean" | "fin" | "rst"]>([
    ["nothing at all", [], "clean"],
    ["comments alone", [": ping\n\n", ": ping\n\n"], "clean"],
    ["nothing, then a cut", [], "rst"],
    ["comments, then a cut", [": ping\n\n"], "fin"],
  ])("case 39: a stream of %s is no answer: 502, and nobody is blamed", async (_, events, end) => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(reply.sse(events, { end }));

    const response = await pool.send({ stream: true });

    expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([502, "upstream_unreachable"]);
    expect([pool.provider.picks(), ...(await healthOf(gateway, pool))]).toEqual(["A", "available 0", "available 0"]);
  });

  it("case 39: where the settings allow a repeat, an empty stream is repeated", async () => {
    await using pool = await poolOf(gateway, { settings: { retry: { provider_errors: 1 } } });
    pool.provider.forKey(pool.valueOf("A")).next(reply.sse([]));
    pool.provider.forKey(pool.valueOf("B")).next(reply.sse(chunks));

    expect(await (await pool.send({ stream: true })).text()).toBe(textOf(chunks));
  });

  it.each(["plain", "gzip"] as const)("case 39: what was held back is given on byte for byte (%s)", async (coding) => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const text = `: hello\r\n\r\n\n${textOf(chunks)}`;
    const type = { "content-type": "text/event-stream" };
    pool.provider
      .on()
      .next(
        coding === "plain"
          ? reply.trickle(text, { headers: type, pieceBytes: 3 })
          : reply.encoded(coding, 200, type, text),
      );

    expect(await (await pool.send({ stream: true })).text()).toBe(text);
  });

  it("case 42: a failure after three deltas is the client's to see: the bytes are the first key's, and it is blamed", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });
    const events = [...message.slice(0, 5), inAnthropicsWords("overloaded_error")];
    pool.provider.forKey(pool.valueOf("A")).next(reply.sse(events));

    const response = await pool.send({ stream: true });

    expect([response.status, await response.text()]).toEqual([200, textOf(events)]);
    expect(pool.provider.picks()).toBe("A");
    const { status_reason: reason } = await pool.becomes("A", "cooling_down");
    expect(reason).toMatchObject({ code: "overloaded", http_status: 529 });
  });

  it.each([401, 429])("case 42: nor is the next key asked after content and a %i in OpenAI's words", async (code) => {
    await using pool = await poolOf(gateway);
    const events = [...chunks.slice(0, 3), inOpenAisWords(code)];
    pool.provider.forKey(pool.valueOf("A")).next(reply.sse(events));

    const text = await (await pool.send({ stream: true })).text();

    expect([text, pool.provider.picks()]).toEqual([textOf(events), "A"]);
    await pool.becomes("A", code === 401 ? "disabled" : "cooling_down");
  });

  it.each(["fin", "rst"] as const)("case 43: a stream that is cut (%s) is cut for the client too", async (end) => {
    await using pool = await poolOf(gateway);
    pool.provider.on().next(reply.sse(chunks.slice(0, 3), { end }));

    const response = await pool.send({ stream: true });

    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow("terminated");
    expect([pool.provider.picks(), ...(await healthOf(gateway, pool))]).toEqual(["A", "available 0", "available 0"]);
  });

  it("case 43: a body that ends before its length is cut for the client too", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.on().next(reply.cutInBody("fin", { sent: '{"choices":[{}', length: 400 }));

    const response = await pool.send();

    await expect(response.text()).rejects.toThrow("terminated");
  });

  const ofResponses = (type: string, parts: object = {}): SseEvent => ({ event: type, data: { type, ...parts } });
  const delta = ofResponses("response.output_text.delta", { delta: "Hi" });
  it.each<[string, readonly SseEvent[], number]>([
    ["a response that is completed, without [DONE]", [delta, ofResponses("response.completed", { response: {} })], 0],
    ["a chat that ends with [DONE]", chunks, 0],
    ["a chat that ends with its reason, without [DONE]", chunks.slice(0, -1), 0],
    ["a chat without either", chunks.slice(0, 3), 1],
    ["a response that is not completed", [ofResponses("response.created", { response: {} }), delta], 1],
  ])("case 43: a clean end of %s passes as it is; the count of failures is then %i", async (_, events, failures) => {
    await using pool = await poolOf(gateway, { weights: [1], settings: short });
    pool.provider.on().next(reply.status(429), reply.sse(events));
    await pool.turns(1);
    await pool.becomes("A", "available");

    const text = await (await pool.send({ stream: true })).text();

    expect(text).toBe(textOf(events));
    await eventually(
      () => gateway.api<{ data: object[] }>("GET", `/requests?provider=${pool.record.id}`),
      ({ data }) => data.length === 2,
      {
        what: "both requests to be recorded",
      },
    );
    expect((await pool.key("A")).consecutive_failures).toBe(failures);
  });

  it("case 44: with one key, an error in the middle of a stream is told once, and everybody else goes on being served", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    await using other = await poolOf(gateway, { weights: [1] });
    const events = [...chunks.slice(0, 3), inOpenAisWords(429)];
    pool.provider.on().always(reply.sse(events, { end: "hang" }));
    const leaving = new AbortController();
    const response = await pool.send({ stream: true, signal: leaving.signal });
    const reader = response.body?.getReader();
    let text = "";
    while (!text.includes("No.")) text += Buffer.from((await reader?.read())?.value ?? "").toString();

    const lags: number[] = [];
    for (let request = 0; request < 20; request++) {
      const began = performance.now();
      await (await other.send()).arrayBuffer();
      lags.push(performance.now() - began);
    }

    expect([text, pool.provider.requests.length]).toEqual([textOf(events), 1]);
    expect(lags.sort((one, two) => one - two)[10]).toBeLessThan(150);
    leaving.abort();
    await pool.provider.until(() => pool.provider.openRequests.length === 0, "the stream to be let go");
    expect(pool.provider.requests).toHaveLength(1);
  });

  it("case 45: events come as they were sent, 200 ms apart, though the client would take gzip", async () => {
    const spread = await Promise.all(
      ["identity", "gzip", "br, gzip;q=0.5"].map(async (accepted) => {
        await using pool = await poolOf(gateway, { weights: [1] });
        pool.provider.on().next(reply.sse(chunks.slice(0, 5), { delayMs: 200 }));
        const response = await pool.send({ stream: true, headers: { "accept-encoding": accepted } });
        const times: number[] = [];
        for await (const _ of response.body ?? []) times.push(performance.now());
        // The first of these chunks carries a role and no content: it comes with the second.
        return { gaps: times.slice(1).map((time, at) => time - (times[at] ?? 0)), headers: response.headers };
      }),
    );

    for (const { gaps, headers } of spread) {
      const late = gaps.filter((gap) => gap > 100);
      expect(late.length).toBeGreaterThanOrEqual(3);
      expect(Math.min(...late)).toBeGreaterThanOrEqual(150);
      expect([headers.get("content-encoding"), headers.get("x-accel-buffering")]).toEqual([null, "no"]);
    }
  });

  it.each<[string, string, PoolOptions, (pool: PooledProvider) => void]>([
    [
      "two events of a stream",
      "/v1/messages",
      { kind: "anthropic" },
      (pool) => pool.provider.on().next(reply.sse(message.slice(0, 5), { end: "hang" })),
    ],
    [
      "a count of tokens",
      "/v1/messages/count_tokens",
      { kind: "anthropic" },
      (pool) => pool.provider.on().next(reply.hang()),
    ],
    [
      "a body that is no stream",
      "/v1/chat/completions",
      {},
      (pool) =>
        pool.provider
          .on()
          .next(reply.endless('{"a":1}', { headers: { "content-type": "application/json" }, delayMs: 20 })),
    ],
    [
      "bytes of no known kind",
      "/v1/audio/speech",
      {},
      (pool) =>
        pool.provider.on().next(reply.endless("abc", { headers: { "content-type": "audio/mpeg" }, delayMs: 20 })),
    ],
  ])(
    "case 47: a client that leaves in %s ends it at the provider within a second",
    async (_, path, options, script) => {
      await using pool = await poolOf(gateway, options);
      script(pool);
      const { socket, received } = await rawCall(pool, path, { model: "m", max_tokens: 1, messages: [], stream: true });
      const request = await pool.provider.arrived(1);
      if (path !== "/v1/messages/count_tokens") {
        await eventually(received, (text) => text.length > 300, { what: "the answer to begin" });
      }

      const left = performance.now();
      socket.destroy();
      await request.ended;

      expect([request.state, pool.provider.requests.length]).toEqual(["aborted", 1]);
      expect((request.endedAt ?? Infinity) - left).toBeLessThan(1_000);
      expect(await healthOf(gateway, pool)).toEqual(["available 0", "available 0"]);
    },
  );

  // The last, since it has been running since the first.
  it("case 41: a stream whose first token is late gets its head after ten seconds; later errors are told inside it", async () => {
    const { headAfterMs, status, text, picks, health } = await lateStream;

    expect(headAfterMs).toBeGreaterThan(9_000);
    expect(headAfterMs).toBeLessThan(11_500);
    expect([status, text]).toEqual([200, textOf([": thinking\n\n", inOpenAisWords(429)])]);
    expect([picks, ...health]).toEqual(["A", "cooling_down 1", "available 0"]);
  });
});
