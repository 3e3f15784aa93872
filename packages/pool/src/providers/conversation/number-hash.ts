import { avalanche } from "../../rules/fingerprint.ts";

const point = 0x2e;
const minus = 0x2d;
const plus = 0x2b;
const zero = 0x30;

/**
 * A 64-bit hash of what a JSON number is worth, however it is written: 1, 1.0 and 10e-1 are one number, 0 and -0 too.
 *
 * The digits are hashed without zeros at either end, together with their distance from the point. No number is made of
 * them, which would cost more and could not tell long ones apart.
 */
export class NumberHash {
  /** The hash of the last number, as two 32-bit integers. */
  high = 0;
  low = 0;
  #power = 0;

  /** @returns the index behind the number that begins at `start`; -1 if there is none */
  read(bytes: Uint8Array, start: number): number {
    const isNegative = bytes[start] === minus;
    const first = isNegative ? start + 1 : start;
    let [digits, mixed, zeros, count, pointAt, at] = [0, 0, 0, 0, -1, first];
    for (let byte = bytes[at]; isDigit(byte) || (byte === point && pointAt === -1); byte = bytes[++at]) {
      if (byte === point) pointAt = at;
      else if (byte === zero) zeros += count === 0 ? 0 : 1;
      else {
        // Zeros count only once it is known that they are not the last ones.
        for (; zeros > 0; zeros--, count++) {
          digits = Math.imul(digits, 10);
          mixed = Math.imul(mixed ^ zero, 0x2c1b3c6d);
        }
        digits = (Math.imul(digits, 10) + byte - zero) | 0;
        mixed = Math.imul(mixed ^ byte, 0x2c1b3c6d);
        count++;
      }
    }
    const wholeEnd = pointAt === -1 ? at : pointAt;
    const hasWhole = wholeEnd === first + 1 || (wholeEnd > first && bytes[first] !== zero);
    if (!hasWhole || pointAt === at - 1) return -1;
    const end = this.#readPower(bytes, at);
    const exponent = this.#power + zeros - (pointAt === -1 ? 0 : at - pointAt - 1);
    const place = count === 0 ? 0 : Math.imul(exponent, 2) + (isNegative ? 1 : 0);
    this.high = avalanche(digits ^ Math.imul(place, 0x85ebca6b));
    this.low = avalanche(((mixed ^ Math.imul(count, 0x297a2d39)) + this.high) | 0);
    return end;
  }

  /** Reads the power of ten, if there is one. @returns the index behind it; -1 if it is none */
  #readPower(bytes: Uint8Array, start: number): number {
    this.#power = 0;
    if (((bytes[start] ?? 0) | 0x20) !== 0x65) return start;
    const sign = bytes[start + 1];
    const first = sign === minus || sign === plus ? start + 2 : start + 1;
    let at = first;
    for (let byte = bytes[at]; byte !== undefined && isDigit(byte); byte = bytes[++at]) {
      this.#power = Math.min(this.#power * 10 + byte - zero, 1e8);
    }
    if (sign === minus) this.#power = -this.#power;
    return at === first ? -1 : at;
  }
}

function isDigit(byte: number | undefined): byte is number {
  return byte !== undefined && byte >= zero && byte <= 0x39;
}
