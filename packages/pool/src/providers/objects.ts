import { fingerprint, type Fingerprint } from "../rules/fingerprint.ts";
import { asArray, asObject } from "../rules/json-value.ts";
import { jsonValue } from "./json-scan.ts";

/**
 * Objects that a provider keeps for the key that made them: files, batches, stored responses, caches, threads … A later call
 * that names one must go to that key: another key's answer would be "no such file".
 *
 * Nothing here knows which ids exist. It tells which texts of a request may name an object and which ids an answer shows to
 * exist; whoever remembers the second looks the first up. An id counts by its last segment, since the same object is named
 * `files/abc`, `https://…/v1beta/files/abc` and `abc`.
 *
 * @see contract §2 "A resource made under one key …", §4 rule 11; reference "Stateful resources that pin a key"
 */

const shortestId = 6;
const longestId = 512;
/** A request that names more objects than this is looked at no further. */
const mostNamed = 64;
/** A list of more than this many objects is remembered only so far. */
const mostShown = 1_000;

/** Endpoints that keep nothing: what they answer has an id that no later call names. */
const keepsNothing =
  /\/(chat\/completions|completions|embeddings|messages|messages\/count_tokens|moderations|images\/[a-z]+|audio\/[a-z]+|rerank|ocr|fim\/completions|models(\/[^/:]*)?|api\/(chat|generate|tags))$/;
/** Gemini's calls on a model; those that run long answer with an operation to be asked for later. */
const keepsNothingAction =
  /:(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents|predict)$/;

/** Collections whose list shows only what one key has made. */
const listings =
  /\/(files|uploads|batches|batch\/jobs|responses|conversations|assistants|threads|vector_stores|containers|fine_tuning\/jobs|evals|videos|skills|cachedContents|tunedModels|fileSearchStores|messages\/batches|chat\/completions|libraries|agents|operations)$/;

/** Fields, anywhere in a body, whose value is the id of a stored object, or an object with such an id. */
const idFields = [
  // OpenAI, Azure
  "previous_response_id last_response_id conversation prompt file_id input_file_id output_file_id error_file_id",
  "result_file_id training_file validation_file fine_tuned_model container container_id assistant_id thread_id batch_id",
  "upload_id vector_store_id video_id eval_id",
  // Anthropic
  "skill_id environment_id",
  // Gemini
  "previous_interaction_id fileUri file_uri cachedContent cached_content",
  // Mistral, Cohere
  "conversation_id agent_id library_id dataset_id job_id",
  // Jobs for images and video: DashScope and Zhipu, xAI, SiliconFlow
  "task_id request_id requestId",
]
  .join(" ")
  .replaceAll(" ", "|");
const idField = new RegExp(String.raw`"(?:${idFields})"\s*:\s*(?:\{\s*"id"\s*:\s*)?"([^"\\]{6,256})"`, "g");
// Not over a further `[`: from each of many openings it would search as far as it may.
const idListField = /"(?:file_ids|vector_store_ids|part_ids|vault_ids)"\s*:\s*\[([^[\]]{0,16384})\]/g;
const quoted = /"([^"\\]{6,256})"/g;
const ownId = /"id"\s*:\s*"([^"\\]{6,256})"/g;

/**
 * The ids that a request's path may name.
 *
 * @param path at the provider, without the query
 */
export function objectsInPath(path: string): string[] {
  const ids: string[] = [];
  for (const segment of path.split("/")) {
    const id = segment.split(":", 1)[0] ?? "";
    // Words of the API ("completions", "v1beta") are no ids; one too many looked up costs nothing but the look-up.
    if (isId(id) && /[0-9_-]/.test(id) && !/^v\d/.test(id)) ids.push(id);
  }
  return ids;
}

/** The id that a request's query names: of an upload under way, or OpenRouter's of a generation. */
export function objectsInQuery(query: string): string[] {
  const id = /(?:^|&)(?:upload_id|id)=([\w.-]+)/.exec(query)?.[1];
  return id === undefined || !isId(id) ? [] : [id];
}

/** The id of a model that is its maker's alone, as a request names it. */
export function objectInModel(model: string): string[] {
  return model.startsWith("ft:") && isId(model) ? [model] : [];
}

/** The id of an object that the head of an answer says was made: a call, a job. */
export function objectInLocation(location: string): string[] {
  const ids = new Set<string>();
  addId(ids, location);
  return [...ids];
}

/**
 * What a `POST` has made is told where it is to be found (RFC 9110 §10.2.2; Azure's jobs have a header of their own).
 *
 * @param method of the request
 */
