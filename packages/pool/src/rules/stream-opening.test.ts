import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerAnswers } from "../../../testkit/src/provider-answers.ts";
import { bytesReading } from "./stream-bytes.ts";
import { type AnyFrame, type StreamEnd, StreamObserver, type StreamReading } from "./stream-opening.ts";
import { textReading } from "./stream-text.ts";

const encoder = new TextEncoder();

const sse = "text/event-stream; charset=utf-8";
const json = "application/json";
const lines = "application/x-ndjson";

interface Watched {
  /** What the opening had shown after each chunk. */
  readonly openings: readonly string[];
  readonly end: StreamEnd;
  readonly opening: string;
  readonly tail: readonly string[];
}

function watch(contentType: string | undefined, chunks: readonly (string | Uint8Array)[]): Watched {
  const glanced = watchWith(bytesReading, contentType, chunks);
  // Whoever asks for the tail glances.
  const read = { ...watchWith(textReading, contentType, chunks), tail: glanced.tail };
  expect(read, "whether the stream is read as text or as bytes").toEqual(glanced);
  return glanced;
}

function watchWith<Frame extends AnyFrame>(
  reading: StreamReading<Frame>,
  contentType: string | undefined,
  chunks: readonly (string | Uint8Array)[],
): Watched {
  const tail: string[] = [];
  const observer = new StreamObserver({ reading, contentType, onTail: (data) => tail.push(data) });
  const openings = chunks.map((chunk) => observer.push(typeof chunk === "string" ? encoder.encode(chunk) : chunk));
  const end = observer.end();
  return { openings, end, opening: observer.opening, tail };
}

