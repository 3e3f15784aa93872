import { reply, type ScriptedKind, type SseEvent } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { affinityOf } from "../activity/affinity-book.ts";
import { type Bench, benchKeys, openDataPlane } from "./data-plane.test-bench.ts";

const [keyA = "", keyB = "", keyC = ""] = benchKeys;
const headers = { "content-type": "application/json" };

/** Each with 100 tokens of input in all, of which `cached` came from the cache, as the provider would tell it. */
const dialects: readonly {
  readonly kind: ScriptedKind;
  readonly name: string;
  readonly path: string;
  readonly events: (cached: number) => readonly SseEvent[];
  readonly body: (cached: number) => object;
}[] = [
  {
    kind: "openai",
    name: "OpenAI chat, whose prompt includes what was cached",
    path: "/v1/chat/completions",
    body: (cached) => ({ choices: [{ message: { content: "Hi" } }], usage: chatUsage(cached) }),
    events: (cached) => [
      { data: { choices: [{ delta: { content: "Hi" } }], usage: null } },
      { data: { choices: [{ delta: {}, finish_reason: "stop" }], usage: null } },
      { data: { choices: [], usage: chatUsage(cached) } },
      "data: [DONE]\n\n",
    ],
  },
  {
    kind: "openai",
    name: "OpenAI Responses, the same",
    path: "/v1/responses",
    body: (cached) => ({ status: "completed", output: [], usage: responsesUsage(cached) }),
    events: (cached) => [
      { event: "response.output_text.delta", data: { type: "response.output_text.delta", delta: "Hi" } },
      {
        event: "response.completed",
        data: {
          type: "response.completed",
          response: { status: "completed", output: [], usage: responsesUsage(cached) },
        },
      },
    ],
  },
  {
    kind: "anthropic",
    name: "Anthropic, whose input is beside what was cached",
    path: "/v1/messages",
    body: (cached) => ({
      type: "message",
      content: [{ type: "text", text: "Hi" }],
      stop_reason: "end_turn",
      usage: { ...messagesUsage(cached), output_tokens: 4 },
    }),
    events: (cached) => [
      {
        event: "message_start",
        data: {
          type: "message_start",
          message: { type: "message", content: [], usage: { ...messagesUsage(cached), output_tokens: 1 } },
        },
      },
      {
        event: "content_block_delta",
        data: { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
      },
      {
        event: "message_delta",
        data: { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 4 } },
      },
      { event: "message_stop", data: { type: "message_stop" } },
    ],
  },
  {
    kind: "gemini",
    name: "Gemini, whose prompt includes what was cached",
    path: "/v1beta/models/gemini-test:generateContent",
    body: (cached) => geminiPiece(cached),
    events: (cached) => [{ data: geminiPiece(cached) }],
  },
];

function chatUsage(cached: number): object {
  return { prompt_tokens: 100, completion_tokens: 4, prompt_tokens_details: { cached_tokens: cached } };
}
function responsesUsage(cached: number): object {
  return { input_tokens: 100, output_tokens: 4, input_tokens_details: { cached_tokens: cached } };
}
function messagesUsage(cached: number): object {
  return { input_tokens: 90 - cached, cache_creation_input_tokens: 10, cache_read_input_tokens: cached };
}
function geminiPiece(cached: number): object {
  const candidates = [{ content: { parts: [{ text: "Hi" }], role: "model" }, finishReason: "STOP", index: 0 }];
  return {
    candidates,
    usageMetadata: { promptTokenCount: 100, cachedContentTokenCount: cached, candidatesTokenCount: 4 },
  };
}

async function ask(bench: Bench, path: string, session?: string, body: object = {}): Promise<void> {
  const before = bench.records.length;
  const named = session === undefined ? headers : { ...headers, "x-keywheel-session": session };
  const response = await fetch(`${bench.url}${path}`, { method: "POST", headers: named, body: JSON.stringify(body) });
  await response.arrayBuffer();
  await expect.poll(() => bench.records.length).toBe(before + 1);
}

