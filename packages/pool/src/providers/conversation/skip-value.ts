const quote = 0x22;
const backslash = 0x5c;

/**
 * Where a JSON value ends, found without reading it: strings by a native search for their closing quote, nested values by
 * counting brackets, at any depth.
 *
 * @returns the index behind the value that begins at `start`; -1 if it does not end
 */
export function skipValue(bytes: Uint8Array, start: number): number {
  const first = bytes[start];
  if (first === quote) return stringEnd(bytes, start);
  if (first === 0x7b || first === 0x5b) return skipNested(bytes, start);
  let at = start;
  while (isOfScalar(bytes[at])) at++;
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

function isOfScalar(byte: number | undefined): boolean {
  return byte !== undefined && byte > 0x20 && byte !== 0x2c && byte !== 0x7d && byte !== 0x5d && byte !== 0x3a;
}
