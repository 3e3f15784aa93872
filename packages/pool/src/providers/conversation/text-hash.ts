import { escapedPoint, isAlwaysEscaped, meaningOf, writeUtf8 } from "./escapes.ts";
import { highSeed, lowSeed } from "./lanes.ts";

const quote = 0x22;
const backslash = 0x5c;
/** The end of a run that is longer than this is found by a native search. */
const shortRunBytes = 96;
const meantBytes = 2048;
/** Where text is written down as it is meant. One for all, as nothing in it outlives a call and every body would pay for its own. */
const meant = new Uint8Array(meantBytes);
const meantView = new DataView(meant.buffer);

/**
 * A 64-bit hash of the UTF-8 bytes that a JSON string stands for, whichever of them were escaped.
 *
 * A history is nearly all text, so that this is where the time goes: text is taken in eight bytes a step. A character that
 * JSON always escapes (below U+0020, quote, backslash) ends the step it falls into, so that after it the steps fit what
 * stands in the body again. Any other escape leaves them shifted until then, which is several times slower.
 */
export class TextHash {
  /** The hash of the last string, as two 32-bit integers. */
  high = 0;
  low = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #a = 0;
  #b = 0;
  #steps = 0;
  /** Bytes that do not fill a step yet, the first one lowest, and how many bits they are: 0 to 56. */
  #first = 0;
  #second = 0;
  #bits = 0;
  /** Where the next quote and the next backslash stand, once searched for; passed by, they are searched for again. */
  #quoteAt = -1;
  #backslashAt = -1;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** @param start the index behind the opening quote. @returns the index behind the closing one; -1 if there is none */
  read(start: number): number {
    const short = this.#shortEnd(start);
    if (short !== -1) return short;
    this.#hold(highSeed, lowSeed, 0, 0, 0, 0);
    let at = start;
    for (let byte = this.#bytes[at]; byte !== quote; byte = this.#bytes[at]) {
      if (byte === undefined) return -1;
      at = byte === backslash || this.#bits !== 0 ? this.#takeShifted(at) : this.#takeFitting(at);
    }
    this.#end(this.#a, this.#b, this.#steps, this.#first, this.#second);
    return at + 1;
  }

  /** Most strings of a body are names of at most seven bytes. @returns -1 if this is another */
  #shortEnd(start: number): number {
    if (start + 8 > this.#bytes.length) return -1;
    const first = this.#view.getInt32(start, true);
    const second = this.#view.getInt32(start + 4, true);
    const plain = plainBytes(first, second);
    if (plain === 8 || this.#bytes[start + plain] !== quote) return -1;
    this.#end(highSeed, lowSeed, 0, first & (firstMasks[plain] ?? 0), second & (secondMasks[plain] ?? 0));
    return start + plain + 1;
  }

  /**
   * Takes in text from where a step begins, up to the closing quote or an escape that need not be one; the last bytes
   * before it are held back. One loop over local variables, as escapes are about as frequent in code as words.
   *
   * @returns the index of that quote or backslash; the length of the body if there is none
   */
  #takeFitting(from: number): number {
    const bytes = this.#bytes;
    const view = this.#view;
    const lastStep = bytes.length - 8;
    let a = this.#a;
    let b = this.#b;
    let steps = this.#steps;
    let at = from;
    let searchFrom = from + shortRunBytes;
    while (at <= lastStep) {
      let first = view.getInt32(at, true);
      let second = view.getInt32(at + 4, true);
      if ((specialBytes(first) | specialBytes(second)) === 0) {
        if (at >= searchFrom) {
          this.#hold(a, b, steps, 0, 0, 0);
          at = this.#takeRun(at, this.#runEnd(at));
          a = this.#a;
          b = this.#b;
          steps = this.#steps;
          searchFrom = bytes.length;
          continue;
        }
        at += 8;
      } else {
        const plain = plainBytes(first, second);
        first &= firstMasks[plain] ?? 0;
        second &= secondMasks[plain] ?? 0;
        at += plain;
        const meaning = bytes[at] === quote ? 0 : meaningOf(bytes[at + 1] ?? 0);
        if (meaning === 0) {
          this.#hold(a, b, steps, first, second, plain * 8);
          return at;
        }
        second |= meaning << 24;
        at += 2;
        searchFrom = at + shortRunBytes;
      }
      a = stepA(a, first, second);
      b = stepB(b, first, second);
      steps++;
    }
    this.#hold(a, b, steps, 0, 0, 0);
    return this.#takeShifted(at);
  }

