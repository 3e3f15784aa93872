import type { Provider } from "../../api/openapi.ts";
import { effectiveUrl } from "../provider/effective-url.ts";

type Kind = Provider["kind"];

/** One contribution to a conversation, as providers want to have it. */
export interface Spoken {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** What one event of a stream, or a whole answer, adds. */
export interface Piece {
  readonly text?: string;
  /** What the model thinks before it answers, where the provider shows it. */
  readonly reasoning?: string;
  /** The answer is whole, or as long as it was allowed to be, or was held back. */
  readonly end?: "whole" | "length" | "filter";
  /** The provider breaks off and says why. */
  readonly error?: string;
}

/** A call of the provider, below its address at the gateway. */
export interface ProviderCall {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** How a kind of provider holds a conversation. */
interface Dialect {
  readonly chat: (prefix: string, model: string, spoken: readonly Spoken[]) => ProviderCall;
  /** @param data of one server-sent event, parsed; or a whole answer, from a server that does not stream */
  readonly read: (data: unknown) => Piece;
}

const azureVersion = "api-version=2024-10-21";
/** Anthropic wants a limit; every model that it still serves takes this one. */
const anthropicMaxTokens = 8_192;
const json = { "content-type": "application/json" };
const anthropicHeaders = { "anthropic-version": "2023-06-01" };

const openAi: Dialect = {
  chat: (prefix, model, spoken) => ({
    path: `${prefix}/chat/completions`,
    headers: json,
    body: { model, messages: spoken.map(openAiMessage), stream: true },
  }),
  read: readOpenAi,
};

const dialects: Readonly<Record<Kind, Dialect>> = {
  openai: openAi,
  "openai-compatible": openAi,
  "azure-openai": {
    ...openAi,
    chat: (_, model, spoken) => ({
      path: `/openai/deployments/${encodeURIComponent(model)}/chat/completions?${azureVersion}`,
      headers: json,
      body: { messages: spoken.map(openAiMessage), stream: true },
    }),
  },
  anthropic: {
    chat: (prefix, model, spoken) => ({
      path: `${prefix}/messages`,
      headers: { ...json, ...anthropicHeaders },
      body: { model, max_tokens: anthropicMaxTokens, messages: spoken.map(openAiMessage), stream: true },
    }),
    read: readAnthropic,
  },
  gemini: {
    chat: (prefix, model, spoken) => ({
      path: `${prefix}/models/${encodeURIComponent(withoutModels(model))}:streamGenerateContent?alt=sse`,
      headers: json,
      body: {
        contents: spoken.map(({ role, text }) => ({ role: role === "user" ? "user" : "model", parts: [{ text }] })),
      },
    }),
    read: readGemini,
  },
};

/** The call that continues a conversation. */
export function chatCall(
  { kind, base_url: baseUrl }: Pick<Provider, "kind" | "base_url">,
  model: string,
  spoken: readonly Spoken[],
): ProviderCall {
  return dialects[kind].chat(prefixOf(kind, baseUrl), model, alternating(spoken));
}

/** @param data of one server-sent event as it came */
export function readEvent(kind: Kind, data: string): Piece {
  if (data.trim() === "[DONE]") return { end: "whole" };
  return dialects[kind].read(parsed(data));
}

/** What comes before a call's own path; other versions than the usual one are the base URL's own business. */
function prefixOf(kind: Kind, baseUrl: string): string {
  const { call } = effectiveUrl(kind, baseUrl);
  return call.slice(0, call.search(/\/(?:chat|messages|models|deployments)/));
}

/** Some providers refuse two contributions of one side in a row, as a failed answer between them leaves behind. */
function alternating(spoken: readonly Spoken[]): readonly Spoken[] {
  const merged: Spoken[] = [];
  for (const { role, text } of spoken) {
    const last = merged.at(-1);
    if (last?.role === role) merged[merged.length - 1] = { role, text: `${last.text}\n\n${text}` };
    else if (text.trim() !== "") merged.push({ role, text });
  }
  return merged[0]?.role === "assistant" ? merged.slice(1) : merged;
}

function openAiMessage({ role, text }: Spoken): object {
  return { role, content: text };
}

function readOpenAi(data: unknown): Piece {
  if (part(data, "error") !== undefined) return { error: messageIn(data) };
  const choice = part(data, "choices", 0);
  const said = part(choice, "delta") ?? part(choice, "message");
  const content = part(said, "content");
  const reasoning = part(said, "reasoning_content") ?? part(said, "reasoning") ?? contentOf(content, "thinking");
  return {
    ...textPart("text", contentOf(content, "text")),
    ...textPart("reasoning", reasoning),
    ...endPart(part(choice, "finish_reason")),
  };
}

function readAnthropic(data: unknown): Piece {
  if (part(data, "error") !== undefined) return { error: messageIn(data) };
  const delta = part(data, "delta");
  switch (part(data, "type")) {
    case "content_block_delta":
      return { ...textPart("text", part(delta, "text")), ...textPart("reasoning", part(delta, "thinking")) };
    case "message_delta":
      return endPart(part(delta, "stop_reason"));
    case "message_stop":
      return { end: "whole" };
    case "message":
      return { ...textPart("text", contentOf(part(data, "content"), "text")), ...endPart(part(data, "stop_reason")) };
    default:
      return {};
  }
}

function readGemini(data: unknown): Piece {
  if (part(data, "error") !== undefined) return { error: messageIn(data) };
  if (part(data, "promptFeedback", "blockReason") !== undefined) return { end: "filter" };
  const candidate = part(data, "candidates", 0);
  const parts = listOf(part(candidate, "content", "parts"));
  const joined = (isThought: boolean): string =>
    parts
      .filter((one) => (part(one, "thought") === true) === isThought)
      .map((one) => textOf(part(one, "text")) ?? "")
      .join("");
  return {
    ...textPart("text", joined(false)),
    ...textPart("reasoning", joined(true)),
    ...endPart(part(candidate, "finishReason")),
  };
}

/** Content is a text, or a list of blocks of several types. */
function contentOf(content: unknown, type: "text" | "thinking"): string {
  if (typeof content === "string") return type === "text" ? content : "";
  const blocks = listOf(content).filter((block) => part(block, "type") === type);
  return blocks.map((block) => contentOf(part(block, type), "text")).join("");
}

function textPart(name: "text" | "reasoning", value: unknown): Piece {
  return typeof value === "string" && value !== "" ? { [name]: value } : {};
}

/** By what each dialect calls the reason why an answer ended. */
function endPart(reason: unknown): Piece {
  if (typeof reason !== "string" || reason === "") return {};
  if (/^(length|max_tokens|model_length|model_context_window_exceeded)$/i.test(reason)) return { end: "length" };
  if (/filter|safety|refusal|recitation|prohibited|blocklist|spii/i.test(reason)) return { end: "filter" };
  return { end: "whole" };
}

/** What an error says, in whichever of the usual shapes it comes; "" where it says nothing. */
export function messageIn(data: unknown): string {
  const first = part(data, 0) ?? data;
  const error = part(first, "error") ?? first;
  if (typeof error === "string") return error === data ? "" : error;
  const said = [error, first].flatMap((one) => [part(one, "message"), part(one, "detail")]);
  return said.find((text) => typeof text === "string") ?? "";
}

const talksNot = /embed|whisper|tts|dall-e|moderation|realtime|transcri|rerank|sora|-image|image-|guard/i;

/** Whether a model may hold a conversation, by its name. */
export function talks(model: string): boolean {
  return !talksNot.test(model);
}

function withoutModels(name: string): string {
  return name.trim().replace(/^models\//, "");
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A part of a JSON value: providers change them, and what is not where it is expected is undefined. */
function part(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== "object" || found === null) return undefined;
    found = Reflect.get(found, name);
  }
  return found ?? undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: a comment of some proxy, which adds nothing to the answer.
    return undefined;
  }
}
