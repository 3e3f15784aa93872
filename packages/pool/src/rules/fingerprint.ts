/** 64 bits that stand for a session or a conversation in memory, as two unsigned 32-bit numbers. */
export interface Fingerprint {
  readonly high: number;
  readonly low: number;
}

/**
 * A 64-bit fingerprint of a text.
 *
 * Not a cryptographic hash: whoever makes two texts collide on purpose only shares a key with himself. With a million
 * sessions the chance that any two of them meet is below one in ten million; the cost would be a shared key.
 *
 * @param seed keeps fingerprints of different tables and processes apart; any 32-bit integer
 */
export function fingerprint(text: string, seed = 0): Fingerprint {
  let a = (0x9e3779b9 ^ seed) | 0;
  let b = (0x7f4a7c15 ^ Math.imul(seed, 0x85ebca6b)) | 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x2c1b3c6d);
    a = (a << 13) | (a >>> 19);
    b = Math.imul(b ^ (unit + i), 0x297a2d39);
    b = (b << 17) | (b >>> 15);
  }
  a = avalanche(a ^ text.length ^ b);
  b = avalanche(b ^ a);
  return { high: a >>> 0, low: b >>> 0 };
}

/** Spreads every bit of a 32-bit integer over all of them; no two integers become one. */
export function avalanche(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x7feb352d);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x846ca68b);
  return mixed ^ (mixed >>> 16);
}
