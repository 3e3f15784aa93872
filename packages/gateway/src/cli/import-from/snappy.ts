/**
 * Uncompresses a block as Snappy writes it.
 *
 * @throws Error for what is damaged
 * @see https://github.com/google/snappy/blob/main/format_description.txt
 */
export function uncompressSnappy(block: Uint8Array): Buffer {
  let at = 0;
  const number = (bytes: number): number => {
    let value = 0;
    for (let index = 0; index < bytes; index += 1) value += (block[at + index] ?? 0) * 2 ** (8 * index);
    at += bytes;
    return value;
  };
  const length = (): number => {
    for (let value = 0, scale = 1; ; scale *= 128) {
      const byte = number(1);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80 || scale > 2 ** 28) return value;
    }
  };
  const whole = Buffer.alloc(Math.min(length(), mostBytes));
  let end = 0;
  while (at < block.length) {
    const tag = number(1);
    if ((tag & 3) === 0) {
      const short = tag >> 2;
      const size = 1 + (short < 60 ? short : number(short - 59));
      if (at + size > block.length || end + size > whole.length) throw damaged();
      whole.set(block.subarray(at, at + size), end);
      at += size;
      end += size;
      continue;
    }
    const isNear = (tag & 3) === 1;
    const size = isNear ? 4 + ((tag >> 2) & 7) : 1 + (tag >> 2);
    const back = isNear ? (tag >> 5) * 256 + number(1) : number((tag & 3) === 2 ? 2 : 4);
    if (back === 0 || back > end || end + size > whole.length) throw damaged();
    // What is copied may reach into what it makes: byte by byte.
    for (let index = 0; index < size; index += 1, end += 1) whole[end] = whole[end - back] ?? 0;
  }
  if (end !== whole.length) throw damaged();
  return whole;
}

/** Far more than a block of any database has. */
const mostBytes = 64 * 1_048_576;

function damaged(): Error {
  return new Error("a block cannot be uncompressed");
}