/** What became of each request, and of its input. */
function told({ records }: Bench): string[] {
  return records.map((record) => {
    const { source, fate } = affinityOf(record) ?? {};
    const { inputTokens, cacheReadTokens, cacheWriteTokens } = record.usage ?? {};
    return [source, fate, inputTokens, cacheReadTokens, cacheWriteTokens].join(" ");
  });
}

describe.each(dialects)("a session with $name", ({ kind, path, body, events }) => {
  const written = kind === "anthropic" ? 10 : 0;

  it.each([false, true])("is told with what came from the cache, streamed: %s", async (isStreamed) => {
    const bench = await openDataPlane({ kind });
    const answer = (cached: number) => (isStreamed ? reply.sse(events(cached)) : reply.json(200, {}, body(cached)));
    const asked = isStreamed ? path.replace(":generateContent", ":streamGenerateContent?alt=sse") : path;
    bench.provider.on({ key: keyA }).next(answer(0), answer(80), reply.status(429, {}, {}));
    bench.provider.on({ key: keyB }).next(answer(0), answer(60));

    for (let n = 0; n < 4; n++) await ask(bench, asked, "chat");

    expect(told(bench)).toEqual([
      `session new ${100 - written} 0 ${written}`,
      `session kept ${100 - written - 80} 80 ${written}`,
      `session rate_limited ${100 - written} 0 ${written}`,
      `session kept ${100 - written - 60} 60 ${written}`,
    ]);
  });
});

describe("the tie of a request to its key", () => {
  const turn = (...texts: readonly string[]): object => ({
    model: "m",
    messages: texts.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content })),
  });
  const path = "/v1/chat/completions";

  it("is the conversation where nothing names it, and is told as left when its key began to rest meanwhile", async () => {
    const bench = await openDataPlane();
    await ask(bench, path, undefined, turn("Hello"));
    await ask(bench, path, undefined, turn("Hello", "Hi", "And now?"));
    bench.provider.on({ key: keyA }).next(reply.status(429, {}, {}));
    await ask(bench, path, "keeps A", {});
    await ask(bench, path, "other", {});
    await ask(bench, path, "third", {});

    await ask(bench, path, undefined, turn("Hello", "Hi", "And now?", "Yes", "Go on"));

    const fates = bench.records.map((record) => Object.values(affinityOf(record) ?? {}).join(" "));
    expect(fates.slice(0, 2)).toEqual(["conversation new", "conversation kept"]);
    expect(fates.at(-1)).toBe(`conversation rate_limited ${keyA}`);
    expect(bench.records.at(-1)?.attempts[0]).toMatchObject({
      why: "turn",
      left: { keyId: keyA, because: "rate_limited" },
    });
  });

  it("is a stored object where it names one, and nothing where it is a list", async () => {
    const bench = await openDataPlane();
    await ask(bench, path, "moves the wheel on", {});
    bench.provider
      .on({ key: keyB })
      .next(reply.json(200, {}, { id: "resp_1", object: "response", status: "completed" }));
    await ask(bench, "/v1/responses", undefined, { model: "m", input: "Hello" });
    await ask(bench, "/v1/responses", undefined, { model: "m", input: "More", previous_response_id: "resp_1" });
    const list = await fetch(`${bench.url}/v1/files`);
    await list.arrayBuffer();
    await expect.poll(() => bench.records.length).toBe(4);

    expect(bench.records.map(({ keyId }) => keyId)).toEqual([keyA, keyB, keyB, keyA]);
    expect(bench.records.map((record) => affinityOf(record)?.source).slice(2)).toEqual(["object", "none"]);
  });

  it("is none for an embedding", async () => {
    const bench = await openDataPlane();
    await ask(bench, "/v1/embeddings", undefined, { model: "m", input: "text" });

    expect(affinityOf(bench.records[0] ?? { attempts: [] })).toEqual({ source: "none", fate: "none" });
    expect([keyA, keyB, keyC]).toContain(bench.records[0]?.keyId);
  });
});
