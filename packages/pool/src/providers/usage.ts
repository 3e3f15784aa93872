import { asObject, type JsonObject } from "../rules/json-value.ts";

/** What an answer cost, in tokens. No token is counted in two of the first four. */
export interface Usage {
  /** Input that came from no cache, and was written to none. */
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** With reasoning. */
  readonly outputTokens: number;
  /** The part of the output that was reasoning. */
  readonly reasoningTokens: number;
}

/** Nobody's usage object is longer. */
const longestObject = 16_384;
/** How many candidates are looked at from the end, before the body is taken for one without. */
const mostCandidates = 16;

/**
 * The usage that an answer tells, whatever its dialect: looked for from the end, and nothing else is parsed.
 *
 * In JSON a quote inside a string is escaped, so `"usage"` between two bare quotes is a key and never a part of what a model
 * wrote. Bytes may be read as Latin-1: only numbers are taken.
 *
 * @param tail the end of the body, or all of it
 * @param head gives the beginning of a stream whose end is `tail`, where Anthropic tells its input; asked only if it matters
 * @returns undefined if none is told, or its numbers are none
 * @see reference "Usage fields"
 */
export function readUsage(tail: string, head: () => string = () => tail): Usage | undefined {
  const last = lastUsage(tail);
  if (last !== undefined && !mayBeAnthropic(last.object)) return last.usage;
  const start = startOfMessage(head());
  return start === undefined ? last?.usage : normalise({ ...start, ...withoutNulls(last?.object) });
}

interface Found {
  readonly object: JsonObject;
  readonly usage: Usage;
}

/** All keys under which usage stands begin so. */
const usageMark = '"usage';
const keyRest = /^(?:Metadata|_metadata)?"\s{0,8}:\s{0,8}\{/;
const longestKey = 40;

/** The last object under such a key that can be read; null and cut ones are passed over. */
function lastUsage(text: string): Found | undefined {
  let at = text.length;
  for (let candidate = 0; candidate < mostCandidates && at > 0; candidate++) {
    at = text.lastIndexOf(usageMark, at - 1);
    if (at === -1) break;
    const from = at + usageMark.length;
    const key = keyRest.exec(text.slice(from, from + longestKey));
    const object = key === null ? undefined : objectAt(text, from + key[0].length - 1);
    const usage = object && normalise(object);
    if (object !== undefined && usage !== undefined) return { object, usage };
  }
  return ollamaCounts(text);
}

function mayBeAnthropic(usage: JsonObject): boolean {
  return usage["output_tokens"] !== undefined && usage["input_tokens_details"] === undefined;
}

function objectAt(text: string, open: number): JsonObject | undefined {
  const close = closingBrace(text, open);
  return close === undefined ? undefined : parsed(text.slice(open, close + 1));
}

function closingBrace(text: string, open: number): number | undefined {
  const end = Math.min(text.length, open + longestObject);
  let depth = 0;
  for (let at = open; at < end; at++) {
    const unit = text[at];
    if (unit === '"') {
      at = closingQuote(text, at);
      if (at === -1) return undefined;
    } else if (unit === "{") depth++;
    else if (unit === "}" && --depth === 0) return at;
  }
  return undefined;
}

function closingQuote(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}

function parsed(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    // A provider that writes no JSON tells no usage.
    return undefined;
  }
}

/** Anthropic's stream tells the input side first; what its later events tell wins. */
function startOfMessage(head: string): JsonObject | undefined {
  const at = head.indexOf('"message_start"');
  const mark = at === -1 ? -1 : head.indexOf(usageMark, at);
  if (mark === -1) return undefined;
  const from = mark + usageMark.length;
  const key = keyRest.exec(head.slice(from, from + longestKey));
  return key === null ? undefined : withoutNulls(objectAt(head, from + key[0].length - 1));
}

function withoutNulls(object: JsonObject | undefined): JsonObject {
  return Object.fromEntries(Object.entries(object ?? {}).filter(([, value]) => value !== null));
}

/** Ollama's own API has no object for it: two fields near the end of the last line, or of the only one. */
function ollamaCounts(text: string): Found | undefined {
  const end = text.slice(-longestEnd);
  const [input, output] = [lastCount(end, "prompt_eval_count"), lastCount(end, "eval_count")];
  if (input === undefined && output === undefined) return undefined;
  const object = { prompt_tokens: input ?? 0, completion_tokens: output ?? 0 };
  return { object, usage: counted({ input: object.prompt_tokens, output: object.completion_tokens }) };
}

const longestEnd = 1_024;

function lastCount(text: string, name: string): number | undefined {
  const at = text.lastIndexOf(`"${name}"`);
  const digits =
    at === -1 ? null : /^\s*:\s*(\d{1,15})\b/.exec(text.slice(at + name.length + 2, at + name.length + 32));
  return digits === null ? undefined : Number(digits[1]);
}

