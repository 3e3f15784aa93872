import type { UpstreamAnswer } from "../dispatch.ts";
import { objectsShown } from "../providers/objects.ts";

type TappedAnswer = Pick<UpstreamAnswer, "header">;

/** How bytes are read here. */
export interface TapReading<Chunk extends Uint8Array> {
  /** Whether a content coding is still to be undone. */
  readonly isCoded: boolean;
  latin1(chunk: Chunk): string;
  /** The text of the pieces together, content coding undone; it may be cut anywhere. */
  text(chunks: readonly Chunk[]): string;
}

/** How much of an answer is looked at for objects: what a longer one is about stands at its beginning. */
const tappedBytes = 256 * 1024;

/**
 * Learns from an answer, as it goes by, which stored objects it shows.
 *
 * It tells them before the client has what shows them: a client may name an object the moment it has read of it. JSON is
 * read once, when it is whole; of a stream each event is read as it comes.
 */
export class ObjectTap<Chunk extends Uint8Array = Uint8Array> {
  readonly #learn: (ids: readonly string[]) => void;
  readonly #isStream: boolean;
  readonly #isCoded: boolean;
  readonly #reading: TapReading<Chunk>;
  /** What `content-length` says. */
  readonly #wholeBytes: number;
  readonly #known = new Set<string>();
  #chunks: Chunk[] = [];
  #bytes = 0;
  /** Of an encoded stream: how much there must be for it to be looked at again. */
  #nextLookBytes = 1;
  /** Of a plain stream: the beginning of a line that is not whole. */
  #line = "";
  #isDone = false;

  constructor(answer: TappedAnswer, learn: (ids: readonly string[]) => void, reading: TapReading<Chunk>) {
    this.#learn = learn;
    this.#reading = reading;
    this.#isStream = /^text\/event-stream/i.test(answer.header("content-type") ?? "");
    this.#isCoded = reading.isCoded;
    this.#wholeBytes = Number(answer.header("content-length") ?? Number.NaN);
  }

  push(chunk: Chunk): void {
    if (this.#isDone) return;
    this.#bytes += chunk.length;
    if (this.#isStream && !this.#isCoded) this.#readLines(this.#reading.latin1(chunk));
    else {
      this.#chunks.push(chunk);
      if (this.#isStream && this.#bytes >= this.#nextLookBytes) this.#readAll();
    }
    if (this.#bytes >= tappedBytes || this.#bytes === this.#wholeBytes) this.end();
  }

  /** There is no more of it, or nobody looks at more. */
  end(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    if (this.#chunks.length > 0) this.#readAll();
    this.#chunks = [];
  }

  /** Ids are ASCII: it does not matter that a character may be cut. */
  #readLines(text: string): void {
    const lines = text.split(/\r\n|\n|\r/);
    const last = lines.pop() ?? "";
    for (const line of lines) {
      this.#tell(shownIn(this.#line + line));
      this.#line = "";
    }
    this.#line += last;
  }

  /** Twice as much must come before an encoded stream is unpacked again, or much of it would be, many times over. */
  #readAll(): void {
    this.#nextLookBytes = 2 * this.#bytes;
    const text = this.#reading.text(this.#chunks);
    this.#tell(this.#isStream ? text.split(/\r\n|\n|\r/).flatMap(shownIn) : objectsShown(text));
  }

  #tell(shown: readonly string[]): void {
    const fresh = shown.filter((id) => !this.#known.has(id));
    if (fresh.length === 0) return;
    for (const id of fresh) this.#known.add(id);
    this.#learn(fresh);
  }
}

/** The objects that a line of an event stream shows. */
function shownIn(line: string): string[] {
  const isData = line.startsWith("data:") && /[iI]d"/.test(line);
  return isData ? objectsShown(line.slice("data:".length)) : [];
}

/** Whether there is anything to learn from such an answer. */
export function isTappable(answer: Pick<UpstreamAnswer, "header" | "status">): boolean {
  if (answer.status < 200 || answer.status >= 300) return false;
  return /^(text\/event-stream|application\/([\w.-]+\+)?json)/i.test(answer.header("content-type") ?? "");
}
