const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

/** Bytes from a source fit for secrets. */
export type RandomBytes = (size: number) => Uint8Array;

/** Lower-case base32 (RFC 4648 §6) of as many random characters, 5 bits each. */
export function randomText(characters: number, random: RandomBytes): string {
  return Array.from(random(characters), (byte) => alphabet[byte & 31]).join("");
}

export type IdPrefix = "prv" | "key" | "tok" | "whk" | "msg";

/** Makes ids of 100 random bits: `key_…`. */
export function createIdSource(random: RandomBytes): (prefix: IdPrefix) => string {
  return (prefix) => `${prefix}_${randomText(20, random)}`;
}
