const backslash = 0x5c;

/** What a letter behind a backslash means where JSON always escapes that. */
const meanings: Uint8Array = new Uint8Array(256);
for (const pair of ['""', "\\\\", "b\b", "f\f", "n\n", "r\r", "t\t"]) meanings[pair.charCodeAt(0)] = pair.charCodeAt(1);

/** What a hexadecimal digit is worth; -1 for what is none. */
const hexDigits: Int8Array = new Int8Array(256).fill(-1);
for (let i = 0; i < 22; i++) hexDigits["0123456789abcdefABCDEF".charCodeAt(i)] = i < 16 ? i : i - 6;

/** What a letter behind a backslash means where JSON always escapes that; 0 for others. */
export function meaningOf(letter: number): number {
  return meanings[letter] ?? 0;
}

/** Whether a string of JSON cannot hold this but behind a backslash. */
export function isAlwaysEscaped(point: number): boolean {
  return point < 0x20 || point === 0x22 || point === backslash;
}

/**
 * The code point that an escape stands for, half of a surrogate pair if it has no other half; -1 if it is no escape.
 *
 * @param at the index behind its backslash
 */
export function escapedPoint(bytes: Uint8Array, at: number): number {
  const letter = bytes[at] ?? 0;
  if (letter !== 0x75) return letter === 0x2f ? letter : meaningOf(letter) || -1;
  const unit = hexUnit(bytes, at + 1);
  if ((unit & 0xfc00) !== 0xd800 || unit < 0) return Math.max(unit, -1);
  const second = bytes[at + 5] === backslash && bytes[at + 6] === 0x75 ? hexUnit(bytes, at + 7) : -1;
  const isPair = second >= 0xdc00 && second <= 0xdfff;
  return isPair ? 0x10000 + ((unit & 0x3ff) << 10) + (second & 0x3ff) : unit;
}

/**
 * Writes the UTF-8 of a code point, of half of a surrogate pair as if it were one.
 *
 * @param at where to; there must be room for four bytes
 * @returns the index behind it
 */
export function writeUtf8(into: Uint8Array, at: number, point: number): number {
  if (point < 0x80) {
    into[at] = point;
    return at + 1;
  }
  if (point < 0x800) {
    into[at] = 0xc0 | (point >> 6);
    into[at + 1] = 0x80 | (point & 0x3f);
    return at + 2;
  }
  if (point < 0x10000) {
    into[at] = 0xe0 | (point >> 12);
    into[at + 1] = 0x80 | ((point >> 6) & 0x3f);
    into[at + 2] = 0x80 | (point & 0x3f);
    return at + 3;
  }
  into[at] = 0xf0 | (point >> 18);
  into[at + 1] = 0x80 | ((point >> 12) & 0x3f);
  into[at + 2] = 0x80 | ((point >> 6) & 0x3f);
  into[at + 3] = 0x80 | (point & 0x3f);
  return at + 4;
}

/** The number that four hexadecimal digits are; negative if they are none. */
function hexUnit(bytes: Uint8Array, at: number): number {
  return (
    ((hexDigits[bytes[at] ?? 0] ?? -1) << 12) |
    ((hexDigits[bytes[at + 1] ?? 0] ?? -1) << 8) |
    ((hexDigits[bytes[at + 2] ?? 0] ?? -1) << 4) |
    (hexDigits[bytes[at + 3] ?? 0] ?? -1)
  );
}