  /** Takes in what holds no quote and no backslash. @returns the index of what is left of it, less than a step */
  #takeRun(from: number, end: number): number {
    const view = this.#view;
    let a = this.#a;
    let b = this.#b;
    let at = from;
    for (; at <= end - 8; at += 8) {
      const first = view.getInt32(at, true);
      const second = view.getInt32(at + 4, true);
      a = stepA(a, first, second);
      b = stepB(b, first, second);
    }
    this.#hold(a, b, this.#steps + ((at - from) >> 3), 0, 0, 0);
    return at;
  }

  /**
   * Takes in text where the steps do not fit what stands in the body, up to the closing quote or to where they fit again,
   * by writing down what is meant.
   *
   * @returns the index of that; the length of the body if there is neither
   */
  #takeShifted(from: number): number {
    const bytes = this.#bytes;
    let count = this.#unhold();
    let at = from;
    for (let byte = bytes[at]; byte !== undefined && byte !== quote; byte = bytes[at]) {
      if (count > meantBytes - 8) count = this.#takeMeant(count);
      if (byte !== backslash) {
        meant[count++] = byte;
        at++;
        continue;
      }
      const point = escapedPoint(bytes, at + 1);
      if (point === -1) return bytes.length;
      at += bytes[at + 1] !== 0x75 ? 2 : point > 0xffff ? 12 : 6;
      if (isAlwaysEscaped(point)) {
        this.#takeMeant(count);
        const second = this.#second | (point << 24);
        this.#hold(stepA(this.#a, this.#first, second), stepB(this.#b, this.#first, second), this.#steps + 1, 0, 0, 0);
        return at;
      }
      count = writeUtf8(meant, count, point);
    }
    this.#takeMeant(count);
    return at;
  }

  /** Writes down what was held back. @returns how many bytes that is */
  #unhold(): number {
    meantView.setInt32(0, this.#first, true);
    meantView.setInt32(4, this.#second, true);
    return this.#bits >> 3;
  }

  /** Takes in what was written down but for its last bytes, which are held back. @returns how many these are */
  #takeMeant(count: number): number {
    const end = count & ~7;
    let a = this.#a;
    let b = this.#b;
    for (let at = 0; at < end; at += 8) {
      const first = meantView.getInt32(at, true);
      const second = meantView.getInt32(at + 4, true);
      a = stepA(a, first, second);
      b = stepB(b, first, second);
    }
    const left = count - end;
    const first = meantView.getInt32(end, true) & (firstMasks[left] ?? 0);
    const second = meantView.getInt32(end + 4, true) & (secondMasks[left] ?? 0);
    this.#hold(a, b, this.#steps + (end >> 3), first, second, left * 8);
    return this.#unhold();
  }

  #hold(a: number, b: number, steps: number, first: number, second: number, bits: number): void {
    this.#a = a;
    this.#b = b;
    this.#steps = steps;
    this.#first = first;
    this.#second = second;
    this.#bits = bits;
  }

  /** Leaves the lanes as they are: whoever adds a hash to another spreads its bits, and most strings are short. */
  #end(a: number, b: number, steps: number, first: number, second: number): void {
    this.high = stepA(a, first, second) ^ steps;
    this.low = stepB(b, first, second);
  }

  /** The index of the first quote or backslash; the length of the body if there is none. */
  #runEnd(from: number): number {
    if (this.#quoteAt < from) this.#quoteAt = this.#find(quote, from);
    if (this.#backslashAt < from) this.#backslashAt = this.#find(backslash, from);
    return Math.min(this.#quoteAt, this.#backslashAt);
  }

  #find(byte: number, from: number): number {
    const at = this.#bytes.indexOf(byte, from);
    return at === -1 ? this.#bytes.length : at;
  }
}

function stepA(a: number, first: number, second: number): number {
  const mixed = Math.imul(a ^ first, 0x2c1b3c6d);
  return (((mixed << 13) | (mixed >>> 19)) + second) | 0;
}

function stepB(b: number, first: number, second: number): number {
  const mixed = Math.imul(b ^ second, 0x297a2d39);
  return (((mixed << 17) | (mixed >>> 15)) + first) | 0;
}

/** How many of eight bytes come before the first quote or backslash. */
function plainBytes(first: number, second: number): number {
  const special = specialBytes(first);
  if (special !== 0) return (31 - Math.clz32(special & -special)) >> 3;
  const secondSpecial = specialBytes(second);
  return secondSpecial === 0 ? 8 : 4 + ((31 - Math.clz32(secondSpecial & -secondSpecial)) >> 3);
}

/**
 * The top bit of the lowest byte of a word that is a quote or a backslash; 0 if none is. Bits above the lowest one mean
 * nothing: they may come from a borrow.
 */
function specialBytes(word: number): number {
  const quotes = word ^ 0x22222222;
  const slashes = word ^ 0x5c5c5c5c;
  return (((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes)) & 0x80808080;
}

/** What is left of the two words of a step of which so many bytes count. */
const firstMasks: Int32Array = Int32Array.of(0, 0xff, 0xffff, 0xffffff, -1, -1, -1, -1);
const secondMasks: Int32Array = Int32Array.of(0, 0, 0, 0, 0, 0xff, 0xffff, 0xffffff);
