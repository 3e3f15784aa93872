import type { Transform } from "node:stream";
import {
  brotliDecompressSync,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from "node:zlib";

/** What a refusal may unpack to: enough for any error object, too little for a bomb. */
const longestText = 256 * 1024;
/** What is this short and unpacks to more is a bomb. */
const leastBytes = 256;

/**
 * The beginning of a body as text, its content coding undone on this copy.
 *
 * @param bytes may be cut anywhere
 * @returns "" for a coding that is not known or bytes that do not unpack: such an answer is judged by status and headers
 */
export function decodeBeginning(bytes: Buffer, contentEncoding: string | undefined): string {
  let decoded = bytes;
  // Codings are undone in the reverse order of their application (RFC 9110 §8.4).
  for (const coding of codingsOf(contentEncoding).reverse()) {
    const undone = undo(decoded, coding);
    if (undone === undefined) return "";
    decoded = undone;
  }
  return decoded.toString("utf8");
}

/** What `content-encoding` says was applied to a body, first to last. */
export function codingsOf(contentEncoding: string | undefined): string[] {
  if (contentEncoding === undefined) return [];
  const codings = contentEncoding.split(",").map((coding) => coding.trim().toLowerCase());
  return codings.filter((coding) => coding !== "" && coding !== "identity");
}

export type Decoder = Transform & {
  /** How much of what it was given has been unpacked. */
  readonly bytesWritten: number;
};

/** @param first the first bytes of the body @returns undefined for a coding that is not known */
export function createDecoder(coding: string, first: Buffer): Decoder | undefined {
  switch (coding) {
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return isZlib(first) ? createInflate() : createInflateRaw();
    case "br":
      return createBrotliDecompress();
    case "zstd":
      return createZstdDecompress();
    default:
      return undefined;
  }
}

/** `deflate` stands for the zlib format, but some send what is inside alone (RFC 9110 §8.4.1.2, RFC 1950 §2.2). */
function isZlib(first: Buffer): boolean {
  const [method = 0, flags = 0] = first;
  return (method & 0x0f) === 8 && (first.length < 2 || (method * 256 + flags) % 31 === 0);
}

function undo(bytes: Buffer, coding: string): Buffer | undefined {
  try {
    return undoWhole(bytes, coding);
  } catch (error) {
    // Longer than what is looked at: less of it will do.
    const isTooLong = error instanceof RangeError && bytes.length > leastBytes;
    return isTooLong ? undo(bytes.subarray(0, bytes.length >> 1), coding) : undefined;
  }
}

/** @throws what zlib throws for bytes that are damaged, or unpack to more than `longestText` */
function undoWhole(bytes: Buffer, coding: string): Buffer | undefined {
  const options = { maxOutputLength: longestText, finishFlush: constants.Z_SYNC_FLUSH };
  switch (coding) {
    case "gzip":
    case "x-gzip":
      return gunzipSync(bytes, options);
    case "deflate":
      return (isZlib(bytes) ? inflateSync : inflateRawSync)(bytes, options);
    case "br":
      return brotliDecompressSync(bytes, {
        maxOutputLength: longestText,
        finishFlush: constants.BROTLI_OPERATION_FLUSH,
      });
    case "zstd":
      return unpackFrames(bytes);
    default:
      return undefined;
  }
}

/** A zstd body may be several frames (RFC 8878 §3.1), of which Node unpacks the first. */
function unpackFrames(bytes: Buffer): Buffer {
  const frames: Buffer[] = [];
  let length = 0;
  for (let at = 0; at < bytes.length && length < longestText;) {
    const options = { maxOutputLength: longestText, finishFlush: constants.ZSTD_e_flush, info: true };
    const { buffer, engine } = zstdDecompressSync(bytes.subarray(at), options) as unknown as Unpacked;
    frames.push(buffer);
    length += buffer.length;
    if (engine.bytesWritten === 0) break;
    at += engine.bytesWritten;
  }
  return Buffer.concat(frames);
}

/** What zlib answers when it is asked for `info`, of which the types do not know. */
interface Unpacked {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}
