import { asArray, asObject, asText, type JsonObject, objectsOf } from "./json-value.ts";
import { parseJsonPrefix } from "./partial-json.ts";
import type { JudgedAnswer } from "./verdict.ts";

/** A telling part of an error that is neither a code nor a sentence. */
export type ErrorMark =
  /** OpenRouter: the findings of a moderation. */
  | "moderation_reasons"
  /** OpenRouter: what a guardrail found. */
  | "guardrail_patterns"
  /** OpenRouter: the code of the provider behind it. */
  | "upstream_provider_code"
  /** Gemini: a violated quota that counts a day. */
  | "quota_per_day"
  /** Gemini: a violated quota that counts for one model. */
  | "quota_per_model"
  /** Gemini: a quota whose limit is nought. */
  | "quota_zero";

/** Waits as the body states them, not yet read. */
export interface BodyWaits {
  /** Google's RetryInfo: "34.07s", or `{seconds, nanos}`. */
  readonly retryDelay?: unknown;
  /** Google's ErrorInfo metadata: "373.801628ms". */
  readonly quotaResetDelay?: unknown;
  /** Seconds: OpenRouter's `availability.retry_after` and its kin. */
  readonly retryAfter?: unknown;
  /** ChatGPT plans: epoch seconds. */
  readonly resetsAt?: unknown;
  /** ChatGPT plans: seconds from now. */
  readonly resetsInSeconds?: unknown;
  /** OpenRouter repeats headers inside the body; names in lower case. */
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** What an error body says, whatever envelope it came in. */
export interface ErrorFacts {
  /** The body is a web page, or an edge network says that it answered itself. */
  readonly isPage: boolean;
  /** Machine codes as they stand (`code`, `type`, `status`, `reason`, `error_type` …), most telling first. */
  readonly codes: readonly string[];
  /** The provider's sentence; undefined when there is none. At most 4,096 characters. */
  readonly message: string | undefined;
  /** Where phrases are looked for: message and upstream message in lower case; for a page its beginning. */
  readonly words: string;
  readonly marks: readonly ErrorMark[];
  /** The HTTP status that the error names for itself. */
  readonly status: number | undefined;
  readonly waits: BodyWaits;
}

const messageLength = 4096;
const mostCodes = 32;
const mostDetails = 32;

/**
 * Reads an error body: nested, flat, in an array, as a string, as an event of a stream. Never throws; takes time linear in
 * the length of the body.
 *
 * @see reference "Error envelopes"
 */
export function readErrorFacts(answer: Pick<JudgedAnswer, "header" | "bodyText">): ErrorFacts {
  const { bodyText } = answer;
  if (answersWithPage(answer))
    return { ...noFacts, isPage: true, words: bodyText.slice(0, messageLength).toLowerCase() };
  return bodyText === "" ? noFacts : factsOf(parseJsonPrefix(bodyText), bodyText);
}

/** Whether the answer is a web page, or an edge network says that it answered itself. @see field case 21 */
export function answersWithPage(answer: Pick<JudgedAnswer, "header" | "bodyText">): boolean {
  if (answer.header("cf-mitigated") !== undefined) return true;
  const start = answer.bodyText.slice(0, 64).trimStart().toLowerCase();
  if (start.startsWith("<!doctype html") || start.startsWith("<html")) return true;
  // Some servers label their JSON as HTML.
  const isHtml = (answer.header("content-type") ?? "").trimStart().toLowerCase().startsWith("text/html");
  return isHtml && !start.startsWith("{") && !start.startsWith("[");
}

const noFacts: ErrorFacts = {
  isPage: false,
  codes: [],
  message: undefined,
  words: "",
  marks: [],
  status: undefined,
  waits: {},
};

function factsOf(value: unknown, text: string): ErrorFacts {
  const root = Array.isArray(value) ? asArray(value)[0] : value;
  const envelope = asObject(root);
  if (envelope === undefined) return sentence(asText(root) ?? text.trim());
  const error = errorInside(envelope);
  const message = messageOf(error) ?? messageOf(envelope);
  const upstream = asText(asObject(error["metadata"])?.["raw"]) ?? "";
  return {
    isPage: false,
    codes: codesOf(error, envelope),
    message,
    words: `${message ?? ""}\n${upstream.slice(0, messageLength)}`.toLowerCase(),
    marks: marksOf(error, message ?? ""),
    status: statusOf(error, envelope),
    waits: waitsOf(error),
  };
}

function sentence(text: string): ErrorFacts {
  const message = text.slice(0, messageLength);
  return message === "" ? noFacts : { ...noFacts, message, words: message.toLowerCase() };
}

/** The innermost object that describes the error; the envelope itself when it is flat. */
function errorInside(envelope: JsonObject): JsonObject {
  let found = envelope;
  // Gateways wrap the answers of gateways; four layers are more than was ever seen.
  for (let layer = 0; layer < 4; layer++) {
    const inner = innerError(found);
    if (inner === undefined) return found;
    found = inner;
  }
  return found;
}

function innerError(outer: JsonObject): JsonObject | undefined {
  return (
    asObject(outer["error"]) ??
    asObject(outer["fault"]) ??
    asObject(outer["last_error"]) ??
    asObject(asObject(outer["response"])?.["error"]) ??
    asObject(asObject(asArray(outer["choices"])[0])?.["error"]) ??
    asObject(asArray(outer["errors"])[0]) ??
    asObject(asObject(outer["detail"])?.["error"])
  );
}

function messageOf(error: JsonObject): string | undefined {
  const found =
    asText(error["message"]) ??
    asText(error["error"]) ??
    asText(error["detail"]) ??
    asText(error["faultstring"]) ??
    asText(asObject(error["x_groq"])?.["error"]) ??
    asText(asObject(error["delta"])?.["error"]) ??
    validationMessage(error["message"]) ??
    validationMessage(error) ??
    asText(error["title"]) ??
    asText(error["error_description"]);
  return found?.slice(0, messageLength);
}

/** FastAPI and Mistral: `{detail: [{msg}]}`. */
function validationMessage(value: unknown): string | undefined {
  const first = asObject(asArray(asObject(value)?.["detail"])[0]);
  return asText(first?.["msg"]) ?? asText(first?.["message"]);
}

/** Where codes stand; the type of an envelope is that of the event or object, not of the error. */
const envelopeCodes = ["error_code", "code", "error_type", "status", "reason"];
const codeFields = ["error_code", "code", "error_type", "type", "status", "reason", "errorcode", "limit_source"];
const codeHolders = ["innererror", "metadata", "availability", "detail"];

function codesOf(error: JsonObject, envelope: JsonObject): readonly string[] {
  const codes = new Set<string>();
  const add = (holder: JsonObject | undefined, fields: readonly string[]): void => {
    for (const field of fields) {
      const code = codeOf(holder?.[field]);
      if (code !== undefined && codes.size < mostCodes) codes.add(code);
    }
  };
  for (const detail of detailsOf(error)) add(detail, ["reason"]);
  add(asObject(error["details"]), codeFields);
  add(error, codeFields);
  for (const holder of codeHolders) add(asObject(error[holder]), codeFields);
  if (error !== envelope) add(envelope, envelopeCodes);
  return [...codes];
}

/** "error" says what is known already. */
function codeOf(value: unknown): string | undefined {
  const code = typeof value === "number" ? String(value) : asText(value);
  return code === undefined || code.length > 200 || code === "error" ? undefined : code;
}

function detailsOf(error: JsonObject): readonly JsonObject[] {
  return objectsOf(error["details"], mostDetails);
}

function marksOf(error: JsonObject, message: string): readonly ErrorMark[] {
  const marks = new Set<ErrorMark>();
  const metadata = asObject(error["metadata"]) ?? {};
  if (asArray(metadata["reasons"]).length > 0) marks.add("moderation_reasons");
  if (asArray(metadata["patterns"]).length > 0) marks.add("guardrail_patterns");
  if (metadata["provider_code"] !== undefined && metadata["provider_code"] !== null)
    marks.add("upstream_provider_code");
  for (const violation of violationsOf(error)) {
    const quota = asText(violation["quotaId"]) ?? "";
    if (quota.includes("PerDay")) marks.add("quota_per_day");
    if (quota.includes("PerModel") || asObject(violation["quotaDimensions"])?.["model"] !== undefined) {
      marks.add("quota_per_model");
    }
    if (violation["quotaValue"] === "0") marks.add("quota_zero");
  }
  if (/\blimit: 0(?![\d.]*\d)/.test(message)) marks.add("quota_zero");
  return [...marks];
}

function violationsOf(error: JsonObject): readonly JsonObject[] {
  return detailsOf(error).flatMap((detail) => objectsOf(detail["violations"], mostDetails));
}

function statusOf(error: JsonObject, envelope: JsonObject): number | undefined {
  for (const holder of error === envelope ? [error] : [error, envelope]) {
    for (const name of ["code", "http_status", "status", "status_code", "statusCode"]) {
      const status = Number(holder[name] ?? Number.NaN);
      if (Number.isInteger(status) && status >= 400 && status <= 599) return status;
    }
  }
  return undefined;
}

function waitsOf(error: JsonObject): BodyWaits {
  const details = detailsOf(error);
  const metadata = asObject(error["metadata"]) ?? {};
  return {
    retryDelay: details.find((detail) => detail["retryDelay"] !== undefined)?.["retryDelay"],
    quotaResetDelay: details
      .map((detail) => asObject(detail["metadata"])?.["quotaResetDelay"])
      .find((delay) => delay !== undefined),
    retryAfter:
      asObject(error["availability"])?.["retry_after"] ??
      error["retry_after"] ??
      metadata["retry_after"] ??
      metadata["retry_after_seconds"],
    resetsAt: error["resets_at"],
    resetsInSeconds: error["resets_in_seconds"],
    headers: lowerCased(asObject(metadata["headers"]) ?? {}),
  };
}

function lowerCased(headers: JsonObject): Readonly<Record<string, unknown>> {
  const entries = Object.entries(headers).slice(0, 64);
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
}
