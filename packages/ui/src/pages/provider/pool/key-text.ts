/** Why a text cannot be a key, as far as a page can tell; undefined if it can. The gateway judges in the end. */
export type KeyTextFault = "missing" | "name" | "masked" | "quotes" | "comma" | "inside";

/** White space of all kinds, the byte order mark and characters of no width, which come along with what is pasted. */
const around = /^[\s\u200b\u2060\ufeff]+|[\s\u200b\u2060\ufeff]+$/g;

export function trimKeyText(raw: string): string {
  return raw.replace(around, "");
}

/** The name in `$NAME`; undefined for a key's own value, and for what is no name. */
export function variableNameOf(raw: string): string | undefined {
  return /^\$([A-Za-z_][A-Za-z0-9_]*)$/.exec(trimKeyText(raw))?.[1];
}

export function faultOfKeyText(raw: string): KeyTextFault | undefined {
  const text = trimKeyText(raw);
  if (text === "") return "missing";
  if (text.startsWith("$")) return variableNameOf(text) === undefined ? "name" : undefined;
  // Where it is kept: a file, or the keychain. What of it is right is known there.
  if (/^(file|keychain):/.test(text)) return undefined;
  if (/[\u2022\u2026\u25cf\u2219\u00b7]|\*{3}|\.{3}/.test(text)) return "masked";
  if (/^(["'`]).*\1$/.test(text)) return "quotes";
  if (/[^\x21-\x7e]/.test(text)) return "inside";
  return text.includes(",") ? "comma" : undefined;
}
