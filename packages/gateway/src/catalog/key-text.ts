import { Secret } from "@keywheel/pool";
import type { KeySecret } from "../store/store.ts";

/** What a person typed or pasted as a key, once it is understood. */
export type KeyText = Exclude<KeySecret, { kind: "undecryptable" }>;

export const maxKeyLength = 4096;

export type ParsedKeyText =
  | { readonly ok: true; readonly secret: KeyText }
  /** A sentence for the person who typed it. It names positions, never a part of the value. */
  | { readonly ok: false; readonly problem: string };

/**
 * Understands a key as it was typed or pasted: a value, or `$NAME` for an environment variable.
 *
 * What cannot travel in a header, or is no single key, is refused here, at every entrance, so that it cannot become a
 * connection error months later. No vendor's prefix is checked: formats change.
 */
export function parseKeyText(raw: string): ParsedKeyText {
  const { text, offset } = trimInvisible(raw);
  if (text === "") return refused("The key is empty");
  if (text.startsWith("$")) return parseReference(text);
  const problem = problemOfValue(text, offset);
  return problem === undefined ? { ok: true, secret: { kind: "literal", value: new Secret(text) } } : refused(problem);
}

/** Why a value cannot be sent as a key, or undefined. `offset` shifts the positions that are named. */
export function problemOfValue(text: string, offset = 0): string | undefined {
  if (text.length > maxKeyLength) return `The key has ${text.length} characters; ${maxKeyLength} are the most`;
  if (looksMasked(text)) return "This looks like a masked value: paste the key itself";
  const at = text.search(/[^\x21-\x7e]/);
  if (at >= 0) return `${nameOfCharacter(text, at)} at position ${offset + at + 1}: a key has none inside`;
  if (text.includes(",")) return "There is a comma in it, as in a list of keys: add several keys with the import";
  if (/^(["'`]).*\1$/.test(text)) return "There are quotes around it: paste the key without them";
  return undefined;
}

const nameOfVariable = /^\$[A-Za-z_][A-Za-z0-9_]*$/;

function parseReference(text: string): ParsedKeyText {
  if (nameOfVariable.test(text)) return { ok: true, secret: { kind: "reference", name: text.slice(1) } };
  if (text === "$") return refused("There is no name after `$`: write `$NAME` for an environment variable");
  if (text.startsWith("${")) return refused("Write the environment variable without braces: `$NAME`, not `${NAME}`");
  if (text.includes("$", 1)) return refused("One environment variable makes one key: write a single `$NAME`");
  return refused(
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

function nameOfCharacter(text: string, at: number): string {
  const code = text.codePointAt(at) ?? 0;
  if (code === 0x0a || code === 0x0d) return "There is a line break";
  if (/\s/u.test(String.fromCodePoint(code))) return "There is white space";
  if (code < 0x20 || code === 0x7f) return "There is a control character";
  return `There is a character that cannot be sent (U+${code.toString(16).toUpperCase().padStart(4, "0")})`;
}

function refused(problem: string): ParsedKeyText {
  return { ok: false, problem };
}

/** How a key is shown: masked, a reference as it stands. */
export function showSecret(secret: KeySecret): string {
  switch (secret.kind) {
    case "literal":
      return secret.value.masked;
    case "reference":
      return `$${secret.name}`;
    case "undecryptable":
      return secret.masked;
  }
}
