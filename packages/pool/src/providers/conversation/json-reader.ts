import { avalanche } from "../../rules/fingerprint.ts";
import { Lanes } from "./lanes.ts";
import { NumberHash } from "./number-hash.ts";
import { skipValue } from "./skip-value.ts";
import { TextHash } from "./text-hash.ts";

const quote = 0x22;
const deepest = 100;
const arrayKind = 1;
const objectKind = 2;

/**
 * Walks over JSON once and gives every value a hash of what it means: the order of fields, space, escapes and the spelling
 * of numbers make no difference.
 *
 * Results are left in fields instead of being returned, as an object for every value would cost more than its hash. What is
 * not JSON, or nested deeper than a hundred levels, breaks the reader: it then stands behind the end, where nothing more is
 * found and every loop ends.
 */
export class JsonReader {
  /** The hash of the name or value read last, as two 32-bit integers. */
  high = 0;
  low = 0;
  /** Whether the value read last says nothing: null, false, or an empty string, array or object. */
  isEmpty = false;
  readonly #bytes: Uint8Array;
  readonly #text: TextHash;
  readonly #number = new NumberHash();
  readonly #lanes: Lanes[] = [];
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#text = new TextHash(bytes);
  }

  /** Whether all was read, and all of it was JSON. */
  get isAtEnd(): boolean {
    return this.peek() === -1 && this.#at === this.#bytes.length;
  }

  /** The first byte of what comes next; -1 at the end. */
  peek(): number {
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) return -1;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.#at++;
    }
  }

  /** Leaves a hash as that of the value read last. */
  leave(high: number, low: number, isEmpty: boolean): void {
    this.high = high;
    this.low = low;
    this.isEmpty = isEmpty;
  }

  /** Gives up on the body. */
  break(): void {
    this.#at = this.#bytes.length + 1;
  }

  /** Enters an object. @returns whether it has a field, whose name was then read */
  firstField(): boolean {
    return this.#open(0x7b, 0x7d) && this.#fieldName();
  }

  /** @returns whether there is another field, whose name was then read */
  nextField(): boolean {
    return this.#next(0x7d) && this.#fieldName();
  }

  /** Enters an array. @returns whether it has an element */
  firstElement(): boolean {
    return this.#open(0x5b, 0x5d);
  }

  /** @returns whether there is another element */
  nextElement(): boolean {
    return this.#next(0x5d);
  }

  /** Passes over a value, which gets no hash. */
  skip(): void {
    this.peek();
    const end = skipValue(this.#bytes, this.#at);
    if (end === -1) this.break();
    else this.#at = end;
  }

  /** Reads any value. @param depth how many values it stands in */
  value(depth: number): void {
    const first = this.peek();
    if (first === quote) this.#string();
    else if (first === 0x7b) this.#object(depth);
    else if (first === 0x5b) this.#array(depth);
    else if (first === 0x6e) this.#literal("null", 1);
    else if (first === 0x66) this.#literal("false", 2);
    else if (first === 0x74) this.#literal("true", 3);
    else this.#numeral();
  }

  /** What an array or object at this depth adds its hashes up in: only one at a time is being read there. */
  lanes(depth: number, kind: number): Lanes {
    const lanes = this.#lanes[depth] ?? new Lanes();
    this.#lanes[depth] = lanes;
    return lanes.begin(kind);
  }

  /** Gives up if this many levels are too many. @returns whether they are */
  isTooDeep(depth: number): boolean {
    if (depth <= deepest) return false;
    this.break();
    return true;
  }

  #object(depth: number): void {
    if (this.isTooDeep(depth)) return;
    const sum = this.lanes(depth, objectKind);
    let isEmpty = true;
    for (let more = this.firstField(); more; more = this.nextField()) {
      const high = this.high;
      const low = this.low;
      this.value(depth + 1);
      sum.addField(high, low, this.high, this.low);
      isEmpty = false;
    }
    this.leave(sum.high, sum.low, isEmpty);
  }

  #array(depth: number): void {
    if (this.isTooDeep(depth)) return;
    const chain = this.lanes(depth, arrayKind);
    let isEmpty = true;
    for (let more = this.firstElement(); more; more = this.nextElement()) {
      this.value(depth + 1);
      chain.follow(this.high, this.low);
      isEmpty = false;
    }
    this.leave(chain.high, chain.low, isEmpty);
  }

  #string(): void {
    const end = this.#text.read(this.#at + 1);
    if (end === -1) return this.break();
    const isEmpty = end === this.#at + 2;
    this.#at = end;
    this.leave(this.#text.high, this.#text.low, isEmpty);
  }

  #numeral(): void {
    const end = this.#number.read(this.#bytes, this.#at);
    if (end === -1) return this.break();
    this.#at = end;
    this.leave(this.#number.high, this.#number.low, false);
  }

  #literal(word: string, code: number): void {
    for (let i = 0; i < word.length; i++) {
      if (this.#bytes[this.#at + i] !== word.charCodeAt(i)) return this.break();
    }
    this.#at += word.length;
    this.leave(avalanche(code), avalanche(~code), word !== "true");
  }

  #fieldName(): boolean {
    if (this.peek() === quote) {
      this.#string();
      if (this.peek() === 0x3a) {
        this.#at++;
        return true;
      }
    }
    this.break();
    return false;
  }

  #open(bracket: number, closing: number): boolean {
    if (this.peek() !== bracket) {
      this.break();
      return false;
    }
    this.#at++;
    if (this.peek() !== closing) return this.#at < this.#bytes.length;
    this.#at++;
    return false;
  }

  #next(closing: number): boolean {
    const byte = this.peek();
    if (byte !== closing && byte !== 0x2c) this.break();
    else this.#at++;
    return byte === 0x2c;
  }
}
