import {
  type AnyFrame,
  type Framer,
  type ObjectFramer,
  type ObjectFramerOptions,
  signs,
  type StreamReading,
} from "./stream-opening.ts";
import { eventBytes } from "./stream-buffer.ts";
import { streamDecoder } from "./utf8.ts";

/** A frame as its text. */
interface TextFrame extends AnyFrame {
  readonly text: string;
}

/** Streams as text: each frame is decoded and read. With a third of the code that `bytesReading` takes. */
export const textReading: StreamReading<TextFrame> = {
  events: (onFrame) => new EventFramer(onFrame),
  objects: (options) => new TextObjectFramer(options),
  // Nothing is found out at a glance.
  signsOf: () => signs.error,
  textOf: ({ text }) => text,
};

/** Text that may turn out longer than is looked at. */
class Kept {
  readonly #onFrame: (frame: TextFrame) => void;
  #text = "";
  #isHandedOn = false;

  constructor(onFrame: (frame: TextFrame) => void) {
    this.#onFrame = onFrame;
  }

  /** As it grows too large it is handed on. */
  add(text: string): void {
    if (this.#isHandedOn) return;
    this.#text += text;
    if (this.#text.length > eventBytes) this.#handOn(false);
  }

  close(): void {
    if (!this.#isHandedOn && this.#text !== "") this.#handOn(true);
    this.#text = "";
    this.#isHandedOn = false;
  }

  #handOn(isWhole: boolean): void {
    this.#isHandedOn = true;
    this.#onFrame({ text: this.#text.slice(0, eventBytes), isWhole });
  }
}

const longestKey = 32;

class EventFramer implements Framer {
  readonly #decode = streamDecoder();
  readonly #kept: Kept;
  /** What may be part of a blank line. */
  #rest = "";

  constructor(onFrame: (frame: TextFrame) => void) {
    this.#kept = new Kept(onFrame);
  }

  push(chunk: Uint8Array): void {
    const blocks = (this.#rest + this.#decode(chunk)).split(/\r\n\r\n|\n\r?\n|\r\r/);
    const last = blocks.pop() ?? "";
    for (const block of blocks) {
      this.#kept.add(block);
      this.#kept.close();
    }
    this.#rest = /[\r\n]*$/.exec(last)?.[0] ?? "";
    this.#kept.add(last.slice(0, last.length - this.#rest.length));
  }

  end(): void {
    this.#kept.close();
  }
}

class TextObjectFramer implements ObjectFramer {
  readonly #decode = streamDecoder();
  readonly #onField: (name: string) => void;
  readonly #kept: Kept;
  #depth = 0;
  /** The depth at which the objects lie; -1 before the first bracket. */
  #base = -1;
  #isInString = false;
  #isEscaped = false;
  /** The last string; with its colon it is a key whose value is to begin. */
  #string = "";
  #awaitsValue = false;
  #isStopped = false;

  constructor({ onFrame, onField }: ObjectFramerOptions<TextFrame>) {
    this.#kept = new Kept(onFrame);
    this.#onField = onField;
  }

  get isArray(): boolean {
    return this.#base === 1;
  }

  get isOpen(): boolean {
    return this.#depth > 0;
  }

  push(chunk: Uint8Array): void {
    const text = this.#decode(chunk);
    let from = 0;
    for (let at = 0; at < text.length && !this.#isStopped; at++) {
      if (this.#isInString && !this.#isEscaped && this.#isLong) at = endOfRun(text, at);
      const before = this.#depth;
      this.#read(text.charAt(at));
      if (this.#base === -1 || before === this.#depth) continue;
      if (before === this.#base && this.#depth > before) from = at;
      if (this.#depth > this.#base || before <= this.#base) continue;
      this.#kept.add(text.slice(from, at + 1));
      this.#kept.close();
    }
    if (!this.#isStopped && this.#base !== -1 && this.#depth > this.#base) this.#kept.add(text.slice(from));
  }

  stop(): void {
    this.#isStopped = true;
  }

  end(): void {
    // An object that was not closed was cut off; the transport has seen more of that than this text tells.
  }

  /** A longer string is no key that anybody asks for, and not worth reading character by character. */
  get #isLong(): boolean {
    return this.#string.length >= longestKey;
  }

  #read(unit: string): void {
    if (this.#isInString) {
      this.#isInString = this.#isEscaped || unit !== '"';
      this.#isEscaped = !this.#isEscaped && unit === "\\";
      if (this.#isInString && !this.#isLong) this.#string += unit;
      return;
    }
    if (unit <= " ") return;
    if (this.#awaitsValue && unit !== "n") this.#onField(this.#string);
    this.#awaitsValue = unit === ":" && this.#depth === this.#base + 1;
    if (unit === '"') {
      this.#isInString = true;
      this.#string = "";
    } else if (unit === "{" || unit === "[") {
      if (this.#base === -1) this.#base = unit === "[" ? 1 : 0;
      this.#depth++;
    } else if ((unit === "}" || unit === "]") && this.#depth > 0) this.#depth--;
  }
}

/** Where a quote or a backslash comes next; the end of the text if nowhere. */
function endOfRun(text: string, from: number): number {
  const found = text.slice(from).search(/["\\]/);
  return found === -1 ? text.length : from + found;
}
