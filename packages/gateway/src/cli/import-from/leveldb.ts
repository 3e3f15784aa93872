import { uncompressSnappy } from "./snappy.ts";

/** One version of one key. The highest sequence is the newest. */
export interface LevelDbRecord {
  readonly key: Buffer;
  /** undefined: deleted */
  readonly value: Buffer | undefined;
  readonly sequence: bigint;
}

/**
 * All versions of all keys in a file of a LevelDB database: a log (`.log`) or a table (`.ldb`, of old `.sst`).
 *
 * Which files are still in use is written in the manifest. That is not looked at: what is not in use any more is older than what
 * is, and loses to it by its sequence.
 *
 * @throws Error for what is damaged, or cut short
 * @see https://github.com/google/leveldb/blob/main/doc/log_format.md, doc/table_format.md
 */
export function levelDbRecords(name: string, bytes: Buffer): Iterable<LevelDbRecord> {
  if (name.endsWith(".log")) return recordsOfLog(bytes);
  return /\.(ldb|sst)$/.test(name) ? recordsOfTable(bytes) : [];
}

const blockBytes = 32_768;
const headBytes = 7;
const fragment = { full: 1, first: 2, middle: 3, last: 4 } as const;

function* recordsOfLog(bytes: Buffer): Iterable<LevelDbRecord> {
  let begun: Buffer[] = [];
  for (let at = 0; at + headBytes <= bytes.length;) {
    const rest = blockBytes - (at % blockBytes);
    const length = bytes.readUInt16LE(at + 4);
    const type = bytes[at + 6];
    // A block ends with zeros where no head has room; a log of the system's own making may as well.
    if (rest < headBytes || type === 0) {
      at += rest;
      continue;
    }
    // What was being written when the program ended is no record yet.
    if (at + headBytes + length > bytes.length) return;
    const data = bytes.subarray(at + headBytes, at + headBytes + length);
    at += headBytes + length;
    if (type === fragment.full || type === fragment.first) begun = [];
    begun.push(data);
    if (type === fragment.full || type === fragment.last) yield* recordsOfBatch(Buffer.concat(begun));
  }
}

/** What is written at once: the sequence of the first, how many, and each with its kind. */
function* recordsOfBatch(batch: Buffer): Iterable<LevelDbRecord> {
  const reader = new Reader(batch);
  let sequence = reader.take(8).readBigUInt64LE();
  for (let count = reader.take(4).readUInt32LE(); count > 0; count -= 1, sequence += 1n) {
    const isPut = reader.take(1)[0] === 1;
    const key = reader.take(reader.varint());
    yield { key, value: isPut ? reader.take(reader.varint()) : undefined, sequence };
  }
}

const footerBytes = 48;
const tableMagic = 0xdb4775248b80fb57n;

function* recordsOfTable(bytes: Buffer): Iterable<LevelDbRecord> {
  const footer = bytes.subarray(-footerBytes);
  if (footer.length < footerBytes || footer.readBigUInt64LE(footerBytes - 8) !== tableMagic) {
    throw new Error("a table has no end");
  }
  const handles = new Reader(footer);
  handleOf(handles);
  for (const [, block] of entriesOf(blockAt(bytes, handleOf(handles)))) {
    for (const [key, value] of entriesOf(blockAt(bytes, handleOf(new Reader(block))))) {
      const trailer = key.readBigUInt64LE(key.length - 8);
      const isPut = (trailer & 0xffn) === 1n;
      yield { key: key.subarray(0, -8), value: isPut ? value : undefined, sequence: trailer >> 8n };
    }
  }
}

/** Where a block is. */
interface Handle {
  readonly offset: number;
  readonly size: number;
}

function handleOf(reader: Reader): Handle {
  const offset = reader.varint();
  return { offset, size: reader.varint() };
}

function blockAt(bytes: Buffer, { offset, size }: Handle): Buffer {
  const reader = new Reader(bytes.subarray(offset));
  const content = reader.take(size);
  const compression = reader.take(1)[0];
  if (compression === 0) return content;
  if (compression === 1) return uncompressSnappy(content);
  throw new Error(`a block is compressed in a way that is not known here (${compression})`);
}

/** A key says how much of the one before it it begins with. Behind them stand the places where that is nothing, and how many. */
function* entriesOf(block: Buffer): Iterable<readonly [key: Buffer, value: Buffer]> {
  const restarts = block.readUInt32LE(block.length - 4);
  const reader = new Reader(block.subarray(0, block.length - 4 * (restarts + 1)));
  let key: Buffer = Buffer.alloc(0);
  while (!reader.isAtEnd()) {
    const shared = reader.varint();
    const own = reader.varint();
    const length = reader.varint();
    key = Buffer.concat([key.subarray(0, shared), reader.take(own)]);
    yield [key, reader.take(length)];
  }
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new Error("a record ends too early");
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  /** Seven bits a byte, the lowest first; up to 2^53. */
  varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 53; scale *= 128) {
      const byte = this.take(1)[0] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new Error("a number has no end");
  }
}