/** An event without a name. */
const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
/** An event with its type as its name too. */
const typed = (type: string, value: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`;

const role = data({
  object: "chat.completion.chunk",
  choices: [{ delta: { role: "assistant", content: "" }, finish_reason: null }],
});
const word = data({ object: "chat.completion.chunk", choices: [{ delta: { content: "Hi" }, finish_reason: null }] });
const stop = data({ object: "chat.completion.chunk", choices: [{ delta: {}, finish_reason: "stop" }] });
const done = "data: [DONE]\n\n";
const messageStart = typed("message_start", { message: { id: "msg_1", content: [], usage: { input_tokens: 3 } } });
const blockStart = typed("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
const blockDelta = typed("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Hi" } });
const created = typed("response.created", {
  sequence_number: 0,
  response: { id: "resp_1", status: "in_progress", error: null },
});
const outputDelta = typed("response.output_text.delta", { sequence_number: 4, delta: "Hi" });
const candidate = (text: string, more: object = {}): object => ({
  candidates: [{ content: { parts: [{ text }] }, ...more }],
});

describe("what proves nothing yet", () => {
  it.each([
    ["comments", ": OPENROUTER PROCESSING\n\n: keep-alive\n\n"],
    ["blank lines", "\n\n\r\n\r\n"],
    ["Anthropic's pings", typed("ping")],
    ["a ping without data", "event: ping\n\n"],
    ["message_start", messageStart],
    ["an empty block", blockStart],
    [
      "an empty thought",
      typed("content_block_start", { content_block: { type: "thinking", thinking: "", signature: "" } }),
    ],
    ["response.created", created],
    ["response.queued", typed("response.queued")],
    ["response.in_progress", typed("response.in_progress")],
    [
      "an empty output item",
      typed("response.output_item.added", {
        output_index: 0,
        item: { id: "msg_1", type: "message", status: "in_progress", role: "assistant", content: [] },
      }),
    ],
    [
      "an empty content part",
      typed("response.content_part.added", { part: { type: "output_text", annotations: [], text: "" } }),
    ],
    ["a role alone", role],
    [
      "Azure's first chunk",
      data({ object: "chat.completion.chunk", choices: [], prompt_filter_results: [{ prompt_index: 0 }] }),
    ],
    [
      "Groq's first chunk",
      data({
        object: "chat.completion.chunk",
        choices: [{ delta: { role: "assistant", content: "" } }],
        x_groq: { id: "req_1" },
      }),
    ],
    ["Gemini's counts", data({ usageMetadata: { promptTokenCount: 8 } })],
    [
      "a run that was created",
      'event: thread.run.created\ndata: {"id":"run_1","object":"thread.run","last_error":null}\n\n',
    ],
    [
      "Cohere's message-start",
      typed("message-start", { id: "x", delta: { message: { role: "assistant", content: [] } } }),
    ],
    ["Mistral's conversation.response.started", typed("conversation.response.started", { conversation_id: "conv_1" })],
  ])("%s", (_, text) => {
    const watched = watch(sse, [text]);

    expect(watched.openings).toEqual(["undecided"]);
    expect(watched.end).toEqual({ kind: "truncated" });
  });

  it("Ollama's empty line", () => {
    expect(watch(lines, ['{"message":{"role":"assistant","content":""},"done":false}\n']).openings).toEqual([
      "undecided",
    ]);
  });
});

describe("what is content", () => {
  it.each([
    ["a word", word],
    ["a word of a completion", data({ choices: [{ text: "Hi", finish_reason: null }] })],
    [
      "a call of a tool",
      data({
        choices: [
          { delta: { tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "f", arguments: "" } }] } },
        ],
      }),
    ],
    ["reasoning", data({ choices: [{ delta: { content: null, reasoning_content: "Hm" } }] })],
    ["a refusal", data({ choices: [{ delta: { refusal: "No" } }] })],
    ["an end without a word", stop],
    ["nothing but the sentinel", done],
    ["Anthropic's delta", blockDelta],
    [
      "Anthropic's use of a tool",
      typed("content_block_start", { content_block: { type: "tool_use", id: "t", name: "f", input: {} } }),
    ],
    ["a delta of a response", outputDelta],
    [
      "a function call of a response",
      typed("response.output_item.added", { item: { type: "function_call", name: "f", arguments: "" } }),
    ],
    ["Gemini's text", data(candidate("Hi"))],
    ["Gemini's blocked prompt", data({ promptFeedback: { blockReason: "SAFETY" } })],
    ["a message of a thread", 'event: thread.message.delta\ndata: {"object":"thread.message.delta","delta":{}}\n\n'],
    ["Cohere's text", typed("content-delta", { delta: { message: { content: { text: "Hi" } } } })],
    ["an event that nobody knows", typed("some.new.event", { x: 1 })],
    ["text that is no JSON", "data: Hello\n\n"],
  ])("%s", (_, text) => {
    expect(watch(sse, [text]).openings).toEqual(["content"]);
  });

  it.each([
    ["Ollama's word", lines, '{"message":{"role":"assistant","content":"Hi"},"done":false}\n'],
    ["the first element of Gemini's array", json, `[${JSON.stringify(candidate("Hi"))}`],
    ["the field of a result, once the object has ended", json, '{"id":"x","object":"list","data":[0.1]}'],
    ["the field of a result in an object too long to be read whole", json, `{"data":["${"x".repeat(65_536)}`],
    ["a JSON object without one", json, '{"input_tokens":12}'],
    ["audio", "audio/mpeg", "ID3"],
    ["anything else", "application/octet-stream", '{"error":{"code":429}}'],
    ["SSE that is labelled as JSON", json, word],
    ["SSE without a label", undefined, word],
    ["text that is no stream", "text/plain", "Hello"],
  ])("%s", (_, contentType, text) => {
    expect(watch(contentType, [text]).openings).toEqual(["content"]);
  });
});

