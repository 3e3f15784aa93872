import { asciiBytes, decodeAscii } from "../rules/utf8.ts";

const quote = 0x22;
const backslash = 0x5c;

interface Name {
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** By the very sets that callers ask with, which are few and last. */
const namesOf = new WeakMap<ReadonlySet<string>, readonly Name[]>();

/**
 * Reads a few top-level fields of a JSON object without parsing the rest.
 *
 * A chat request is a short head and a long history; parsing 100 KB to learn one id costs more than proxying it. Strings
 * are passed over by a native search for their closing quote, nested values by counting brackets.
 *
 * @param wanted names of fields, all ASCII; a set that is used again is quicker than a new one. A repeated field counts as it
 *   first came
 * @param maxValueBytes a longer value is passed over as if it were absent
 * @returns the raw JSON text of each field found, its bytes read as Latin-1 (ids and names are ASCII; other text still compares equal); what is
 *   not a JSON object gives an empty map
 */
export function scanFields(
  bytes: Uint8Array,
  wanted: ReadonlySet<string>,
  maxValueBytes = 16_384,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const names = listNames(wanted);
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== 0x7b) return found;
  at = skipSpace(bytes, at + 1);
  while (bytes[at] === quote && found.size < wanted.size) {
    const nameEnd = stringEnd(bytes, at);
    if (nameEnd === -1) return found;
    const name = nameAt(names, bytes, at + 1, nameEnd - 1);
    at = skipSpace(bytes, nameEnd);
    if (bytes[at] !== 0x3a) return found;
    const valueStart = skipSpace(bytes, at + 1);
    const valueEnd = skipValue(bytes, valueStart);
    if (valueEnd === -1) return found;
    if (name !== undefined && !found.has(name) && valueEnd - valueStart <= maxValueBytes) {
      found.set(name, latin1(bytes, valueStart, valueEnd));
    }
    at = skipSpace(bytes, valueEnd);
    if (bytes[at] !== 0x2c) return found;
    at = skipSpace(bytes, at + 1);
  }
  return found;
}

/** The string that a raw JSON value is; undefined if it is none. */
export function stringValue(raw: string | undefined): string | undefined {
  const value = raw === undefined || !raw.startsWith('"') ? undefined : jsonValue(raw);
  return typeof value === "string" ? value : undefined;
}

/** A raw JSON value parsed; undefined if it is not valid. */
export function jsonValue(raw: string | undefined): unknown {
  if (raw === undefined) return undefined;
  try {
    return JSON.parse(raw);
  } catch {
    // The provider will say what is wrong with it; for us it names nothing.
    return undefined;
  }
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/** The index behind the closing quote of the string that opens at `start`; -1 if it does not end. */
function stringEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    at = bytes.indexOf(quote, at + 1);
    if (at === -1) return -1;
    let slashes = 0;
    while (bytes[at - 1 - slashes] === backslash) slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
}

/** The index behind the value that begins at `start`; -1 if it does not end. */
function skipValue(bytes: Uint8Array, start: number): number {
  const first = bytes[start];
  if (first === quote) return stringEnd(bytes, start);
  if (first === 0x7b || first === 0x5b) return skipNested(bytes, start);
  let at = start;
  for (let byte = bytes[at]; byte !== undefined && byte !== 0x2c && byte !== 0x7d && byte !== 0x5d; byte = bytes[at])
    at++;
  return at === start ? -1 : at;
}

function skipNested(bytes: Uint8Array, start: number): number {
  let depth = 0;
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === quote) {
      at = stringEnd(bytes, at);
      if (at === -1) return -1;
      continue;
    }
    if (byte === 0x7b || byte === 0x5b) depth++;
    else if ((byte === 0x7d || byte === 0x5d) && --depth === 0) return at + 1;
    at++;
  }
  return -1;
}

function listNames(wanted: ReadonlySet<string>): readonly Name[] {
  const known = namesOf.get(wanted);
  if (known !== undefined) return known;
  const names = Array.from(wanted, (text) => ({ text, bytes: asciiBytes(text) }));
  namesOf.set(wanted, names);
  return names;
}

function nameAt(names: readonly Name[], bytes: Uint8Array, start: number, end: number): string | undefined {
  for (let index = 0; index < names.length; index++) {
    const name = names[index];
    if (name?.bytes.length === end - start && isAt(bytes, start, name.bytes)) return name.text;
  }
  return undefined;
}

function isAt(bytes: Uint8Array, start: number, word: Uint8Array): boolean {
  for (let offset = 0; offset < word.length; offset++) {
    if (bytes[start + offset] !== word[offset]) return false;
  }
  return true;
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  const ascii = decodeAscii(bytes, start, end);
  if (ascii !== undefined) return ascii;
  let text = "";
  for (let at = start; at < end; at += 4_096) {
    text += String.fromCharCode(...bytes.subarray(at, Math.min(end, at + 4_096)));
  }
  return text;
}
