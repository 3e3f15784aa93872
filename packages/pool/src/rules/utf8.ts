const replacement = 0xfffd;
/** Code units turned into text at a time; the limit is what a call may take as arguments. */
const batch = 4096;

/**
 * The text of UTF-8 bytes; what is no UTF-8 becomes U+FFFD, byte by byte. For small pieces: the rules have no TextDecoder.
 *
 * @param from first byte
 * @param to   end, exclusive
 */
export function decodeUtf8(bytes: Uint8Array, from: number, to: number): string {
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