describe("a JSON object whose result has begun", () => {
  it("is likely an answer, and known for one when it has ended: an error may stand behind the result", () => {
    const observer = new StreamObserver({ reading: bytesReading, contentType: json });
    expect([observer.push(encoder.encode('{"id":"x",')), observer.leansToContent]).toEqual(["undecided", false]);
    expect([observer.push(encoder.encode('"choices":[')), observer.leansToContent]).toEqual(["undecided", true]);
    expect([observer.push(encoder.encode('{"index":0}]}')), observer.leansToContent]).toEqual(["content", false]);
    expect(observer.end()).toEqual({ kind: "completed" });
  });

  it("is cut if it is broken off", () => {
    const observer = new StreamObserver({ reading: bytesReading, contentType: json });
    observer.push(encoder.encode('{"choices":[{"index":0'));
    expect(observer.end()).toEqual({ kind: "truncated" });
  });

  it.each([
    ["beside no choices", { choices: [], error: { code: 429 } }],
    ["before no data", { error: { code: 429 }, data: [] }],
    ["beside no output", { output: [], error: { code: 429, message: "slow down" } }],
    ["beside an empty text", { content: "", error: { code: 429 } }],
    ["in a choice", { choices: [{ message: { content: "" }, finish_reason: "error", error: { code: 429 } }] }],
  ])("is an error if one is told %s (case 20)", (_, body) => {
    const watched = watch(json, [JSON.stringify(body)]);
    expect(watched.opening).toBe("error");
    expect(watched.end).toMatchObject({ kind: "failed", errorText: expect.stringContaining("429") });
  });

  it.each([
    ["beside what it has answered", { content: [{ text: "Hi" }], error: { code: 429 } }],
    [
      "of an object that was asked for",
      { object: "response", status: "failed", error: { code: "rate_limit_exceeded" } },
    ],
  ])("is an answer if the error is one %s", (_, body) => {
    expect(watch(json, [JSON.stringify(body)])).toMatchObject({ opening: "content", end: { kind: "completed" } });
  });

  it("is an error if what was to be made has failed", () => {
    const observer = new StreamObserver({ reading: bytesReading, contentType: json, isMaking: true });
    const error = { code: "rate_limit_exceeded", message: "Rate limit reached" };
    observer.push(encoder.encode(JSON.stringify({ object: "response", status: "failed", output: [], error })));

    expect(observer.opening).toBe("error");
    expect(JSON.parse(observer.errorText ?? "")).toEqual({ type: "error", error });
  });
});

