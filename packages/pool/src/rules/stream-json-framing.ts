import { eventBytes, StreamBuffer } from "./stream-buffer.ts";
import type { Frame } from "./stream-framing.ts";
import type { ObjectFramer, ObjectFramerOptions } from "./stream-opening.ts";
import { decodeUtf8 } from "./utf8.ts";

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const space = 0x20;
/** First letter of `null`, and of no other value. */
const n = 0x6e;

/** A longer key is none that anybody asks for. */
const longestKey = 32;

/**
 * The objects of a JSON text: a single one, one a line, or the elements of an array; the first bracket tells which.
 *
 * It counts brackets outside strings and checks nothing else: what is no JSON has no frames.
 */
export class JsonFramer implements ObjectFramer {
  readonly #options: ObjectFramerOptions<Frame>;
  readonly #kept = new StreamBuffer();
  readonly #key = new Uint8Array(longestKey);
  #keyLength = 0;
  #isHandedOn = false;
  #depth = 0;
  /** The depth at which the objects lie; -1 before the first bracket. */
  #base = -1;
  #isInString = false;
  #isEscaped = false;
  #awaitsValue = false;
  #isStopped = false;
  /** Where in the chunk the bytes of the open object begin that are not yet kept. */
  #from = 0;

  constructor(options: ObjectFramerOptions<Frame>) {
    this.#options = options;
  }

  get isArray(): boolean {
    return this.#base === 1;
  }

  get isOpen(): boolean {
    return this.#depth > 0;
  }

  push(chunk: Uint8Array): void {
    this.#from = 0;
    for (let at = 0; at < chunk.length && !this.#isStopped; at++) {
      if (this.#isInString) at = this.#inString(at, chunk);
      else if ((chunk[at] ?? 0) > space) this.#outside(chunk[at] ?? 0, at, chunk);
    }
    if (this.#isStopped || this.#base === -1 || this.#depth <= this.#base) return;
    this.#kept.append(chunk, this.#from, chunk.length);
    if (this.#kept.isCut) this.#handOn();
  }

  stop(): void {
    this.#isStopped = true;
  }

  end(): void {
    // An object that was not closed was cut off; the transport has seen more of that than these bytes tell.
  }

  /** @returns where the last byte is that was read */
  #inString(from: number, chunk: Uint8Array): number {
    if (!this.#isEscaped && this.#keyLength === longestKey) return this.#passString(from, chunk);
    const byte = chunk[from] ?? 0;
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) this.#isInString = false;
    else this.#key[this.#keyLength++] = byte;
    return from;
  }

  /** Of a string that is none of the keys only the end matters. */
  #passString(from: number, chunk: Uint8Array): number {
    for (let at = chunk.indexOf(quote, from); at !== -1; at = chunk.indexOf(quote, at + 1)) {
      if (slashesBefore(chunk, at, from) % 2 === 1) continue;
      this.#isInString = false;
      return at;
    }
    this.#isEscaped = slashesBefore(chunk, chunk.length, from) % 2 === 1;
    return chunk.length - 1;
  }

  #outside(byte: number, at: number, chunk: Uint8Array): void {
    if (this.#awaitsValue) this.#valueBegins(byte);
    if (byte === quote) {
      this.#isInString = true;
      // Only the strings of the object's own level can be its keys.
      this.#keyLength = this.#depth === this.#base + 1 ? 0 : longestKey;
    } else if (byte === colon) this.#awaitsValue = this.#depth === this.#base + 1;
    else if (byte === openBrace || byte === openBracket) this.#open(byte, at);
    else if (byte === closeBrace || byte === closeBracket) this.#close(at, chunk);
  }

  #valueBegins(byte: number): void {
    this.#awaitsValue = false;
    if (byte !== n) this.#options.onField(decodeUtf8(this.#key, 0, this.#keyLength));
  }

  #open(byte: number, at: number): void {
    if (this.#base === -1) this.#base = byte === openBracket ? 1 : 0;
    if (this.#depth === this.#base) this.#from = at;
    this.#depth++;
  }

  #close(at: number, chunk: Uint8Array): void {
    if (this.#depth === 0) return;
    this.#depth--;
    if (this.#depth !== this.#base) return;
    if (this.#kept.length > 0) {
      this.#kept.append(chunk, this.#from, at + 1);
      this.#handOn();
      this.#kept.clear();
    } else {
      // It lies in this chunk, and need not be copied.
      const [from, end] = [this.#from, at + 1];
      this.#options.onFrame({
        bytes: chunk,
        from,
        to: Math.min(end, from + eventBytes),
        isWhole: end - from <= eventBytes,
      });
    }
    this.#isHandedOn = false;
  }

  #handOn(): void {
    if (this.#isHandedOn) return;
    this.#isHandedOn = true;
    this.#options.onFrame(this.#kept.frame());
  }
}

/** How many backslashes stand directly before a place. */
function slashesBefore(chunk: Uint8Array, at: number, from: number): number {
  let slashes = 0;
  while (at - 1 - slashes >= from && chunk[at - 1 - slashes] === backslash) slashes++;
  return slashes;
}
