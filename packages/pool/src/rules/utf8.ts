/** As the Encoding standard has it; every runtime has one, whatever else it lacks. */
declare class TextDecoder {
  constructor(label: "utf-8", options: { readonly fatal: boolean; readonly ignoreBOM: boolean });
  decode(bytes: Uint8Array): string;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Up to here a call of the decoder costs more than putting characters together. */
const shortText = 16;
const replacement = 0xfffd;
/** Code units turned into text at a time; the limit is what a call may take as arguments. */
const batch = 4096;

/**
 * The text of UTF-8 bytes; what is no UTF-8 becomes U+FFFD, byte by byte.
 *
 * @param from first byte
 * @param to   end, exclusive
 */
export function decodeUtf8(bytes: Uint8Array, from: number, to: number): string {
  if (to - from <= shortText) return decodeAscii(bytes, from, to) ?? decodeLeniently(bytes, from, to);
  try {
    return decoder.decode(bytes.subarray(from, to));
  } catch {
    // Not all of it is UTF-8.
    return decodeLeniently(bytes, from, to);
  }
}

/** The text of bytes that are all ASCII; undefined of others. */
export function decodeAscii(bytes: Uint8Array, from: number, to: number): string | undefined {
  if (to - from > shortText) {
    try {
      const text = decoder.decode(bytes.subarray(from, to));
      // Whatever takes more than a byte has fewer code units than bytes.
      return text.length === to - from ? text : undefined;
    } catch {
      // No UTF-8, so no ASCII.
      return undefined;
    }
  }
  let text = "";
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    if (byte >= 0x80) return undefined;
    text += String.fromCharCode(byte);
  }
  return text;
}

function decodeLeniently(bytes: Uint8Array, from: number, to: number): string {
  let text = "";
  let units: number[] = [];
  let at = from;
  while (at < to) {
    const first = bytes[at] ?? 0;
    const length = first < 0x80 ? 1 : sequenceLength(bytes, at, to);
    const point = length === 0 ? replacement : codePoint(bytes, at, length);
    at += Math.max(1, length);
    if (point < 0x10000) units.push(point);
    else units.push(0xd800 + ((point - 0x10000) >> 10), 0xdc00 + ((point - 0x10000) & 0x3ff));
    if (units.length >= batch) {
      text += String.fromCharCode(...units);
      units = [];
    }
  }
  return text + String.fromCharCode(...units);
}

/** How many bytes the character at `at` has; 0 if they are not one. */
function sequenceLength(bytes: Uint8Array, at: number, to: number): number {
  const first = bytes[at] ?? 0;
  const length =
    first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (length === 0 || at + length > to) return 0;
  for (let next = at + 1; next < at + length; next++) {
    if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  const point = codePoint(bytes, at, length);
  const isOverlong = (length === 3 && point < 0x800) || (length === 4 && point < 0x10000);
  const isSurrogate = point >= 0xd800 && point < 0xe000;
  return isOverlong || isSurrogate || point > 0x10ffff ? 0 : length;
}

function codePoint(bytes: Uint8Array, at: number, length: number): number {
  let point = (bytes[at] ?? 0) & (length === 1 ? 0x7f : 0xff >> (length + 1));
  for (let next = at + 1; next < at + length; next++) point = (point << 6) | ((bytes[next] ?? 0) & 0x3f);
  return point;
}

/** The bytes of a text that has only ASCII in it. */
export function asciiBytes(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
