/** As the Encoding standard has it; every runtime has one, whatever else it lacks. */
declare class TextDecoder {
  constructor(label: "utf-8", options: { readonly fatal?: boolean; readonly ignoreBOM: boolean });
  decode(bytes: Uint8Array, options?: { readonly stream: boolean }): string;
}

const decoder = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenientDecoder = /* @__PURE__ */ new TextDecoder("utf-8", { ignoreBOM: true });
/** Up to here a call of the decoder costs more than putting characters together. */
const shortText = 16;

/**
 * The text of UTF-8 bytes; what is no UTF-8 becomes U+FFFD.
 *
 * @param from first byte
 * @param to   end, exclusive
 */
export function decodeUtf8(bytes: Uint8Array, from: number, to: number): string {
  if (to - from <= shortText) return decodeAscii(bytes, from, to) ?? lenientDecoder.decode(bytes.subarray(from, to));
  try {
    return decoder.decode(bytes.subarray(from, to));
  } catch {
    // Not all of it is UTF-8.
    return lenientDecoder.decode(bytes.subarray(from, to));
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

/** The bytes of a text that has only ASCII in it. */
export function asciiBytes(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Decodes bytes that come in pieces, cut anywhere; what is no UTF-8 becomes U+FFFD. */
export function streamDecoder(): (chunk: Uint8Array) => string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return (chunk) => decoder.decode(chunk, { stream: true });
}
