import { parseJsonPrefix } from "./partial-json.ts";
import { type EventReading, readEvent, readType, typeOf } from "./stream-dialects.ts";
import { type Frame, type Framer, SseFramer } from "./stream-framing.ts";
import { JsonFramer } from "./stream-json-framing.ts";
import { firstWordByte, lastWordByte, modeOfContentType, modeOfFirstByte, type StreamMode } from "./stream-mode.ts";
import { readSseBlock, type SseBlock } from "./stream-sse-block.ts";
import { failureOfMade, isResultField, valueTellsError } from "./told-error.ts";
import { decodeUtf8 } from "./utf8.ts";

/** What the beginning of a body has shown so far. `undecided`: nothing that binds; the answer may still turn out an error. */
export type StreamOpening = "undecided" | "content" | "error";

/** How a body ended. */
export type StreamEnd =
  /** With the end that its dialect demands, or in a dialect of which none is known. */
  | { readonly kind: "completed" }
  /** Short of that end. */
  | { readonly kind: "truncated" }
  /** By telling an error; `errorText` is to be judged as the `bodyText` of the same answer. */
  | { readonly kind: "failed"; readonly errorText: string };

/** What bytes show at a glance, a bit each: an end of their dialect, perhaps an error. */
export const signs = { none: 0, end: 1, error: 2 } as const;

/** The signs of a frame. `signsOf` finds them without decoding or parsing. */
export type SignsOf = (bytes: Uint8Array, from: number, to: number) => number;

/** Finds nothing out: each frame is read. For programs that would rather have less code. */
export const readEach: SignsOf = () => signs.error;

export interface StreamObserverOptions {
  readonly signsOf: SignsOf;
  /** The answer's `content-type`; undefined if it has none. */
  readonly contentType: string | undefined;
  /**
   * Whether the request was to make what the answer describes: then what that has failed with is the answer's own error. Of one
   * that was asked for it is the answer.
   */
  readonly isMaking?: boolean;
  /**
   * Called with the data of each event from the dialect's end on (the last chunk, usage that follows it, the closing event), at
   * most 64 KiB of it. Absent: such data is not decoded.
   */
  readonly onTail?: (data: string) => void;
}

const closeBrace = 0x7d;

/**
 * Watches the body of a successful answer go by.
 *
 * Until content was seen every event is parsed; from then on bytes are only looked through for the words of an end or an error.
 * However the bytes are split, what it says is the same. It keeps at most 64 KiB; an event larger than that is content unless
 * its type says otherwise. Bytes must come with their content encoding undone.
 *
 * @see contract §4 rule 7, reference "Streams", field cases 20, 39 and 43
 */
export class StreamObserver {
  readonly #signsOf: SignsOf;
  readonly #isMaking: boolean;
  readonly #onTail: ((data: string) => void) | undefined;
  #mode: StreamMode;
  #opening: StreamOpening = "undecided";
  #errorText: string | undefined;
  #framer: Framer | undefined;
  /** A single object has something in the field that holds the result. */
  #leansToContent = false;
  #sawEnd = false;
  /** The dialect is one whose end is known. */
  #isKnown = false;
  #lastByte = 0;