describe("case 39: a 200 that opens with an error", () => {
  it.each([
    [
      "Anthropic",
      sse,
      typed("error", { error: { type: "overloaded_error", message: "Overloaded" } }),
      "overloaded_error",
    ],
    [
      "after pings and starts",
      sse,
      messageStart + typed("ping") + blockStart + typed("error", { error: { type: "api_error" } }),
      "api_error",
    ],
    ["OpenAI chat", sse, role + data({ error: { type: "server_error" } }), "server_error"],
    ["with a name", sse, `event: error\n${data({ error: { code: 429 } })}`, "429"],
    ["told by its name alone", sse, 'event: error\ndata: {"code":"Throttling","message":"m"}\n\n', "Throttling"],
    [
      "DashScope's native form",
      sse,
      'id:1\nevent:error\n:HTTP_STATUS/429\ndata:{"code":"Throttling.RateQuota"}\n\n',
      "Throttling.RateQuota",
    ],
    ["in words", sse, "event: error\ndata: it broke\n\n", "it broke"],
    [
      "a flat error event",
      sse,
      created + typed("error", { code: "insufficient_quota", message: "m" }),
      "insufficient_quota",
    ],
    [
      "a failed response",
      sse,
      created + typed("response.failed", { response: { error: { code: "rate_limit_exceeded" } } }),
      "rate_limit_exceeded",
    ],
    [
      "a failed run",
      sse,
      'event: thread.run.failed\ndata: {"object":"thread.run","status":"failed","last_error":{"code":"rate_limit_exceeded"}}\n\n',
      "rate_limit_exceeded",
    ],
    [
      "Cohere",
      sse,
      typed("message-start") + typed("message-end", { delta: { finish_reason: "ERROR", error: "gone" } }),
      "gone",
    ],
    [
      "OpenRouter",
      sse,
      ": OPENROUTER PROCESSING\n\n" +
        data({ error: { code: 502 }, choices: [{ delta: { content: "" }, finish_reason: "error" }] }),
      "502",
    ],
    ["Groq", sse, data({ choices: [], x_groq: { id: "r", error: "over capacity" } }), "over capacity"],
    ["Mistral", sse, typed("conversation.response.error", { code: 3505, message: "m" }), "3505"],
    ["Gemini, bare", sse, '{"error": {"code": 503}}\n', "503"],
    ["Gemini, bare on several lines", sse, '{\n  "error": {\n    "code": 503\n  }\n}\n', "503"],
    [
      "Gemini's array",
      json,
      '[{\n  "error": {\n    "code": 429,\n    "status": "RESOURCE_EXHAUSTED"\n  }\n}\n]',
      "429",
    ],
    ["Ollama", lines, '{"error":"model runner has stopped"}\n', "model runner has stopped"],
    ["case 20: plain JSON", json, '\n\n{"error":{"code":429},"choices":null}', "429"],
    ["pretty JSON labelled as SSE", sse, '{\n "error": {\n "code": 401 }\n}', "401"],
    ["after a byte order mark, in CRLF", sse, '\uFEFFevent: error\r\ndata: {"error":{"code":429}}\r\n\r\n', "429"],
    ["in CR alone", sse, ': x\r\revent: error\rdata: {"error":{"code":429}}\r\r', "429"],
    ["in CR alone, after a start", sse, (role + data({ error: { code: 429 } })).replaceAll("\n", "\r"), "429"],
    ["without a last blank line", sse, 'data: {"error":{"code":429}}', "429"],
    ["over several data lines", sse, 'data: {"error":\ndata: {"code":429}}\n\n', "429"],
  ])("%s", (_, contentType, text, told) => {
    const watched = watch(contentType, [text]);

    expect(watched.opening).toBe("error");
    expect(watched.end).toMatchObject({ kind: "failed", errorText: expect.stringContaining(told) });
  });

  it("is found in an event that was cut for its size", () => {
    const echoed = { error: { code: "insufficient_quota" }, instructions: "x".repeat(200_000) };

    const watched = watch(sse, [created, typed("response.failed", { response: echoed })]);

    expect(watched.openings).toEqual(["undecided", "error"]);
  });

  it("is still awaited after an opening event of any size", () => {
    const large = typed("response.created", { response: { instructions: "x".repeat(200_000) } });
    const untold = data({ type: "response.in_progress", response: { instructions: "x".repeat(200_000) } });

    expect(watch(sse, [large, untold]).openings).toEqual(["undecided", "undecided"]);
  });

  it("is not sought in any other event beyond 64 KiB", () => {
    expect(watch(sse, [`data: ${"x".repeat(70_000)}`]).openings).toEqual(["content"]);
  });
});

