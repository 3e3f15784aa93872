import { describe, expect, it } from "vitest";
import { chatCall, messageIn, type Piece, readEvent, talks } from "./dialects.ts";

const hello = [{ role: "user", text: "Hello" }] as const;

describe("calls", () => {
  it.each([
    ["openai", "https://api.openai.com/v1", "/v1/chat/completions"],
    ["openai-compatible", "https://open.bigmodel.cn/api/paas/v4", "/chat/completions"],
    ["anthropic", "https://api.anthropic.com", "/v1/messages"],
    [
      "gemini",
      "https://generativelanguage.googleapis.com/v1beta",
      "/v1beta/models/m%201:streamGenerateContent?alt=sse",
    ],
    [
      "azure-openai",
      "https://x.openai.azure.com/openai",
      "/openai/deployments/m%201/chat/completions?api-version=2024-10-21",
    ],
  ] as const)("of %s at %s", (kind, baseUrl, chat) => {
    expect(chatCall({ kind, base_url: baseUrl }, "m 1", hello).path).toBe(chat);
  });

  it("say a conversation as each provider wants it", () => {
    const spoken = [...hello, { role: "assistant", text: "Hi" }, { role: "user", text: "And?" }] as const;
    const bodyFor = (kind: "openai" | "anthropic" | "gemini"): unknown =>
      chatCall({ kind, base_url: "https://x.example" }, "m", spoken).body;
    const messages = [
      { role: "user", content: "Hello" },
      { role: "assistant", content: "Hi" },
      { role: "user", content: "And?" },
    ];

    expect(bodyFor("openai")).toEqual({ model: "m", messages, stream: true });
    expect(bodyFor("anthropic")).toEqual({ model: "m", max_tokens: 8192, messages, stream: true });
    expect(bodyFor("gemini")).toEqual({
      contents: [
        { role: "user", parts: [{ text: "Hello" }] },
        { role: "model", parts: [{ text: "Hi" }] },
        { role: "user", parts: [{ text: "And?" }] },
      ],
    });
  });

  it("never say two things of one side in a row, nor nothing, nor begin with an answer", () => {
    const spoken = [
      { role: "assistant", text: "Cut off" },
      { role: "user", text: "One" },
      { role: "assistant", text: " " },
      { role: "user", text: "Two" },
    ] as const;

    expect(chatCall({ kind: "openai", base_url: "https://x.example" }, "m", spoken).body).toMatchObject({
      messages: [{ role: "user", content: "One\n\nTwo" }],
    });
  });
});

describe("events", () => {
  it.each<[kind: "openai" | "anthropic" | "gemini", data: unknown, piece: Piece]>([
    ["openai", { choices: [{ delta: { content: "Hi" } }] }, { text: "Hi" }],
    ["openai", { choices: [{ delta: { reasoning_content: "Hm" } }] }, { reasoning: "Hm" }],
    ["openai", { choices: [{ delta: { reasoning: "Hm", content: "" } }] }, { reasoning: "Hm" }],
    ["openai", { choices: [{ delta: { content: [{ type: "text", text: "Hi" }] } }] }, { text: "Hi" }],
    [
      "openai",
      { choices: [{ delta: { content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm" }] }] } }] },
      { reasoning: "Hm" },
    ],
    ["openai", { choices: [{ delta: {}, finish_reason: "stop" }] }, { end: "whole" }],
    ["openai", { choices: [{ delta: {}, finish_reason: "length" }] }, { end: "length" }],
    ["openai", { choices: [{ delta: {}, finish_reason: "content_filter" }] }, { end: "filter" }],
    ["openai", { choices: [], usage: { total_tokens: 3 } }, {}],
    [
      "openai",
      { choices: [{ message: { content: "Whole" }, finish_reason: "stop" }] },
      { text: "Whole", end: "whole" },
    ],
    ["openai", { error: { message: "overloaded" } }, { error: "overloaded" }],
    ["anthropic", { type: "message_start", message: { content: [] } }, {}],
    ["anthropic", { type: "content_block_delta", delta: { type: "text_delta", text: "Hi" } }, { text: "Hi" }],
    [
      "anthropic",
      { type: "content_block_delta", delta: { type: "thinking_delta", thinking: "Hm" } },
      { reasoning: "Hm" },
    ],
    ["anthropic", { type: "message_delta", delta: { stop_reason: "end_turn" } }, { end: "whole" }],
    ["anthropic", { type: "message_delta", delta: { stop_reason: "max_tokens" } }, { end: "length" }],
    ["anthropic", { type: "message_delta", delta: { stop_reason: "refusal" } }, { end: "filter" }],
    ["anthropic", { type: "message_stop" }, { end: "whole" }],
    [
      "anthropic",
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
      { error: "Overloaded" },
    ],
    [
      "anthropic",
      { type: "message", content: [{ type: "text", text: "Whole" }], stop_reason: "end_turn" },
      { text: "Whole", end: "whole" },
    ],
    ["gemini", { candidates: [{ content: { parts: [{ text: "Hi" }, { text: "!" }] } }] }, { text: "Hi!" }],
    ["gemini", { candidates: [{ content: { parts: [{ text: "Hm", thought: true }] } }] }, { reasoning: "Hm" }],
    ["gemini", { candidates: [{ finishReason: "STOP" }] }, { end: "whole" }],
    ["gemini", { candidates: [{ finishReason: "MAX_TOKENS" }] }, { end: "length" }],
    ["gemini", { candidates: [{ finishReason: "SAFETY" }] }, { end: "filter" }],
    ["gemini", { promptFeedback: { blockReason: "OTHER" } }, { end: "filter" }],
  ])("of %s: %j", (kind, data, piece) => {
    expect(readEvent(kind, JSON.stringify(data))).toEqual(piece);
  });

  it("end with [DONE], and add nothing where they are no JSON", () => {
    expect(readEvent("openai", "[DONE]")).toEqual({ end: "whole" });
    expect(readEvent("openai", "ping")).toEqual({});
    expect(readEvent("gemini", "3")).toEqual({});
  });
});

it.each([
  ["gpt-5", true],
  ["text-embedding-3-small", false],
  ["whisper-1", false],
  ["gemini-2.5-flash", true],
])("takes %s for a model to talk with: %s", (model, expected) => {
  expect(talks(model)).toBe(expected);
});

it.each([
  [{ error: { message: "a" } }, "a"],
  [{ error: "a" }, "a"],
  [{ message: "a" }, "a"],
  [{ detail: "a" }, "a"],
  [[{ error: { message: "a" } }], "a"],
  [{ error: { code: 1 } }, ""],
  ["a", ""],
  [null, ""],
])("finds what an error says: %j", (data, message) => {
  expect(messageIn(data)).toBe(message);
});
