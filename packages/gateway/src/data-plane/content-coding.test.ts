import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { codingsOf, decodeBeginning } from "./content-coding.ts";

const text = '{"error": {"message": "키가 없습니다"}}';
const long = Array.from({ length: 100_000 }, (_, i) => `line ${i}\n`).join("");

/** At its default it takes seconds. */
function packWithBrotli(plain: string | Buffer): Buffer {
  return brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
}

const codings = [
  ["gzip", gzipSync],
  ["x-gzip", gzipSync],
  ["deflate", deflateSync],
  ["Deflate", deflateRawSync],
  ["br", packWithBrotli],
  ["zstd", zstdCompressSync],
] as const;

describe("the beginning of a body", () => {
  it.each(codings)("in %s is read", (coding, encode) => {
    expect(decodeBeginning(encode(text), coding)).toBe(text);
  });

  it.each(codings)("in %s that unpacks to more than is looked at is read as far as that", (coding, encode) => {
    const read = decodeBeginning(encode(long), coding);

    expect(read.length).toBeGreaterThan(10_000);
    expect(long.startsWith(read)).toBe(true);
  });

  it.each(codings)("in %s that is cut is read up to the cut", (coding, encode) => {
    const bytes = encode(long);
    const read = decodeBeginning(bytes.subarray(0, bytes.length >> 1), coding);

    expect(read.length).toBeGreaterThan(1_000);
    expect(long.startsWith(read)).toBe(true);
  });

  it("in several codings is read, the last first", () => {
    expect(decodeBeginning(gzipSync(text), "gzip, identity")).toBe(text);
    expect(decodeBeginning(brotliCompressSync(gzipSync(text)), "gzip, br")).toBe(text);
    expect(codingsOf("GZIP , identity,, br")).toEqual(["gzip", "br"]);
    expect(decodeBeginning(Buffer.concat([zstdCompressSync("one "), zstdCompressSync("two")]), "zstd")).toBe("one two");
  });

  it("that is damaged, or in a coding that nobody knows, is nothing", () => {
    expect(decodeBeginning(Buffer.from("no gzip"), "gzip")).toBe("");
    expect(decodeBeginning(Buffer.from(text), "rot13")).toBe("");
  });

  it("that is a bomb is not unpacked", () => {
    const started = performance.now();
    expect(decodeBeginning(gzipSync(Buffer.alloc(200_000_000)), "gzip").length).toBeLessThanOrEqual(256 * 1024);
    // Real time, generously: to unpack it whole takes half a second and more.
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