export function objectsInHead(
  answer: { readonly status: number; header(name: string): string | undefined },
  method: string,
): string[] {
  if (method !== "POST" || (answer.status !== 201 && answer.status !== 202)) return [];
  const places = [answer.header("location"), answer.header("operation-location")];
  return places.flatMap((place) => (place === undefined ? [] : objectInLocation(place)));
}

/** The upload that an answer says has begun: its bytes go to the key that began it. */
export function uploadInHead(answer: { header(name: string): string | undefined }): string[] {
  const address = answer.header("x-goog-upload-url");
  return address === undefined ? [] : objectsInQuery(address.slice(address.indexOf("?") + 1));
}

/**
 * The ids that a request's JSON body names, those that continue something stored first.
 *
 * @param text the body; it may be read as Latin-1, since ids are ASCII
 */
export function objectsInBody(text: string): string[] {
  const ids = new Set<string>();
  addMatches(ids, text, idField, mostNamed);
  for (const [, list = ""] of text.matchAll(idListField)) addMatches(ids, list, quoted, mostNamed);
  return [...ids];
}

/** Whether any answer of a provider can be asked about later: OpenRouter tells what each generation cost. */
export function keepsEverything(preset: string | null): boolean {
  return preset === "openrouter";
}

/** Fields of a request that ask for its result to be kept, or to be had later, where the endpoint keeps nothing else. */
export const keepingFields: readonly string[] = ["store", "deferred"];

/**
 * Whether the answer to a request may show objects that later calls can name.
 *
 * @param fields raw JSON texts of the body's `keepingFields`
 * @param body   the body, if it is JSON
 */
export function mayShowObjects(
  method: string,
  path: string,
  fields: ReadonlyMap<string, string> = new Map(),
  body?: { includes(text: string): boolean },
): boolean {
  if (method !== "POST" && method !== "GET" && method !== "PUT") return false;
  if (keepingFields.some((name) => fields.get(name) === "true")) return true;
  // Anthropic's code runs in a container that later requests may go on with.
  if (path.endsWith("/messages") && body?.includes("code_execution") === true) return true;
  return !keepsNothing.test(path) && !keepsNothingAction.test(path);
}

/**
 * Whether a request asks for a list of stored objects. Each key has its own: so that pages of it fit together, lists come
 * from one key, always the same.
 */
export function isListing(method: string, path: string): boolean {
  return method === "GET" && listings.test(path);
}

/** The fingerprint under which an object's maker is remembered. */
export function objectPrint(poolId: string, id: string): Fingerprint {
  return fingerprint(`${poolId}\nobject\n${id}`);
}

/**
 * The ids of the objects that an answer shows: the one it is about, or those it lists, and those that it names.
 *
 * @param text the JSON body, or the data of a stream's event; of one that is cut, whatever has an id counts
 */
export function objectsShown(text: string): string[] {
  const ids = new Set<string>();
  const answer = jsonValue(text);
  if (answer === undefined) addMatches(ids, text, ownId, mostShown);
  else collectShown(ids, answer);
  addMatches(ids, text, idField, mostShown);
  return [...ids];
}

function collectShown(ids: Set<string>, answer: unknown): void {
  const about = asObject(answer);
  for (const each of [about, about?.["response"], about?.["file"], about?.["thread"]]) collect(ids, each);
  for (const value of Object.values(about ?? {})) {
    for (const item of asArray(value)) if (ids.size < mostShown) collect(ids, item);
  }
}

function collect(ids: Set<string>, value: unknown): void {
  const object = asObject(value);
  addId(ids, object?.["id"]);
  const name = object?.["name"];
  // Gemini names its objects by path; elsewhere a name is a word for people.
  if (typeof name === "string" && name.includes("/")) addId(ids, name);
}

function addMatches(ids: Set<string>, text: string, pattern: RegExp, most: number): void {
  for (const [, value = ""] of text.matchAll(pattern)) {
    if (ids.size >= most) return;
    addId(ids, value);
  }
}

function addId(ids: Set<string>, value: unknown): void {
  if (typeof value !== "string") return;
  const last = value.slice(value.lastIndexOf("/") + 1).split("?", 1)[0] ?? "";
  const id = last.startsWith("ft:") ? last : (last.split(":", 1)[0] ?? "");
  if (isId(id)) ids.add(id);
}

function isId(text: string): boolean {
  return text.length >= shortestId && text.length <= longestId && /^(?:ft:[\w.:-]+|[\w.-]+)$/.test(text);
}
