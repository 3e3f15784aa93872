import { objectsShown } from "@keywheel/pool";
import { decodeBeginning } from "./content-coding.ts";
import type { StreamedAnswer } from "./streamed-answer.ts";

/** How much of an answer is looked at for objects: what a longer one is about stands at its beginning. */
const tappedBytes = 256 * 1024;

/**
 * Learns from an answer, as it goes by, which stored objects it shows.
 *
 * It tells them before the piece that shows them goes out: a client may name an object the moment it has read of it.
 */
export class ObjectTap {
  readonly #answer: StreamedAnswer;
  readonly #learn: (ids: readonly string[]) => void;
  readonly #isStream: boolean;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #hasLearnt = false;

  constructor(answer: StreamedAnswer, learn: (ids: readonly string[]) => void) {
    this.#answer = answer;
    this.#learn = learn;
    this.#isStream = /^text\/event-stream/i.test(answer.header("content-type") ?? "");
  }

  push(chunk: Buffer): void {
    if (this.#bytes >= tappedBytes) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#hasLearnt) return;
    // A stream shows its object at once. JSON can be read when it is whole, which its last byte may tell.
    const isReadable = this.#isStream || this.#isEncoded() || endsValue(chunk);
    if (isReadable || this.#bytes >= tappedBytes) this.#read();
  }

  end(): void {
    if (this.#isStream || !this.#hasLearnt) this.#read();
  }

  #isEncoded(): boolean {
    return this.#answer.header("content-encoding") !== undefined;
  }

  #read(): void {
    const text = decodeBeginning(Buffer.concat(this.#chunks), this.#answer.header("content-encoding"));
    const shown = this.#isStream ? dataOf(text).flatMap(objectsShown) : objectsShown(text);
    if (shown.length === 0) return;
    this.#hasLearnt = true;
    this.#learn([...new Set(shown)]);
  }
}

function endsValue(chunk: Buffer): boolean {
  const last = chunk
    .toString("latin1", Math.max(0, chunk.length - 8))
    .trimEnd()
    .at(-1);
  return last === "}" || last === "]";
}

/** Whether there is anything to learn from such an answer. */
export function isTappable(answer: StreamedAnswer): boolean {
  if (answer.status < 200 || answer.status >= 300) return false;
  return /^(text\/event-stream|application\/([\w.-]+\+)?json)/i.test(answer.header("content-type") ?? "");
}

/** The data lines of an event stream that may name an object. */
function dataOf(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data:") && /[iI]d"/.test(line))
    .map((line) => line.slice("data:".length));
}