describe("how a stream ends", () => {
  const complete: StreamEnd = { kind: "completed" };
  const cut: StreamEnd = { kind: "truncated" };
  it.each([
    ["chat with its sentinel", sse, [role, word, stop, done], complete],
    ["case 43: chat without it, but with a reason", sse, [role, word, stop], complete],
    ["chat with neither", sse, [role, word], cut],
    [
      "chat with spaces in its JSON",
      sse,
      [word, 'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'],
      complete,
    ],
    ["Anthropic", sse, [messageStart, blockDelta, typed("message_stop")], complete],
    [
      "Anthropic before message_stop",
      sse,
      [messageStart, blockDelta, typed("message_delta", { delta: { stop_reason: "end_turn" } })],
      cut,
    ],
    ["a response", sse, [created, outputDelta, typed("response.completed")], complete],
    ["a response that ran out", sse, [created, outputDelta, typed("response.incomplete")], complete],
    [
      "a response of any size",
      sse,
      [created, outputDelta, typed("response.completed", { response: { output: "x".repeat(200_000) } })],
      complete,
    ],
    ["a response before its end", sse, [created, outputDelta], cut],
    ["Gemini", sse, [data(candidate("Hi")), data(candidate("", { finishReason: "STOP" }))], complete],
    ["Gemini before its reason", sse, [data(candidate("Hi"))], cut],
    [
      "Gemini's array",
      json,
      ["[", JSON.stringify(candidate("Hi")), ",\r\n", JSON.stringify(candidate("!", { finishReason: "STOP" })), "]"],
      complete,
    ],
    ["Gemini's array before its reason", json, ["[", JSON.stringify(candidate("Hi"))], cut],
    [
      "Gemini's array in the middle of an element",
      json,
      ["[", JSON.stringify(candidate("Hi", { finishReason: "STOP" })), ',{"candi'],
      cut,
    ],
    [
      "Cohere",
      sse,
      [
        typed("message-start"),
        typed("content-delta", { delta: { message: { content: { text: "Hi" } } } }),
        typed("message-end", { delta: { finish_reason: "COMPLETE" } }),
      ],
      complete,
    ],
    [
      "Ollama",
      lines,
      ['{"message":{"content":"Hi"},"done":false}\n', '{"done":true,"done_reason":"stop"}\n'],
      complete,
    ],
    ["Ollama before done", lines, ['{"message":{"content":"Hi"},"done":false}\n'], cut],
    ["plain JSON", json, ['{"data":[', "1]}\n"], complete],
    ["plain JSON cut off", json, ['{"data":[', "1"], cut],
    ["a dialect that nobody knows", sse, ["data: tick\n\n"], complete],
    ["no event at all", sse, [], cut],
    ["an empty body", json, [], complete],
    ["audio", "audio/mpeg", ["ID3"], complete],
  ])("%s", (_, contentType, chunks, expected) => {
    expect(watch(contentType, chunks).end).toEqual(expected);
  });

  it.each([
    ["an error event", [messageStart, blockDelta, typed("error", { error: { type: "overloaded_error" } })]],
    [
      "a failed response",
      [created, outputDelta, typed("response.failed", { response: { error: { code: "server_error" } } })],
    ],
    ["an error chunk", [word, data({ error: { message: "m" } })]],
    [
      "an error beside the choices",
      [
        word,
        data({
          object: "chat.completion.chunk",
          choices: [{ delta: {}, finish_reason: "error" }],
          error: { code: 502 },
        }),
      ],
    ],
    ["an error that only its name tells", [word, "event: error\ndata: oops\n\n"]],
    ["a bare error", [data(candidate("Hi")), '{"error": {"code": 503}}\n']],
  ])("with %s after content", (_, chunks) => {
    const watched = watch(sse, chunks);

    expect(watched.opening).toBe("content");
    expect(watched.end.kind).toBe("failed");
  });

  it.each([
    ["a word that a model wrote", data({ choices: [{ delta: { content: '{"error":{"code":401}}' } }] })],
    ["the word itself", data({ choices: [{ delta: { content: "error" } }] })],
    [
      "an argument of a tool",
      data({ candidates: [{ content: { parts: [{ functionCall: { name: "f", args: { error: { code: 401 } } } }] } }] }),
    ],
    ["a part that failed", typed("response.mcp_call.failed", { item_id: "mcp_1" })],
    [
      "a result that a tool could not give",
      typed("content_block_start", {
        content_block: {
          type: "web_search_tool_result",
          content: { type: "web_search_tool_result_error", error_code: "x" },
        },
      }),
    ],
    [
      "an error that is null",
      data({ object: "chat.completion.chunk", choices: [{ delta: { content: "x" } }], error: null }),
    ],
  ])("is not told by %s", (_, text) => {
    expect(watch(sse, [word, text, stop]).end).toEqual(complete);
  });
});

describe("the tail", () => {
  it("is what comes from the end of the dialect on", () => {
    const usage = data({ choices: [], usage: { total_tokens: 3 } });

    const { tail } = watch(sse, [role, word, stop, usage, done]);

    expect(tail).toEqual([stop, usage, done].map((event) => event.slice("data: ".length, -2)));
  });
});

