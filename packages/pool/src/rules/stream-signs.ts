import { terminalTypes } from "./stream-dialects.ts";
import { signs } from "./stream-opening.ts";
import { asciiBytes } from "./utf8.ts";

const quote = 0x22;
const space = 0x20;
const lineFeed = 0x0a;
const letterD = 0x64;
const letterE = 0x65;

interface Word {
  readonly bytes: Uint8Array;
  readonly sign: number;
}

/** Words by their first letter. */
type WordTable = readonly (readonly Word[] | undefined)[];

const typeSigns = terminalTypes().map(({ type, isError }) => [type, isError ? signs.error : signs.end] as const);

const afterQuote: WordTable = tableOf([
  ['error"', signs.error],
  ['ERROR"', signs.error],
  ['done":true', signs.end],
  ['done": true', signs.end],
  ['finish_reason":"', signs.end],
  ['finish_reason": "', signs.end],
  ['finishReason":"', signs.end],
  ['finishReason": "', signs.end],
  // As a quoted word "done" is Ollama's field; as a type it comes in an `event` line.
  ...typeSigns.filter(([type]) => type !== "done").map(([type, sign]) => [`${type}"`, sign] as const),
]);

/** 1 for each pair of bytes with which a word after a quote begins: nearly every quote is passed over by this alone. */
const beginsWord = new Uint8Array(65_536);
for (const words of afterQuote) {
  for (const { bytes } of words ?? []) beginsWord[((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0)] = 1;
}

const names: WordTable = tableOf(
  typeSigns.flatMap(([type, sign]) => [[`${type}\n`, sign] as const, [`${type}\r`, sign] as const]),
);
const eventField = asciiBytes("event:");
const doneData = ["data: [DONE]", "data:[DONE]"].map(asciiBytes);
/** With its blank line, and some room. */
const longestDone = 24;

/**
 * Whether a frame could end its stream or carry an error, judged by a few words in it, without decoding or parsing.
 *
 * In JSON a quote inside a string is escaped, so that a word between two bare quotes is a key or a whole value and never a
 * part of what a model wrote. An error has still to be parsed to be believed; an end is what it looks like.
 */
export function signsOf(bytes: Uint8Array, from: number, to: number): number {
  let found = signOfLines(bytes, from, to);
  for (let at = from; at < to; at++) {
    if (bytes[at] !== quote) continue;
    const pair = ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    if (beginsWord[pair] === 1) found |= signAt(afterQuote, bytes, at + 1, to);
  }
  return found;
}

/** The sign of an `event` line, and of `[DONE]`. */
function signOfLines(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to) {
    if (bytes[at] === letterD && to - at <= longestDone && isDone(bytes, at, to)) return signs.end;
    if (bytes[at] === letterE && startsWith(bytes, at, to, eventField))
      return signOfName(bytes, at + eventField.length, to);
    // The name comes before the data, if at all.
    if (bytes[at] === letterD) return signs.none;
    const lineEnd = bytes.indexOf(lineFeed, at);
    if (lineEnd === -1) return signs.none;
    at = lineEnd + 1;
  }
  return signs.none;
}

function isDone(bytes: Uint8Array, at: number, to: number): boolean {
  return doneData.some((data) => startsWith(bytes, at, to, data));
}

function signOfName(bytes: Uint8Array, at: number, to: number): number {
  return signAt(names, bytes, bytes[at] === space ? at + 1 : at, to);
}

function signAt(table: WordTable, bytes: Uint8Array, at: number, to: number): number {
  const words = table[bytes[at] ?? 0];
  if (words === undefined) return signs.none;
  // Not `for of`: an iterator for each quote of a stream is what this file avoids.
  for (let index = 0; index < words.length; index++) {
    const word = words[index];
    if (word !== undefined && startsWith(bytes, at, to, word.bytes)) return word.sign;
  }
  return signs.none;
}

function startsWith(bytes: Uint8Array, at: number, to: number, word: Uint8Array): boolean {
  if (at + word.length > to) return false;
  for (let offset = 0; offset < word.length; offset++) {
    if (bytes[at + offset] !== word[offset]) return false;
  }
  return true;
}

function tableOf(words: readonly (readonly [text: string, sign: number])[]): WordTable {
  const table: Word[][] = [];
  for (const [text, sign] of words) {
    (table[text.charCodeAt(0)] ??= []).push({ bytes: asciiBytes(text), sign });
  }
  // Without holes, so that looking up a letter stays a plain array access.
  return Array.from({ length: 256 }, (_, letter) => table[letter]);
}
