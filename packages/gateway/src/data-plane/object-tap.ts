import { objectsShown } from "@keywheel/pool";
import { decodeBeginning } from "./content-coding.ts";
import type { StreamedAnswer } from "./streamed-answer.ts";

/** How much of an answer is looked at for objects: what a longer one is about stands at its beginning. */
const tappedBytes = 256 * 1024;

/**
 * Learns from an answer, as it goes by, which stored objects it shows.
 *
 * It tells them before the client has what shows them: a client may name an object the moment it has read of it. JSON is
 * read once, when it is whole; of a stream each event is read as it comes.
 */
export class ObjectTap {
  readonly #learn: (ids: readonly string[]) => void;
  readonly #isStream: boolean;
  readonly #coding: string | undefined;
  /** What `content-length` says. */
  readonly #wholeBytes: number;
  readonly #known = new Set<string>();
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Of an encoded stream: how much there must be for it to be looked at again. */
  #nextLookBytes = 1;
  /** Of a plain stream: the beginning of a line that is not whole. */
  #line = "";
  #isDone = false;

  constructor(answer: StreamedAnswer, learn: (ids: readonly string[]) => void) {
    this.#learn = learn;
    this.#isStream = /^text\/event-stream/i.test(answer.header("content-type") ?? "");
    this.#coding = answer.header("content-encoding");
    this.#wholeBytes = Number(answer.header("content-length") ?? Number.NaN);
  }

  push(chunk: Buffer): void {
    if (this.#isDone) return;
    this.#bytes += chunk.length;
    if (this.#isStream && this.#coding === undefined) this.#readLines(chunk.toString("latin1"));
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
    const text = decodeBeginning(Buffer.concat(this.#chunks), this.#coding);
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
export function isTappable(answer: StreamedAnswer): boolean {
  if (answer.status < 200 || answer.status >= 300) return false;
  return /^(text\/event-stream|application\/([\w.-]+\+)?json)/i.test(answer.header("content-type") ?? "");
}
