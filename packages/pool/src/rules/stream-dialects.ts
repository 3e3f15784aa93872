import { asArray, asObject, asText, type JsonObject } from "./json-value.ts";

/** What an event of a stream shows. */
export interface EventReading {
  /** `nothing`: it proves nothing yet (a ping, "created", a role without a word). */
  readonly says: "nothing" | "content" | "error";
  /** The dialect's own end: nothing is missing if the stream stops here. */
  readonly isEnd: boolean;
  /** Whether the dialect is one whose end is known, so that an end without it is a cut. */
  readonly isKnown: boolean;
}

const nothing: EventReading = { says: "nothing", isEnd: false, isKnown: true };
const content: EventReading = { says: "content", isEnd: false, isKnown: true };
const end: EventReading = { says: "content", isEnd: true, isKnown: true };
const error: EventReading = { says: "error", isEnd: false, isKnown: true };
const unknown: EventReading = { says: "content", isEnd: false, isKnown: false };

/** Content only if something is in it. */
type Conditional = "unless-empty";

const readings = { nothing, "unless-empty": "unless-empty", end, error } as const;

/**
 * Events that carry their type, of all dialects at once: no name means two things. A type that is not here is content.
 *
 * @see reference "Streams"
 */
const typesOfReading: Readonly<Record<keyof typeof readings, readonly string[]>> = {
  nothing: [
    "ping message_start", // Anthropic Messages
    "response.created response.queued response.in_progress keepalive", // OpenAI Responses
    "thread.created thread.run.created thread.run.queued thread.run.in_progress thread.run.step.created", // OpenAI assistants
    "thread.run.step.in_progress thread.message.created thread.message.in_progress",
    "message-start stream-start", // Cohere, v2 and v1
    "conversation.response.started", // Mistral conversations
    "interaction.start interaction.created interaction.in_progress interaction.status_update", // Gemini interactions
  ],
  "unless-empty": [
    "content_block_start", // Anthropic Messages
    "response.output_item.added response.content_part.added response.reasoning_summary_part.added", // OpenAI Responses
    "content-start", // Cohere, v2 and v1
    "content.start", // Gemini interactions
  ],
  end: [
    "message_stop", // Anthropic Messages
    "response.completed response.incomplete", // OpenAI Responses
    "thread.run.completed thread.run.incomplete thread.run.cancelled thread.run.expired", // OpenAI assistants
    "thread.run.requires_action done",
    "speech.audio.done transcript.text.done image_generation.completed image_edit.completed", // OpenAI audio and images
    "message-end stream-end", // Cohere, v2 and v1
    "conversation.response.done", // Mistral conversations
    "interaction.complete interaction.completed", // Gemini interactions
  ],
  error: [
    "error", // Anthropic Messages
    "response.failed response.error", // OpenAI Responses
    "thread.run.failed", // OpenAI assistants
    "conversation.response.error", // Mistral conversations
  ],
};

const readingOfType = /* @__PURE__ */ readByType();

function readByType(): ReadonlyMap<string | undefined, EventReading | Conditional> {
  const found = new Map<string, EventReading | Conditional>();
  for (const [reading, lists] of Object.entries(typesOfReading) as [keyof typeof readings, readonly string[]][])
    for (const type of lists.join(" ").split(" ")) found.set(type, readings[reading]);
  return found;
}

/** The types by which a stream ends or fails, for whoever looks at bytes first. */
export function terminalTypes(): readonly { readonly type: string; readonly isError: boolean }[] {
  const types = [...typesOfReading.error, ...typesOfReading.end].join(" ").split(" ");
  return types.map((type) => ({ type, isError: readingOfType.get(type) === error }));
}

/** The type that an event's data gives itself. */
export function typeOf(data: unknown): string | undefined {
  const event = asObject(data);
  return asText(event?.["type"]) ?? asText(event?.["event_type"]);
}

