import { fingerprint, type Fingerprint } from "../rules/fingerprint.ts";
import { asObject } from "../rules/json-value.ts";
import { type Conversation, placesOf } from "./conversation/places.ts";
import { type Said, Transcript } from "./conversation/transcript.ts";
import {
  authorOf,
  type ItemType,
  type MessagesField,
  messageWords,
  requestWords,
  type Role,
  roleWords,
  typeWords,
  type Words,
} from "./conversation/vocabulary.ts";

const deepest = 100;
const messagesFields: readonly MessagesField[] = ["messages", "contents", "input"];

/**
 * The same as `conversationOf`, of a body that was parsed: less code where bodies are texts in this process anyhow.
 *
 * What values mean is written down as one text, with the length of each string before it and fields in the order of their
 * names, so that two values have the same text only if they mean the same. Fingerprints are not those that `conversationOf`
 * gives.
 *
 * @param body the parsed body
 */
export function parsedConversationOf(scope: string, body: unknown): Conversation | undefined {
  const request = asObject(body);
  if (request === undefined) return undefined;
  try {
    const instructions: string[] = [];
    for (const [name, value] of Object.entries(request)) {
      const field = requestKinds.get(name);
      if (field === "kept" && !isBlank(value)) return undefined;
      const text = field === "instructions" ? contentIn(value, 1) : "";
      if (text !== "") instructions.push(meaningOf(name, 0) + text);
    }
    const place = instructions.length === 0 ? undefined : fingerprint(instructions.toSorted().join(""));
    for (const name of messagesFields) {
      const transcript = new Transcript();
      for (const message of messagesIn(request[name])) transcript.add(message);
      if (transcript.end !== undefined) return placesOf(scope, place, transcript, transcript.end);
    }
  } catch (error) {
    if (error !== noConversation) throw error;
  }
  return undefined;
}

/** The same as `openingOf`, of a body that was parsed. */
export function parsedOpeningOf(body: unknown): Fingerprint | undefined {
  const request = asObject(body);
  try {
    for (const name of messagesFields) {
      for (const { author, isEmpty, high, low } of messagesIn(request?.[name])) {
        if (author === "user" && !isEmpty) return { high, low };
      }
    }
  } catch (error) {
    if (error !== noConversation) throw error;
  }
  return undefined;
}

/** Thrown where a body turns out to hold none, or is nested too deep. */
const noConversation = new Error("no conversation");

/** Messages: an array of them, one alone, or a text, which is the same as one message of a user. */
function* messagesIn(value: unknown): Generator<Said> {
  if (typeof value === "string") yield messageOf({ content: value }, 0);
  else if (typeof value === "object" && value !== null) {
    for (const each of [value].flat()) {
      const message = asObject(each);
      // Texts or numbers to be embedded, say.
      if (message === undefined) throw noConversation;
      yield messageOf(message, 2);
    }
  }
}

function messageOf(message: object, depth: number): Said {
  const { text, role, type, isEmpty } = readMessage(message, depth);
  return { ...fingerprint(text), author: authorOf(role, type), isEmpty };
}

interface Read {
  /** What it means, whether it counts or not. */
  readonly text: string;
  readonly role: Role | "other" | undefined;
  readonly type: ItemType | "other" | undefined;
  readonly isEmpty: boolean;
}

/** Reads a message, an item or a part. Fields whose values are empty may as well be left out. */
function readMessage(message: object, depth: number): Read {
  let [role, type, hasWords, isHidden]: [Read["role"], Read["type"], boolean, boolean] = [
    undefined,
    undefined,
    false,
    false,
  ];
  const said: string[] = [];
  const held: Partial<Record<"id" | "name", string>> = {};
  for (const [name, value] of Object.entries(message)) {
    const kind = messageKinds.get(name);
    if (kind === "ignored") continue;
    const meaning =
      kind === "content" ? contentIn(value, depth + 1) : isBlank(value) ? "" : meaningOf(value, depth + 1);
    if (meaning === "") continue;
    const text = meaningOf(name, 0) + meaning;
    if (kind === "thought") isHidden = true;
    else if (kind === "id" || kind === "name") held[kind] = text;
    else {
      // Without a role it is a user who speaks, and a plain type says nothing that the fields beside it do not say.
      if (kind === "role") role = roleKinds.get(value) ?? "other";
      else if (kind === "type") type = typeKinds.get(value) ?? "other";
      else hasWords = true;
      if (!(kind === "role" && role === "user") && !(kind === "type" && type === "plain")) said.push(text);
    }
  }
  // Only now is it known what an id or a name means.
  for (const text of [type === "reference" ? held.id : undefined, role === undefined ? held.name : undefined]) {
    if (text === undefined) continue;
    said.push(text);
    hasWords = true;
  }
  return { text: said.toSorted().join(""), role, type, isEmpty: !hasWords || isHidden || type === "hidden" };
}

/** What a message holds: parts, one part, or a text, which is the same as one part with that text. "" if that is nothing. */
function contentIn(value: unknown, depth: number): string {
  checkDepth(depth);
  const parts: unknown[] = Array.isArray(value) ? value : [value];
  return parts.map((part) => partIn(part, depth + 1)).join("");
}

function partIn(part: unknown, depth: number): string {
  if (isBlank(part)) return "";
  const message = typeof part === "string" ? { text: part } : asObject(part);
  if (message === undefined) return meaningOf(part, depth);
  const { text, isEmpty } = readMessage(message, depth);
  return isEmpty ? "" : `{${text}}`;
}

function meaningOf(value: unknown, depth: number): string {
  if (typeof value === "string") return `${value.length}"${value}`;
  checkDepth(depth);
  if (Array.isArray(value)) return `[${value.map((item) => meaningOf(item, depth + 1)).join("")}]`;
  const object = asObject(value);
  if (object === undefined) return `${String(value)},`;
  const fields = Object.entries(object).map(([name, field]) => meaningOf(name, 0) + meaningOf(field, depth + 1));
  return `{${fields.toSorted().join("")}}`;
}

function checkDepth(depth: number): void {
  if (depth > deepest) throw noConversation;
}

/** Whether a value says nothing. */
function isBlank(value: unknown): boolean {
  return (
    value === null || value === false || value === "" || (typeof value === "object" && Object.keys(value).length === 0)
  );
}

type Kinds<Kind extends string> = ReadonlyMap<unknown, Kind>;

const requestKinds = /* @__PURE__ */ kindsOf(requestWords);
const messageKinds = /* @__PURE__ */ kindsOf(messageWords);
const roleKinds = /* @__PURE__ */ kindsOf(roleWords);
const typeKinds = /* @__PURE__ */ kindsOf(typeWords);

function kindsOf<Kind extends string>(words: Words<Kind>): Kinds<Kind> {
  const entries = Object.entries<string>(words) as [Kind, string][];
  return new Map(entries.flatMap(([kind, list]) => list.split(" ").map((word) => [word, kind])));
}
