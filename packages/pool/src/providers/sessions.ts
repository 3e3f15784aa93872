import type { SessionRef } from "../ports/shared-state.ts";
import { fingerprint } from "../rules/fingerprint.ts";
import { asObject, asText } from "../rules/json-value.ts";
import { jsonValue, stringValue } from "./json-scan.ts";

/** The header by which a client may name its session to this gateway itself; it goes before all others. */
export const ownSessionHeader = "x-keywheel-session";

/**
 * Headers with which clients and gateways name a conversation, in the order in which they are believed.
 *
 * Not here on purpose: names of one request or trace (`x-client-request-id`, `traceparent`, `x-portkey-trace-id`), which
 * would bind every call anew.
 *
 * @see reference "How clients convey a session"
 */
export const sessionHeaders: readonly string[] = [
  ownSessionHeader,
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "x-session-id",
  "x-session-affinity",
  "x-opencode-session",
  "x-litellm-session-id",
  "helicone-session-id",
  "x-openwebui-chat-id",
  "x-grok-conv-id",
  "thread-id",
  "thread_id",
  "conversation-id",
  "conversation_id",
  "x-roo-task-id",
  "x-task-id",
];

/**
 * Body fields that name a conversation, in the order in which they are believed.
 *
 * `user`, `safety_identifier` and a plain `metadata.user_id` name a person or an application: bound to them, all traffic
 * of a team would go to one key.
 */
const bodyFields: readonly (readonly [field: string, read: (raw: string) => string | undefined])[] = [
  ["session_id", stringValue],
  ["litellm_session_id", stringValue],
  ["metadata", metadataSession],
  ["conversation", conversationId],
  ["conversation_id", stringValue],
  ["prompt_cache_key", stringValue],
];

/**
 * Carriers whose values may be what many conversations have in common: OpenAI asks for one `prompt_cache_key` wherever
 * prompts begin alike, which for many programs is everywhere.
 *
 * @see https://developers.openai.com/docs/guides/prompt-caching
 */
const sharableCarriers: ReadonlySet<string> = new Set(["body.prompt_cache_key"]);

/** The top-level fields that `sessionOf` wants from a JSON body. */
export const sessionFields: readonly string[] = bodyFields.map(([field]) => field);

const longestValue = 1_024;
const longestShownId = 256;

/**
 * The session that a request names, or undefined.
 *
 * @param scope  what keeps equal values of different callers apart: pool and gateway token
 * @param header a header's value by lower-case name
 * @param fields raw JSON texts of the body's `sessionFields`, where it has a JSON body
 * @see contract §2 "Sessions": first match wins
 */
export function sessionOf(
  scope: string,
  header: (name: string) => string | undefined,
  fields: ReadonlyMap<string, string>,
): SessionRef | undefined {
  for (const name of sessionHeaders) {
    const value = clean(header(name));
    if (value !== undefined) return reference(scope, name, value);
  }
  for (const [field, read] of bodyFields) {
    const raw = fields.get(field);
    const value = raw === undefined ? undefined : clean(read(raw));
    if (value !== undefined) return reference(scope, `body.${field}`, value);
  }
  return undefined;
}

/** Whether `SharedValues` has to be asked before this value is believed to name one conversation. */
export function isSharable({ carrier }: SessionRef): boolean {
  return sharableCarriers.has(carrier);
}

/** The hash under which a session can be found by the very value that its client sent. */
export function sessionValueHash(value: string): string {
  const [first, second] = [fingerprint(value, 1), fingerprint(value, 2)];
  return hex(first.high) + hex(first.low) + hex(second.high) + hex(second.low);
}

function reference(scope: string, carrier: string, value: string): SessionRef {
  const print = fingerprint(`${scope}\n${carrier}\n${value}`);
  const isShowable = carrier === ownSessionHeader && value.length <= longestShownId && /^[\x21-\x7e]+$/.test(value);
  const id = isShowable ? value : `ses_${hex(print.high)}${hex(print.low)}`;
  return {
    id,
    carrier,
    fingerprint: print,
    // Worked out when it is asked for, which is when it is bound or written down; it goes along to other processes.
    get valueHash() {
      return sessionValueHash(value);
    },
  };
}

function clean(value: string | undefined): string | undefined {
  const trimmed = value?.trim();
  return trimmed === undefined || trimmed === "" || trimmed.length > longestValue ? undefined : trimmed;
}

/** Claude Code names its session inside `metadata.user_id`: as JSON text, or behind `_session_`. */
function metadataSession(raw: string): string | undefined {
  const metadata = jsonValue(raw);
  const named = textField(metadata, "session_id") ?? textField(metadata, "langfuse_session_id");
  if (named !== undefined) return named;
  const userId = textField(metadata, "user_id");
  if (userId === undefined) return undefined;
  if (userId.startsWith("{")) return textField(jsonValue(userId), "session_id");
  return /_session_([0-9a-zA-Z-]{8,})$/.exec(userId)?.[1];
}

function conversationId(raw: string): string | undefined {
  return stringValue(raw) ?? textField(jsonValue(raw), "id");
}

function textField(value: unknown, name: string): string | undefined {
  return asText(asObject(value)?.[name]);
}

function hex(word: number): string {
  return word.toString(16).padStart(8, "0");
}
