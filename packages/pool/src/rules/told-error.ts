import { parseJsonPrefix } from "./partial-json.ts";
import { asArray, asObject, asText, type JsonObject } from "./json-value.ts";

/**
 * What an endpoint gives back when all is well, or what shows that the thing described is an object of its own whose
 * `error` is part of it (a failed batch, job or stored response that was asked for).
 */
const resultFields: readonly string[] = [
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

/** Whether a body that has this field, and something in it, is the endpoint's answer. */
export function isResultField(name: string): boolean {
  return resultFields.includes(name);
}

/** Events of streams whose own error says that the whole answer failed. */
const failedEvents = ["error", "response.failed", "response.error", "conversation.response.error"];

/**
 * Whether the body, or the data of an event, is an error told inside a 200: `error` at the top level without the endpoint's result, an error event of
 * a stream, or a chunk that carries one.
 *
 * @see field cases 20 and 39
 */
export function tellsError(text: string): boolean {
  return text !== "" && valueTellsError(parseJsonPrefix(text));
}

/** The same of JSON that was parsed already. */
export function valueTellsError(value: unknown): boolean {
  const root = asObject(Array.isArray(value) ? value[0] : value);
  if (root === undefined) return false;
  const type = asText(root["type"]) ?? asText(root["event_type"]) ?? "";
  if (failedEvents.includes(type) || root["object"] === "error") return true;
  if (isFailedEnd(root)) return true;
  return isError(root["error"]) && (isChunk(root) || !isAnswerItself(root));
}

/** What the object that the body describes has failed with, a stored response or a video; undefined if it has not. */
export function failureOfMade(value: unknown): JsonObject | undefined {
  const root = asObject(value);
  return root?.["status"] === "failed" && isError(root["error"]) ? asObject(root["error"]) : undefined;
}

function isAnswerItself(root: JsonObject): boolean {
  return isJob(root) || resultFields.some((name) => isPresent(root[name]));
}

function isError(value: unknown): boolean {
  return asText(value) !== undefined || Object.keys(asObject(value) ?? {}).length > 0;
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}

/** OpenRouter puts the error beside the choices of a chunk. */
function isChunk(root: JsonObject): boolean {
  return root["object"] === "chat.completion.chunk";
}

/** A failed batch, run or video that was asked for, or a line of a batch's results: the question itself was answered. */
function isJob(root: JsonObject): boolean {
  const isTracked = isPresent(root["id"]) && isPresent(root["status"]);
  return isTracked || asText(root["object"]) !== undefined || isPresent(root["custom_id"]);
}

/** Ends that say "error" by their reason, and Groq's own place for it. */
function isFailedEnd(root: JsonObject): boolean {
  const choice = asObject(asArray(root["choices"])[0]);
  if (choice?.["finish_reason"] === "error" || isError(choice?.["error"])) return true;
  if (asObject(root["delta"])?.["finish_reason"] === "ERROR" || root["finish_reason"] === "ERROR") return true;
  return isError(asObject(root["x_groq"])?.["error"]);
}
