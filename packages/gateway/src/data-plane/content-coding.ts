import { brotliDecompressSync, constants, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";

/** What a refusal may unpack to: enough for any error object, too little for a bomb. */
const longestText = 256 * 1024;

/**
 * The beginning of a body as text, its content coding undone on this copy.
 *
 * @param bytes may be cut anywhere
 * @returns "" for a coding that is not known or bytes that do not unpack: such an answer is judged by status and headers
 */
export function decodeBeginning(bytes: Buffer, contentEncoding: string | undefined): string {
  let decoded = bytes;
  // Codings are undone in the reverse order of their application (RFC 9110 §8.4).
  for (const coding of (contentEncoding ?? "").split(",").reverse()) {
    const undone = undo(decoded, coding.trim().toLowerCase());
    if (undone === undefined) return "";
    decoded = undone;
  }
  return decoded.toString("utf8");
}

function undo(bytes: Buffer, coding: string): Buffer | undefined {
  const options = { maxOutputLength: longestText, finishFlush: constants.Z_SYNC_FLUSH };
  try {
    switch (coding) {
      case "":
      case "identity":
        return bytes;
      case "gzip":
      case "x-gzip":
        return gunzipSync(bytes, options);
      case "deflate":
        return inflateSync(bytes, options);
      case "br":
        return brotliDecompressSync(bytes, {
          maxOutputLength: longestText,
          finishFlush: constants.BROTLI_OPERATION_FLUSH,
        });
      case "zstd":
        return zstdDecompressSync(bytes, { maxOutputLength: longestText, finishFlush: constants.ZSTD_e_flush });
      default:
        return undefined;
    }
  } catch {
    // Cut, damaged or far too large: what it says cannot be told, and that is what "" stands for.
    return undefined;
  }
}
