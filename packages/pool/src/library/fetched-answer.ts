import type { Beginning, Ending, Opening, UpstreamAnswer } from "../dispatch.ts";
import { mayHaveBody, openingFacts, openingLimits } from "../rules/opening.ts";
import { type AnyFrame, StreamObserver } from "../rules/stream-opening.ts";
import { textReading } from "../rules/stream-text.ts";
import type { DurationMs, EpochMs } from "../rules/time.ts";
import type { JudgedAnswer } from "../rules/verdict.ts";
import { drainBytes, drainMs } from "../transport/held-answer.ts";
import { startTimer } from "../transport/timer.ts";
import { joined } from "./request.ts";

/** What an answer hangs on. */
export interface Exchange {
  /** Ends it; the body is broken off then. */
  abort(): void;
  /** It has ended by itself. */
  release(): void;
}

/**
 * An answer of `fetch`, which has undone its content coding. Of its body no more is read than somebody asks for; what was
 * read to judge it is held until `next` gives it away.
 */
export class FetchedAnswer implements UpstreamAnswer {
  readonly response: Response;
  readonly status: number;
  readonly receivedAt: EpochMs;
  readonly #method: string;
  readonly #exchange: Exchange;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined;
  #observer: StreamObserver<AnyFrame> | undefined;
  readonly #held: Uint8Array<ArrayBuffer>[] = [];
  #heldBytes = 0;
  #state: "open" | "ended" | "failed" = "open";
  #error: unknown;
  /** The piece that is on its way: only one is asked for at a time. */
  #reading: Promise<void> | undefined;
  #ending: Ending | undefined;

  constructor(response: Response, request: { readonly method: string }, receivedAt: EpochMs, exchange: Exchange) {
    this.response = response;
    this.status = response.status;
    this.receivedAt = receivedAt;
    this.#method = request.method;
    this.#exchange = exchange;
    this.#reader = response.body?.getReader();
    if (this.#reader === undefined) this.#close("ended");
  }

  header(name: string): string | undefined {
    return this.response.headers.get(name) ?? undefined;
  }

  get isComplete(): boolean {
    return this.#state === "ended";
  }

  async readText(limitBytes: number, waitMs: DurationMs): Promise<Beginning> {
    await this.#until(() => this.#heldBytes >= limitBytes, waitMs);
    const text = new TextDecoder().decode(joined(this.#held, Math.min(this.#heldBytes, limitBytes)));
    return { text, isCut: !this.isComplete && this.#heldBytes < limitBytes };
  }

  async opening(): Promise<Opening> {
    if (!mayHaveBody(this.#method, this.status)) return { kind: "clear" };
    const contentType = this.header("content-type");
    const observer = new StreamObserver({ reading: textReading, contentType, isMaking: this.#method === "POST" });
    this.#observer = observer;
    const isDecided = (): boolean => observer.opening !== "undecided" || this.#heldBytes > openingLimits.bytes;
    await this.#until(() => isDecided() || observer.leansToContent, openingLimits.waitMs);
    if (observer.leansToContent) await this.#until(isDecided, openingLimits.leaningMs);
    if (this.isComplete) this.ending();
    const shown = openingFacts(observer, this.#state, contentType);
    return shown.kind === "error" ? { kind: "error", answer: this.#judged(shown.errorText) } : shown;
  }

  /** Whether the body began with an error, though the status told of success; known once the opening is. */
  get hasOpenedWithError(): boolean {
    return this.#observer?.opening === "error";
  }

  /** The next piece of the body; undefined at its end. @throws what broke it off */
  async next(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    while (this.#held.length === 0 && this.#state === "open") await this.#read();
    if (this.#held.length === 0 && this.#state === "failed") throw this.#error;
    return this.#held.shift();
  }

  /** How the body ended, once it has: whole, short of its dialect's end, or in an error. */
  ending(): Ending {
    this.#ending ??= this.#findEnding();
    return this.#ending;
  }

  /** Ends the exchange with the provider at once. */
  abort(): void {
    if (this.#state === "open") this.#exchange.abort();
  }

  /** What is left is read if it is little, so that its connection can be used again. */
  discard(): void {
    const mostBytes = this.#heldBytes + drainBytes;
    void this.#until(() => this.#heldBytes > mostBytes, drainMs, false).then(() => this.abort());
  }

  #findEnding(): Ending {
    const end = this.#observer?.end() ?? { kind: "completed" };
    return end.kind === "failed" ? { kind: "failed", answer: this.#judged(end.errorText) } : end;
  }

  #judged(bodyText: string): JudgedAnswer {
    return { status: this.status, header: (name) => this.header(name), bodyText, receivedAt: this.receivedAt };
  }

  /** Reads until `isEnough` holds, the body is over, or the time is. */
  async #until(isEnough: () => boolean, waitMs: DurationMs, holdsProcess = true): Promise<void> {
    if (this.#state !== "open" || isEnough()) return;
    let stop = (): void => {};
    const time = new Promise<"late">((resolve) => {
      stop = startTimer(() => resolve("late"), waitMs, { holdsProcess });
    });
    while (this.#state === "open" && !isEnough()) if ((await Promise.race([this.#read(), time])) === "late") break;
    stop();
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readPiece();
    return this.#reading;
  }

  async #readPiece(): Promise<void> {
    try {
      const read = await this.#reader?.read();
      if (read?.value === undefined) this.#close("ended");
      else {
        this.#held.push(read.value);
        this.#heldBytes += read.value.length;
        this.#observer?.push(read.value);
      }
    } catch (error) {
      this.#error = error;
      this.#close("failed");
    }
    this.#reading = undefined;
  }

  #close(state: "ended" | "failed"): void {
    this.#state = state;
    this.#exchange.release();
  }
}
