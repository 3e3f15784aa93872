import { levelDbRecords } from "./leveldb.ts";

/**
 * What a page put into `localStorage`, out of the files of Chromium (`Local Storage/leveldb`).
 *
 * A key there is `_`, the origin, a zero and the page's own key; texts begin with a byte that says how they are written.
 *
 * @param files the files of that folder, by name
 * @returns the newest value under that key, of whatever origin; undefined if there is none
 * @throws Error for files that are damaged
 */
export function localStorageItem(files: Readonly<Record<string, Uint8Array>>, name: string): string | undefined {
  let newest: { readonly sequence: bigint; readonly value: Buffer | undefined } | undefined;
  for (const [file, bytes] of Object.entries(files)) {
    for (const { key, value, sequence } of levelDbRecords(file, Buffer.from(bytes))) {
      if (newest !== undefined && newest.sequence >= sequence) continue;
      if (pageKeyOf(key) === name) newest = { sequence, value };
    }
  }
  return newest?.value === undefined ? undefined : textOf(newest.value);
}

function pageKeyOf(key: Buffer): string | undefined {
  const zero = key.indexOf(0);
  return key[0] === 0x5f && zero > 0 ? textOf(key.subarray(zero + 1)) : undefined;
}

/** @see https://source.chromium.org components/services/storage/dom_storage/local_storage_impl.cc */
function textOf(bytes: Buffer): string {
  return bytes.subarray(1).toString(bytes[0] === 0 ? "utf16le" : "latin1");
}