/** What an event of this type shows whatever is in it; undefined when its data decides. */
export function readType(type: string | undefined): EventReading | undefined {
  const reading = readingOfType.get(type);
  return reading === "unless-empty" ? undefined : reading;
}

/**
 * What an event without an error in it shows.
 *
 * @param name the `event` line of SSE
 * @param data the event's data as parsed JSON; undefined if it is none
 */
export function readEvent(name: string | undefined, data: unknown): EventReading {
  const event = asObject(Array.isArray(data) ? asArray(data)[0] : data);
  if (event === undefined) return readType(name) ?? unknown;
  const type = typeOf(event);
  for (const candidate of [type, name]) {
    const reading = readingOfType.get(candidate);
    if (typeof reading === "object") return reading;
    if (reading !== undefined) return hasContent(event, 0) ? content : nothing;
  }
  return readUntyped(event, type ?? name);
}

function readUntyped(event: JsonObject, type: string | undefined): EventReading {
  if (Array.isArray(event["choices"])) return readChoices(event["choices"]);
  if (Array.isArray(event["candidates"])) return readCandidates(event["candidates"]);
  // A blocked prompt is a whole answer without candidates.
  if (asText(asObject(event["promptFeedback"])?.["blockReason"]) !== undefined) return end;
  if (event["promptFeedback"] !== undefined || event["usageMetadata"] !== undefined) return nothing;
  if (typeof event["done"] === "boolean") return readOllama(event);
  return isKnownFamily(type) ? content : unknown;
}

function isKnownFamily(type: string | undefined): boolean {
  return (
    type !== undefined && /^(?:response\.|content_block_|message_delta$|thread\.|content-|tool-|content\.)/.test(type)
  );
}

/** OpenAI's chat and completions: a role alone, or no choice at all, proves nothing. */
function readChoices(choices: readonly unknown[]): EventReading {
  let says = nothing;
  for (const entry of choices) {
    const choice = asObject(entry) ?? {};
    if (asText(choice["finish_reason"]) !== undefined) return end;
    const delta = asObject(choice["delta"]) ?? asObject(choice["message"]) ?? {};
    if (asText(choice["text"]) !== undefined || hasContent({ ...delta, role: undefined }, 0)) says = content;
  }
  return says;
}

function readCandidates(candidates: readonly unknown[]): EventReading {
  let says = nothing;
  for (const entry of candidates) {
    const candidate = asObject(entry) ?? {};
    if (asText(candidate["finishReason"]) !== undefined) return end;
    if (asArray(asObject(candidate["content"])?.["parts"]).some((part) => hasContent(part, 0))) says = content;
  }
  return says;
}

function readOllama(line: JsonObject): EventReading {
  if (line["done"] === true) return end;
  const message = { ...asObject(line["message"]), role: undefined };
  const isWord = [line["response"], line["thinking"], message].some((part) => hasContent(part, 0));
  return isWord ? content : nothing;
}

/** Fields that name or number a thing without saying anything. */
const labels = new Set(["type", "event_type", "id", "item_id", "index", "status", "role", "sequence_number", "object"]);
const labelSuffix = "_index";
/** Kinds of parts that begin empty and are filled by later events; any other kind says something by being there. */
const vessels = new Set([
  "text",
  "thinking",
  "message",
  "reasoning",
  "output_text",
  "summary_text",
  "reasoning_text",
  "refusal",
]);
const deepest = 6;

/** Whether there is anything but empty vessels in it. */
function hasContent(value: unknown, depth: number): boolean {
  if (value === null || value === undefined || value === "" || value === false) return false;
  if (Array.isArray(value)) return value.some((entry) => hasContent(entry, depth + 1));
  const object = asObject(value);
  if (object === undefined) return true;
  if (depth >= deepest) return true;
  const type = asText(object["type"]);
  if (depth > 0 && type !== undefined && !vessels.has(type)) return true;
  return Object.entries(object).some(
    ([name, field]) => !labels.has(name) && !name.endsWith(labelSuffix) && hasContent(field, depth + 1),
  );
}