  constructor({ signsOf, contentType, isMaking = false, onTail }: StreamObserverOptions) {
    this.#signsOf = signsOf;
    this.#isMaking = isMaking;
    this.#onTail = onTail;
    this.#mode = modeOfContentType(contentType);
    if (this.#mode === "opaque") this.#opening = "content";
  }

  get opening(): StreamOpening {
    return this.#opening;
  }

  /** Whether it is undecided only because an error may stand behind the result; it is not to be waited for long. */
  get leansToContent(): boolean {
    return this.#leansToContent && this.#opening === "undecided";
  }

  /** What to judge once an error was told, in the opening or midway; undefined before. */
  get errorText(): string | undefined {
    return this.#errorText;
  }

  /** Takes the next bytes; they are neither kept nor changed. */
  push(chunk: Uint8Array): StreamOpening {
    if (this.#mode === "opaque" || this.#errorText !== undefined) return this.#opening;
    if (this.#mode === "sniff" && !this.#sniff(chunk)) return this.#opening;
    if (this.#mode === "json" || this.#mode === "tail") this.#lastByte = lastWordByte(chunk) ?? this.#lastByte;
    if (this.#mode !== "tail") this.#frames().push(chunk);
    return this.#opening;
  }

  /**
   * The body has ended as HTTP has it; not to be called for one that was broken off. `opening` may change: what never got as far
   * as content is an error now, or content if it was complete, or stays undecided if it was cut short.
   */
  end(): StreamEnd {
    if (this.#errorText === undefined) this.#framer?.end();
    if (this.#errorText !== undefined) return { kind: "failed", errorText: this.#errorText };
    if (this.#isCutShort()) return { kind: "truncated" };
    this.#opening = "content";
    return { kind: "completed" };
  }

  /** @returns whether the bytes are to be taken apart */
  #sniff(chunk: Uint8Array): boolean {
    const first = firstWordByte(chunk);
    if (first === undefined) return false;
    this.#mode = modeOfFirstByte(first);
    if (this.#mode === "opaque") this.#opening = "content";
    return this.#mode !== "opaque";
  }

  #frames(): Framer {
    this.#framer ??= this.#createFramer((frame) => this.#look(frame));
    return this.#framer;
  }

  #createFramer(onFrame: (frame: Frame) => void): Framer {
    if (this.#mode === "sse") return new SseFramer(onFrame);
    return new JsonFramer({ onFrame, onField: (name) => this.#meetField(name) });
  }

  /** A single object is likely an answer once the field begins that holds the result; an error may still come beside it. */
  #meetField(name: string): void {
    if (this.#singleObject() !== undefined && isResultField(name)) this.#leansToContent = true;
  }

  /** What reads the body if that is one JSON object. */
  #singleObject(): JsonFramer | undefined {
    const framer = this.#framer;
    return this.#mode === "json" && framer instanceof JsonFramer && !framer.isArray ? framer : undefined;
  }

  #look(frame: Frame): void {
    if (this.#errorText !== undefined || this.#mode === "tail") return;
    if (this.#leansToContent && this.#opening === "undecided" && (this.#signsOfFrame(frame) & signs.error) === 0) {
      // Its result was seen, and the word for an error is nowhere in it: parsing it would show nothing else.
      this.#takeAsAnswer(frame);
    } else if (this.#opening === "undecided") {
      this.#read(frame);
    } else {
      const found = this.#signsOfFrame(frame);
      if ((found & signs.error) !== 0) this.#read(frame);
      if ((found & signs.end) !== 0) this.#sawEnd = true;
    }
    if (this.#sawEnd && this.#onTail !== undefined) this.#onTail(this.#take(frame).data ?? "");
  }

  #signsOfFrame({ bytes, from, to }: Frame): number {
    return this.#signsOf(bytes, from, to);
  }

  #take({ bytes, from, to }: Frame): SseBlock {
    const text = decodeUtf8(bytes, from, to);
    return this.#mode === "sse" ? readSseBlock(text) : { name: undefined, data: text, bareJson: undefined };
  }

  #read(frame: Frame): void {
    const { name, data, bareJson } = this.#take(frame);
    if (bareJson !== undefined && valueTellsError(parseJsonPrefix(bareJson))) return this.#fail(bareJson);
    if (data === undefined && name === undefined) return;
    const value = data === undefined ? undefined : parseJsonPrefix(data);
    if (data !== undefined && valueTellsError(value)) return this.#fail(data);
    const failure = this.#isMaking ? failureOfMade(value) : undefined;
    if (failure !== undefined) return this.#fail(wrapped(JSON.stringify(failure), failure));
    if (this.#leansToContent) return this.#takeAsAnswer(frame);
    const reading = readingOf({ name, data, value, isWhole: frame.isWhole });
    if (reading.says === "error") return this.#fail(wrapped(data, value));
    this.#isKnown ||= reading.isKnown;
    this.#sawEnd ||= reading.isEnd;
    if (reading.says === "content") this.#opening = "content";
  }

  /** Of one too long to be read whole, only the end is looked for from here on. */
  #takeAsAnswer({ isWhole }: Frame): void {
    this.#opening = "content";
    if (isWhole) return;
    this.#singleObject()?.stop();
    this.#mode = "tail";
  }

  #fail(errorText: string): void {
    this.#errorText = errorText;
    if (this.#opening === "undecided") this.#opening = "error";
  }

  #isCutShort(): boolean {
    const lacksEnd = !this.#sawEnd && (this.#isKnown || this.#opening === "undecided");
    switch (this.#mode) {
      case "sniff":
      case "opaque":
        return false;
      case "sse":
        return lacksEnd;
      case "tail":
        return this.#lastByte !== closeBrace;
      case "json":
      case "lines": {
        const isOpen = this.#framer instanceof JsonFramer && this.#framer.isOpen;
        return isOpen || (this.#singleObject() === undefined && lacksEnd);
      }
    }
  }
}

interface TakenEvent {
  readonly name: string | undefined;
  readonly data: string | undefined;
  readonly value: unknown;
  readonly isWhole: boolean;
}

function readingOf({ name, data, value, isWhole }: TakenEvent): EventReading {
  if (data === undefined) return readType(name) ?? { says: "nothing", isEnd: false, isKnown: false };
  if (data.trim() === "[DONE]") return { says: "content", isEnd: true, isKnown: true };
  if (data.trim() === "") return readType(name) ?? { says: "nothing", isEnd: false, isKnown: false };
  if (isWhole) return readEvent(name, value);
  // Of a cut event only the type can be trusted; what else it says may lie behind the cut.
  return readType(typeOf(value)) ?? readType(name) ?? { says: "content", isEnd: false, isKnown: false };
}

/** An error told by the event's name alone, in the shape in which its data is found to be one. */
function wrapped(data: string | undefined, value: unknown): string {
  const error = value === undefined ? JSON.stringify({ message: data ?? "" }) : (data ?? "{}");
  return `{"type":"error","error":${error}}`;
}
