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
 * @param head the beginning of a stream whose end is `tail`: Anthropic tells its input there
 * @returns undefined if none is told, or its numbers are none
 * @see reference "Usage fields"
 */
export function readUsage(tail: string, head: string = tail): Usage | undefined {
  const last = lastUsage(tail);
  if (last === undefined && head === tail) return undefined;
  return normalise({ ...startOfMessage(head), ...withoutNulls(last) });
}

/** Whether the text tells a usage whose closing brace is in it. */
export function tellsUsage(tail: string): boolean {
  return lastUsage(tail) !== undefined;
}

const fields = ['"usageMetadata"', '"usage_metadata"', '"usage"'] as const;

function lastUsage(text: string): JsonObject | undefined {
  for (const field of fields) {
    const found = lastObject(text, field);
    if (found !== undefined) return found;
  }
  return ollamaCounts(text);
}

/** The last object that stands under this key and can be read; null and cut ones are passed over. */
function lastObject(text: string, field: string): JsonObject | undefined {
  let at = text.length;
  for (let candidate = 0; candidate < mostCandidates; candidate++) {
    at = at === 0 ? -1 : text.lastIndexOf(field, at - 1);
    if (at === -1) return undefined;
    const object = objectAfter(text, at + field.length);
    if (object !== undefined && normalise(object) !== undefined) return object;
  }
  return undefined;
}

function firstObject(text: string, field: string, from: number): JsonObject | undefined {
  const at = text.indexOf(field, from);
  return at === -1 ? undefined : objectAfter(text, at + field.length);
}

function objectAfter(text: string, from: number): JsonObject | undefined {
  const start = /^\s*:\s*\{/.exec(text.slice(from, from + 16));
  if (start === null) return undefined;
  const open = from + start[0].length - 1;
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
  return at === -1 ? undefined : withoutNulls(firstObject(head, '"usage"', at));
}

function withoutNulls(object: JsonObject | undefined): JsonObject {
  return Object.fromEntries(Object.entries(object ?? {}).filter(([, value]) => value !== null));
}

/** Ollama's own API has no object for it: two fields of the last line, or of the only one. */
function ollamaCounts(text: string): JsonObject | undefined {
  const input = lastCount(text, "prompt_eval_count");
  const output = lastCount(text, "eval_count");
  return input === undefined && output === undefined
    ? undefined
    : { input_tokens: input ?? 0, output_tokens: output ?? 0 };
}

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
