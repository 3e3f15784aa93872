import { describe, expect, it } from "vitest";
import { readUsage } from "./usage.ts";

/** The five numbers in the order of the reference: uncached input, cache read, cache write, output, reasoning. */
function numbersOf(tail: string, head?: string): string | undefined {
  const usage = readUsage(tail, head === undefined ? undefined : () => head);
  if (usage === undefined) return undefined;
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  return [inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens].join(" ");
}

const chat = {
  prompt_tokens: 100,
  completion_tokens: 50,
  total_tokens: 150,
  prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 5, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 20 },
};

/** @see reference "Usage fields" */
describe("usage in JSON", () => {
  it.each<[string, object, string]>([
    ["OpenAI chat", { choices: [], usage: chat, service_tier: "default" }, "65 30 5 50 20"],
    ["OpenAI chat without details", { usage: { prompt_tokens: 7, completion_tokens: 3 } }, "7 0 0 3 0"],
    [
      "OpenAI Responses",
      {
        output: [],
        usage: {
          input_tokens: 100,
          input_tokens_details: { cached_tokens: 40 },
          output_tokens: 9,
          output_tokens_details: { reasoning_tokens: 4 },
          total_tokens: 109,
        },
        metadata: {},
      },
      "60 40 0 9 4",
    ],
    [
      "Anthropic",
      {
        content: [],
        usage: {
          input_tokens: 10,
          cache_creation_input_tokens: 200,
          cache_read_input_tokens: 3000,
          cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 0 },
          output_tokens: 44,
          service_tier: "standard",
        },
      },
      "10 3000 200 44 0",
    ],
    [
      "Gemini",
      {
        candidates: [],
        usageMetadata: {
          promptTokenCount: 100,
          cachedContentTokenCount: 60,
          toolUsePromptTokenCount: 7,
          candidatesTokenCount: 20,
          thoughtsTokenCount: 15,
          totalTokenCount: 142,
          promptTokensDetails: [{ modality: "TEXT", tokenCount: 100 }],
        },
        modelVersion: "x",
      },
      "47 60 0 35 15",
    ],
    [
      "DeepSeek",
      {
        usage: { prompt_tokens: 50, completion_tokens: 5, prompt_cache_hit_tokens: 20, prompt_cache_miss_tokens: 30 },
      },
      "30 20 0 5 0",
    ],
    [
      "DashScope",
      {
        usage: {
          prompt_tokens: 50,
          completion_tokens: 5,
          prompt_tokens_details: { cached_tokens: 10, cache_creation_input_tokens: 20 },
        },
      },
      "20 10 20 5 0",
    ],
    [
      "xAI, whose completion leaves reasoning out",
      {
        usage: {
          prompt_tokens: 30,
          completion_tokens: 10,
          total_tokens: 340,
          completion_tokens_details: { reasoning_tokens: 300 },
        },
      },
      "30 0 0 310 300",
    ],
    [
      "Cohere v2",
      {
        usage: {
          billed_units: { input_tokens: 3, output_tokens: 2 },
          tokens: { input_tokens: 70.0, output_tokens: 2.0 },
        },
      },
      "70 0 0 2 0",
    ],
    ["Ollama's own", { done: true, prompt_eval_count: 26, eval_count: 298 }, "26 0 0 298 0"],
    ["embeddings", { data: [], usage: { prompt_tokens: 8, total_tokens: 8 } }, "8 0 0 0 0"],
    ["a ranking that tells one number", { results: [], usage: { total_tokens: 11 } }, "11 0 0 0 0"],
  ])("is read from %s", (_, body, expected) => {
    expect(numbersOf(JSON.stringify(body))).toBe(expected);
    expect(numbersOf(JSON.stringify(body, undefined, 2))).toBe(expected);
  });

  it("is not what a model wrote about usage", () => {
    const written = { usage: { prompt_tokens: 666, completion_tokens: 666 } };
    const body = { choices: [{ message: { content: JSON.stringify(written) } }] };

    expect(readUsage(JSON.stringify(body))).toBeUndefined();
    expect(numbersOf(JSON.stringify({ usage: { prompt_tokens: 1, completion_tokens: 2 }, ...body }))).toBe("1 0 0 2 0");
  });

  it("is found in what is left of a body whose beginning is gone", () => {
    expect(numbersOf(`d text \\" of it"}}],"usage":${JSON.stringify(chat)}}`)).toBe("65 30 5 50 20");
  });

  it.each(["", "{}", '{"usage":null}', '{"usage":{}}', '{"usage":{"prompt_tokens":1', '{"usage":"none"}', '"usage"'])(
    "is absent from %j",
    (body) => {
      expect(readUsage(body)).toBeUndefined();
    },
  );

  it("takes no nonsense for numbers", () => {
    const usage = { prompt_tokens: -5, completion_tokens: "12", total_tokens: 1e300 };

    expect(readUsage(JSON.stringify({ usage }))).toBeUndefined();
  });

  it("never tells less than nothing", () => {
    const usage = { prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 9 } };

    expect(numbersOf(JSON.stringify({ usage }))).toBe("0 9 0 1 0");
  });
});

describe("usage in streams", () => {
  const sse = (...events: readonly object[]): string =>
    events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

  it("is OpenAI's last chunk that has one", () => {
    const events = [
      { choices: [{}], usage: null },
      { choices: [{}], usage: null },
      { choices: [], usage: chat },
    ];

    expect(numbersOf(`${sse(...events)}data: [DONE]\n\n`)).toBe("65 30 5 50 20");
  });

  it("is in the closing event of Responses", () => {
    const usage = { input_tokens: 5, input_tokens_details: { cached_tokens: 0 }, output_tokens: 6 };

    expect(numbersOf(sse({ type: "response.completed", response: { output: [], usage } }))).toBe("5 0 0 6 0");
  });

  const start = sse({
    type: "message_start",
    message: { content: [], usage: { input_tokens: 25, cache_read_input_tokens: 7, output_tokens: 1 } },
  });

  it("is Anthropic's beginning and end together", () => {
    const end = sse({ type: "message_delta", delta: {}, usage: { output_tokens: 15 } }, { type: "message_stop" });

    expect(numbersOf(start + end)).toBe("25 7 0 15 0");
    expect(numbersOf(end, start)).toBe("25 7 0 15 0");
  });

  it("lets Anthropic's later numbers win, but for null", () => {
    const end = sse({
      type: "message_delta",
      usage: { input_tokens: 40, cache_read_input_tokens: null, output_tokens: 9 },
    });

    expect(numbersOf(end, start)).toBe("40 7 0 9 0");
  });

  it("is Anthropic's input alone if the stream was cut before its end", () => {
    expect(numbersOf(sse({ type: "content_block_delta", delta: { text: "Hi" } }), start)).toBe("25 7 0 1 0");
  });

  it("is Gemini's last word, in events and in a growing array", () => {
    const pieces = [
      { usageMetadata: { promptTokenCount: 9 } },
      { usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4 } },
    ];

    expect(numbersOf(sse(...pieces))).toBe("9 0 0 4 0");
    expect(numbersOf(JSON.stringify(pieces))).toBe("9 0 0 4 0");
  });

  it("is in Groq's own field as well", () => {
    expect(numbersOf(sse({ choices: [{}], x_groq: { id: "r", usage: chat } }))).toBe("65 30 5 50 20");
  });
});
