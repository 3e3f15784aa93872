import { parseJsonPrefix } from "./partial-json.ts";
import { type EventReading, readEvent, readType, typeOf } from "./stream-dialects.ts";
import { firstWordByte, lastWordByte, modeOfContentType, modeOfFirstByte, type StreamMode } from "./stream-mode.ts";
import { readSseBlock, type SseBlock } from "./stream-sse-block.ts";
import { failureOfMade, isResultField, valueTellsError } from "./told-error.ts";

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

/** A piece of a stream that is understood as a whole: a block of SSE, or a JSON object. */
export interface AnyFrame {
  /** False: more than `eventBytes` came, only the beginning is here. */
  readonly isWhole: boolean;
}

/** Takes the bytes of a stream as they come, split anywhere, and hands on its frames: to be looked at, not to be kept. */
export interface Framer {
  push(chunk: Uint8Array): void;
  /** Hands on what is left without its closing. */
  end(): void;
}

/** Takes apart the objects of a JSON text: a single one, one a line, or the elements of an array. */
export interface ObjectFramer extends Framer {
  /** Whether the objects are the elements of an array. */
  readonly isArray: boolean;
  /** Whether a bracket waits for its counterpart. */
  readonly isOpen: boolean;
  /** What comes from now on is of no interest; it may be called while a chunk is being read. */
  stop(): void;
}

export interface ObjectFramerOptions<Frame> {
  /** Called for an object as it closes, or as it grows too large. */
  readonly onFrame: (frame: Frame) => void;
  /** Called with a key of the object that is being read as soon as its value has begun and is not `null`. */
  readonly onField: (name: string) => void;
}

/** How a stream is taken apart: as bytes, or as text. */
export interface StreamReading<Frame extends AnyFrame> {
  /** Blocks of server-sent events. @param onFrame called for a block as it closes, or as it grows too large */
  events(onFrame: (frame: Frame) => void): Framer;
  objects(options: ObjectFramerOptions<Frame>): ObjectFramer;
  /** What a frame shows at a glance: `signs`. One that may be an end or an error must have the sign. */
  signsOf(frame: Frame): number;
  textOf(frame: Frame): string;
}

export interface StreamObserverOptions<Frame extends AnyFrame> {
  readonly reading: StreamReading<Frame>;
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
export class StreamObserver<Frame extends AnyFrame> {
  readonly #reading: StreamReading<Frame>;
  readonly #isMaking: boolean;
  readonly #onTail: ((data: string) => void) | undefined;
  #mode: StreamMode;
  #opening: StreamOpening = "undecided";
  #errorText: string | undefined;
  #framer: Framer | undefined;
  /** The same, if it takes objects apart. */
  #objects: ObjectFramer | undefined;
  /** A single object has something in the field that holds the result. */
  #leansToContent = false;
  #sawEnd = false;
  /** The dialect is one whose end is known. */
  #isKnown = false;
  #lastByte = 0;

  constructor({ reading, contentType, isMaking = false, onTail }: StreamObserverOptions<Frame>) {
    this.#reading = reading;
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
    if (this.#mode === "sse") return this.#reading.events(onFrame);
    this.#objects = this.#reading.objects({ onFrame, onField: (name) => this.#meetField(name) });
    return this.#objects;
  }

  /** A single object is likely an answer once the field begins that holds the result; an error may still come beside it. */
  #meetField(name: string): void {
    if (this.#singleObject() !== undefined && isResultField(name)) this.#leansToContent = true;
  }

  /** What reads the body if that is one JSON object. */
  #singleObject(): ObjectFramer | undefined {
    const objects = this.#objects;
    return this.#mode === "json" && objects?.isArray === false ? objects : undefined;
  }

  #look(frame: Frame): void {
    if (this.#errorText !== undefined || this.#mode === "tail") return;
    if (this.#leansToContent && this.#opening === "undecided" && (this.#reading.signsOf(frame) & signs.error) === 0) {
      // Its result was seen, and the word for an error is nowhere in it: parsing it would show nothing else.
      this.#takeAsAnswer(frame);
    } else if (this.#opening === "undecided") {
      this.#read(frame);
    } else {
      const found = this.#reading.signsOf(frame);
      if ((found & signs.error) !== 0) this.#read(frame);
      if ((found & signs.end) !== 0) this.#sawEnd = true;
    }
    if (this.#sawEnd && this.#onTail !== undefined) this.#onTail(this.#take(frame).data ?? "");
  }

  #take(frame: Frame): SseBlock {
    const text = this.#reading.textOf(frame);
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
      case "lines":
        return this.#objects?.isOpen === true || (this.#singleObject() === undefined && lacksEnd);
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