describe("any split of the bytes", () => {
  const streams = [
    ...providerAnswers.flatMap(({ sse: events, headers }) =>
      events === undefined ? [] : [{ type: headers["content-type"], text: events.join("") }],
    ),
    { type: sse, text: `: x\r\n\r\n${messageStart.replaceAll("\n", "\r\n")}${blockDelta}${typed("message_stop")}` },
    { type: sse, text: `: x\r\r${messageStart}${blockDelta}${typed("message_stop")}`.replaceAll("\n", "\r") },
    { type: sse, text: 'event: error\rdata: {"error":\rdata: {"code":429}}\r\r' },
    { type: sse, text: `${role}${word}${stop}${done}`.replaceAll("\n", "\r") },
    {
      type: sse,
      text: role + data({ choices: [{ delta: { content: 'é漢😀\\"error\\"' } }] }) + '{"error": {"code": 503}}\n',
    },
    {
      type: json,
      text: `[${JSON.stringify(candidate('"]}{'))}\n,\r\n${JSON.stringify(candidate("", { finishReason: "STOP" }))}]`,
    },
    { type: json, text: '{"id":"x\\"","error":{"code":429},"choices":null}' },
    { type: json, text: '{"object":"list","nested":{"data":1},"data":[1,2]}' },
    {
      type: lines,
      text: '{"message":{"content":""},"done":false}\n{"message":{"content":"a"},"done":false}\n{"error":"x"}\n',
    },
  ];

  it("shows the same", () => {
    fc.assert(
      fc.property(fc.constantFrom(...streams), fc.array(fc.nat(), { maxLength: 12 }), ({ type, text }, cuts) => {
        const bytes = encoder.encode(text);
        const whole = watch(type, [bytes]);

        const split = watch(type, splitAt(bytes, cuts));

        expect(split).toMatchObject({ end: whole.end, opening: whole.opening, tail: whole.tail });
      }),
      { numRuns: 400 },
    );
  });

  it.each(streams.map((stream, index) => [index, stream] as const))(
    "shows the same byte by byte (%i)",
    (_, { type, text }) => {
      const bytes = encoder.encode(text);
      const whole = watch(type, [bytes]);

      const split = watch(
        type,
        [...bytes].map((byte) => Uint8Array.of(byte)),
      );

      expect(split).toMatchObject({ end: whole.end, opening: whole.opening, tail: whole.tail });
    },
  );
});

describe("any bytes at all", () => {
  it("are watched without a complaint, and left as they were", () => {
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.string().map((text) => encoder.encode(text)),
    );
    fc.assert(
      fc.property(fc.constantFrom(sse, json, lines, undefined), fc.array(bytes), (contentType, chunks) => {
        const copies = chunks.map((chunk) => chunk.slice());

        watch(contentType, chunks);

        expect(chunks).toEqual(copies);
      }),
    );
  });

  it.each([
    ["one line without an end", sse, "data: " + "x".repeat(3_000_000)],
    ["quotes", sse, `data: ${'"'.repeat(1_000_000)}\n\n`],
    ["brackets", json, "[".repeat(1_000_000)],
    ["blank lines", sse, "\n".repeat(1_000_000)],
    ["many false alarms", sse, (word + data({ choices: [{ delta: { content: "error" } }] })).repeat(2_000)],
  ])("take a time that grows with their number only: %s", (_, contentType, text) => {
    const bytes = encoder.encode(text);
    const started = performance.now();

    watch(contentType, [bytes.subarray(0, 10), ...inPieces(bytes.subarray(10), 7_000)]);

    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

function splitAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return places.map((place, index) => bytes.subarray(index === 0 ? 0 : places[index - 1], place));
}

function inPieces(bytes: Uint8Array, length: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
    bytes.subarray(index * length, (index + 1) * length),
  );
}
