/** What is wrong with a text that was given as a key, as programs match on it; numbers that belong to one in brackets. */
export type KeyFault =
  | "empty"
  | "key_too_long" // max, length
  | "key_masked"
  | "key_line_break" // at: the position, from 1
  | "key_white_space" // at
  | "key_control_character" // at
  | "key_character" // at
  | "key_comma"
  | "key_quotes"
  | "variable_no_name"
  | "variable_braces"
  | "variable_many"
  | "variable_name";

export interface KeyTextFault {
  readonly code: KeyFault;
  /** A sentence for the person who typed it. It names positions, never a part of the value. */
  readonly message: string;
  readonly params?: Readonly<Record<string, number>>;
}

/** What a person typed or pasted as a key: a value, the name of an environment variable, or why it is neither. */
export type ReadKeyText =
  | { readonly kind: "literal"; readonly value: string }
  | { readonly kind: "reference"; readonly name: string }
  | { readonly kind: "refused"; readonly fault: KeyTextFault };

export const maxKeyLength = 4096;

/**
 * Understands a key as it was typed or pasted: a value, or `$NAME` for an environment variable.
 *
 * What cannot travel in a header, or is no single key, is refused here, at every entrance, so that it cannot become a
 * connection error months later. No vendor's prefix is checked: formats change.
 */
export function readKeyText(raw: string): ReadKeyText {
  const { text, offset } = trimInvisible(raw);
  if (text === "") return refused("empty", "The key is empty");
  if (text.startsWith("$")) return parseReference(text);
  const fault = faultOfKey(text, offset);
  return fault === undefined ? { kind: "literal", value: text } : { kind: "refused", fault };
}

/** Why a value cannot be sent as a key, or undefined. `offset` shifts the positions that are named. */
export function faultOfKey(text: string, offset = 0): KeyTextFault | undefined {
  const { length } = text;
  if (length > maxKeyLength) {
    const message = `The key has ${length} characters; ${maxKeyLength} are the most`;
    return { code: "key_too_long", message, params: { max: maxKeyLength, length } };
  }
  if (looksMasked(text)) return { code: "key_masked", message: "This looks like a masked value: paste the key itself" };
  const index = text.search(/[^\x21-\x7e]/);
  if (index >= 0) {
    const at = offset + index + 1;
    const { code, name } = characterAt(text, index);
    return { code, message: `${name} at position ${at}: a key has none inside`, params: { at } };
  }
  if (text.includes(",")) {
    const message = "There is a comma in it, as in a list of keys: add several keys with the import";
    return { code: "key_comma", message };
  }
  if (/^(["'`]).*\1$/.test(text)) {
    return { code: "key_quotes", message: "There are quotes around it: paste the key without them" };
  }
  return undefined;
}

const nameOfVariable = /^\$[A-Za-z_][A-Za-z0-9_]*$/;

function parseReference(text: string): ReadKeyText {
  if (nameOfVariable.test(text)) return { kind: "reference", name: text.slice(1) };
  if (text === "$")
    return refused("variable_no_name", "There is no name after `$`: write `$NAME` for an environment variable");
  if (text.startsWith("${")) {
    return refused("variable_braces", "Write the environment variable without braces: `$NAME`, not `${NAME}`");
  }
  if (text.includes("$", 1)) {
    return refused("variable_many", "One environment variable makes one key: write a single `$NAME`");
  }
  return refused(
    "variable_name",
    "What follows `$` is no name of an environment variable: write `$NAME` with letters, digits and underscores, " +
      "no digit first",
  );
}

/**
 * Dots, bullets or stars in a row stand where a page hid a key; so does our own mask (`sk-…9f2c`). U+2022, U+25CF,
 * U+2217, U+FF0A and the like are what dashboards use.
 */
function looksMasked(text: string): boolean {
  return /[\u2022\u2026\u25cf\u25e6\u2219\u2217\u22c5\uff0a\u2027\u30fb\u00b7]|\*{3}|\.{3}/.test(text);
}

/** White space of all kinds (NBSP too), the byte order mark and characters of no width. */
const invisibleAround = /^[\s\u200b-\u200d\u2060\ufeff]+|[\s\u200b-\u200d\u2060\ufeff]+$/g;

/** `raw` without what surrounds it unseen; `offset` is how many characters went at the front. */
export function trimInvisible(raw: string): { readonly text: string; readonly offset: number } {
  const text = raw.replace(invisibleAround, "");
  return { text, offset: text === "" ? 0 : raw.indexOf(text) };
}

function characterAt(text: string, index: number): { readonly code: KeyFault; readonly name: string } {
  const point = text.codePointAt(index) ?? 0;
  if (point === 0x0a || point === 0x0d) return { code: "key_line_break", name: "There is a line break" };
  if (/\s/u.test(String.fromCodePoint(point))) return { code: "key_white_space", name: "There is white space" };
  if (point < 0x20 || point === 0x7f) return { code: "key_control_character", name: "There is a control character" };
  const hex = point.toString(16).toUpperCase().padStart(4, "0");
  return { code: "key_character", name: `There is a character that cannot be sent (U+${hex})` };
}

function refused(code: KeyFault, message: string): ReadKeyText {
  return { kind: "refused", fault: { code, message } };
}

/** What the value of an environment variable comes to. Messages hold no part of it. */
export type ReadVariable =
  | { readonly kind: "resolved"; readonly value: string }
  | { readonly kind: "unset" | "empty" | "unsendable"; readonly message: string };

/** One pair of quotes around a value. Docker's --env-file and many shells' own files leave them on. */
export const quotesAround: RegExp = /^(["'])(.*)\1$/s;

/** What the raw value of a variable comes to: cleaned as a pasted key is, or why it cannot be sent. */
export function readVariable(name: string, raw: string | undefined): ReadVariable {
  if (raw === undefined) return { kind: "unset", message: `The environment variable ${name} is not set` };
  const value = trimInvisible(trimInvisible(raw).text.replace(quotesAround, "$2")).text;
  if (value === "") return { kind: "empty", message: `The environment variable ${name} is empty` };
  const problem = value.startsWith("$") ? "It is a reference itself and was not expanded" : faultOfKey(value)?.message;
  if (problem === undefined) return { kind: "resolved", value };
  return { kind: "unsendable", message: `The environment variable ${name} holds no key that can be sent. ${problem}` };
}