function normalise(usage: JsonObject): Usage | undefined {
  // Cohere's counts lie one level deeper.
  const counts = asObject(usage["tokens"]) ?? asObject(usage["billed_units"]) ?? usage;
  return (
    ofGemini(counts) ?? ofInteractions(counts) ?? ofChat(counts) ?? ofMessagesOrResponses(counts) ?? ofTotal(counts)
  );
}

function ofGemini(usage: JsonObject): Usage | undefined {
  const prompt = count(usage, "promptTokenCount", "prompt_token_count");
  const answer = count(usage, "candidatesTokenCount", "candidates_token_count", "responseTokenCount");
  const thoughts = count(usage, "thoughtsTokenCount", "thoughts_token_count");
  if (prompt === undefined && answer === undefined && thoughts === undefined) return undefined;
  const tools = count(usage, "toolUsePromptTokenCount", "tool_use_prompt_token_count") ?? 0;
  return counted({
    input: (prompt ?? 0) + tools,
    cacheRead: count(usage, "cachedContentTokenCount", "cached_content_token_count"),
    output: (answer ?? 0) + (thoughts ?? 0),
    reasoning: thoughts,
  });
}

function ofInteractions(usage: JsonObject): Usage | undefined {
  const input = count(usage, "total_input_tokens");
  const output = count(usage, "total_output_tokens");
  if (input === undefined && output === undefined) return undefined;
  const thoughts = count(usage, "total_thought_tokens", "total_reasoning_tokens");
  return counted({
    input: (input ?? 0) + (count(usage, "total_tool_use_tokens") ?? 0),
    cacheRead: count(usage, "total_cached_tokens"),
    output: (output ?? 0) + (thoughts ?? 0),
    reasoning: thoughts,
  });
}

function ofChat(usage: JsonObject): Usage | undefined {
  const prompt = count(usage, "prompt_tokens");
  const completion = count(usage, "completion_tokens");
  if (prompt === undefined && completion === undefined) return undefined;
  const details = asObject(usage["prompt_tokens_details"]) ?? {};
  const reasoning = count(asObject(usage["completion_tokens_details"]) ?? {}, "reasoning_tokens");
  // xAI's completion leaves reasoning out, which only the total tells.
  const isApart = reasoning !== undefined && sum(prompt, completion, reasoning) === count(usage, "total_tokens");
  return counted({
    input: prompt ?? 0,
    cacheRead: count(details, "cached_tokens") ?? count(usage, "prompt_cache_hit_tokens", "cached_tokens"),
    cacheWrite: count(details, "cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens"),
    output: isApart ? sum(completion, reasoning) : (completion ?? 0),
    reasoning,
  });
}

/** Both say `input_tokens`; with Anthropic's, what a cache read or wrote comes on top of it. */
function ofMessagesOrResponses(usage: JsonObject): Usage | undefined {
  const input = count(usage, "input_tokens");
  const output = count(usage, "output_tokens");
  if (input === undefined && output === undefined) return undefined;
  const details = asObject(usage["input_tokens_details"]);
  const read = count(usage, "cache_read_input_tokens");
  const write = count(usage, "cache_creation_input_tokens");
  const reasoning = count(asObject(usage["output_tokens_details"]) ?? {}, "reasoning_tokens");
  if (details === undefined) {
    return counted({
      input: sum(input, read, write),
      cacheRead: read,
      cacheWrite: write,
      output: output ?? 0,
      reasoning,
    });
  }
  return counted({
    input: input ?? 0,
    cacheRead: count(details, "cached_tokens"),
    cacheWrite: count(details, "cache_write_tokens"),
    output: output ?? 0,
    reasoning,
  });
}

/** Embeddings and rankings of some tell one number. */
function ofTotal(usage: JsonObject): Usage | undefined {
  const total = count(usage, "total_tokens");
  return total === undefined ? undefined : counted({ input: total, output: 0 });
}

/** @param parts `input` with what caches read and wrote, `output` with reasoning */
function counted(parts: {
  readonly input: number;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly output: number;
  readonly reasoning?: number | undefined;
}): Usage {
  const { input, cacheRead = 0, cacheWrite = 0, output, reasoning = 0 } = parts;
  return {
    inputTokens: Math.max(0, input - cacheRead - cacheWrite),
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    outputTokens: output,
    reasoningTokens: reasoning,
  };
}

/** More than this in one answer is no count of tokens. */
const mostTokens = 1_000_000_000_000;

function count(object: JsonObject, ...names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = object[name];
    // Cohere writes its counts with a decimal point.
    if (typeof value === "number" && value >= 0 && value <= mostTokens) return Math.round(value);
  }
  return undefined;
}

function sum(...values: readonly (number | undefined)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}
