import { parseJsonPrefix } from "./partial-json.ts";
import { asArray, asObject, asText, type JsonObject } from "./json-value.ts";

/**
 * What an endpoint gives back when all is well, or what shows that the thing described is an object of its own whose
 * `error` is part of it (a failed batch, job or stored response that was asked for).
 */
const resultFields = [
  "choices",
  "output",
  "data",
  "candidates",
  "content",
  "embedding",
  "embeddings",
  "results",
  "result",
  "predictions",
  "images",
  "text",
  "done",
  "name",
];

/** Events of streams whose own error says that the whole answer failed. */
const failedEvents = ["error", "response.failed", "response.error", "thread.run.failed", "conversation.response.error"];

/**
 * Whether the body, or the data of an event, is an error told inside a 200: `error` at the top level without the endpoint's result, an error event of
 * a stream, or a chunk that carries one.
 *
 * @see field cases 20 and 39
 */
export function tellsError(text: string): boolean {
  if (text === "") return false;
  const value = parseJsonPrefix(text);
  const root = asObject(Array.isArray(value) ? value[0] : value);
  if (root === undefined) return false;
  const type = asText(root["type"]) ?? asText(root["event_type"]) ?? "";
  if (failedEvents.includes(type) || root["object"] === "error") return true;
  if (root["object"] === "thread.run" && isError(root["last_error"])) return true;
  if (isFailedEnd(root)) return true;
  if (isError(root["error"]))
    return isChunk(root) || (!resultFields.some((name) => isPresent(root[name])) && !isJob(root));
  return false;
}

function isError(value: unknown): boolean {
  return asText(value) !== undefined || Object.keys(asObject(value) ?? {}).length > 0;
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** OpenRouter puts the error beside the choices of a chunk. */
function isChunk(root: JsonObject): boolean {
  return (asText(root["object"]) ?? "").startsWith("chat.completion") || root["object"] === "text_completion";
}

/** A failed batch or video that was asked for: the question itself was answered. */
function isJob(root: JsonObject): boolean {
  return asText(root["object"]) !== undefined || asText(root["status"]) !== undefined;
}

/** Ends that say "error" by their reason, and Groq's own place for it. */
function isFailedEnd(root: JsonObject): boolean {
  const choice = asObject(asArray(root["choices"])[0]);
  if (choice?.["finish_reason"] === "error" || isError(choice?.["error"])) return true;
  if (asObject(root["delta"])?.["finish_reason"] === "ERROR" || root["finish_reason"] === "ERROR") return true;
  return isError(asObject(root["x_groq"])?.["error"]);
}
