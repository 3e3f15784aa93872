import type { Beginning, Ending, Opening, UpstreamAnswer } from "../dispatch.ts";
import { mayHaveBody, openingFacts, openingLimits } from "../rules/opening.ts";
import type { StreamEnd, StreamOpening } from "../rules/stream-opening.ts";
import type { DurationMs, EpochMs } from "../rules/time.ts";
import type { JudgedAnswer } from "../rules/verdict.ts";
import { startTimer } from "./timer.ts";

/** Who receives the body. Called in the order of the bytes; after `end` or `fail` not again. */
export interface BodySink<Chunk extends Uint8Array = Uint8Array> {
  /** @returns false to be given nothing more until `resume` is called */
  data(chunk: Chunk): boolean;
  end(trailers: readonly string[]): void;
  fail(error: unknown): void;
}

/** What the answer's connection can be told. */
export interface BodyControl {
  pause(): void;
  resume(): void;
  abort(): void;
}

/** Looks at a body as it goes by: a `StreamObserver`, behind whatever undoes the content coding on a copy. */
export interface AnswerWatch<Chunk extends Uint8Array = Uint8Array> {
  readonly opening: StreamOpening;
  /** Whether it is undecided only because an error may stand behind the result. */
  readonly leansToContent: boolean;
  /** The error that was told, in the opening or midway, to be judged as the answer's body. */
  readonly errorText: string | undefined;
  push(chunk: Chunk): void;
  /** The body has ended as HTTP has it. @returns no promise where what has gone by tells */
  end(): StreamEnd | Promise<StreamEnd>;
  /** Nobody wants to know any more. */
  stop(): void;
}

export interface AnswerHead {
  readonly status: number;
  /** Of the request. */
  readonly method: string;
  readonly receivedAt: EpochMs;
}

/** As much of an error as is judged, and searched for secrets that it repeats. */
export const errorBytes: number = 64 * 1024;

/** Headers that tell of a body's bytes as the provider wrote them: untrue once a secret was taken out of it. */
export const headersAboutBytes: RegExp =
  /^(content-(length|encoding|md5|digest)|repr-digest|digest|etag|transfer-encoding)$/i;

/** How much of an unread body is held before its connection is told to wait. */
const heldBytes = 256 * 1024;
/** How much of an abandoned body is read to keep its connection, and for how long. */
export const drainBytes: number = 64 * 1024;
export const drainMs: DurationMs = 1_000;

const nobody: BodySink = { data: () => true, end() {}, fail() {} };

/**
 * An answer whose head has come. The body is held, up to a bound, until somebody takes it; reading the beginning to judge
 * it takes nothing away from who receives it later.
 *
 * How bytes come (`push`, `end`, `fail`) is the transport's business, as is undoing a content coding (`textOf`, `watch`).
 */
export abstract class HeldAnswer<Chunk extends Uint8Array = Uint8Array> implements UpstreamAnswer {
  readonly status: number;
  readonly receivedAt: EpochMs;
  readonly #method: string;
  readonly #control: BodyControl;
  readonly #openingMs: DurationMs;
  #watch: AnswerWatch<Chunk> | undefined;
  #held: Chunk[] = [];
  #heldBytes = 0;
  #state: "open" | "ended" | "failed" = "open";
  #trailers: readonly string[] = [];
  #error: unknown;
  #sink: BodySink<Chunk> | undefined;
  #isPaused = false;
  #ending: Ending | Promise<Ending> | undefined;
  /** Made when somebody waits. */
  #waiting: Set<() => void> | undefined;

  constructor(head: AnswerHead, control: BodyControl, limits: { readonly openingMs?: DurationMs | undefined } = {}) {
    this.status = head.status;
    this.receivedAt = head.receivedAt;
    this.#method = head.method;
    this.#control = control;
    this.#openingMs = limits.openingMs ?? openingLimits.waitMs;
  }

  abstract header(name: string): string | undefined;
  /** What these pieces of the beginning say, at most `limitBytes` of them, content coding undone on a copy. */
  protected abstract textOf(held: readonly Chunk[], limitBytes: number): string;
  /** Begins to look at the body. @param isMaking whether the request was to make what the answer describes */
  protected abstract watch(isMaking: boolean, onChange: () => void): AnswerWatch<Chunk>;
  /** Whether the body is to be looked at even where nothing depends on how it opens. */
  protected get isAlwaysWatched(): boolean {
    return false;
  }

  get isComplete(): boolean {
    return this.#state === "ended";
  }

  /** A piece of the body came. */
  push(chunk: Chunk): void {
    this.#watch?.push(chunk);
    if (this.#sink !== undefined) {
      if (!this.#sink.data(chunk)) this.#pause();
      return;
    }
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes > heldBytes) this.#pause();
    this.#wake();
  }

  end(trailers: readonly string[] = []): void {
    this.#state = "ended";
    this.#trailers = trailers;
    this.#wake();
    this.#sink?.end(trailers);
  }

  fail(error: unknown): void {
    if (this.#state !== "open") return;
    this.#state = "failed";
    this.#error = error;
    this.#watch?.stop();
    this.#wake();
    this.#sink?.fail(error);
  }

  async readText(limitBytes: number, waitMs: DurationMs): Promise<Beginning> {
    await this.#until(() => this.#heldBytes >= limitBytes, waitMs);
    const isCut = this.#state !== "ended" && this.#heldBytes < limitBytes;
    return { text: this.textOf(this.#held, limitBytes), isCut };
  }

  opening(): Opening | Promise<Opening> {
    if (!this.#mayHaveBody()) return { kind: "clear" };
    const watch = this.#startWatch();
    return watch.opening === "undecided" ? this.#waitForOpening(watch) : this.#shown(watch);
  }

  async #waitForOpening(watch: AnswerWatch<Chunk>): Promise<Opening> {
    const isDecided = (): boolean => watch.opening !== "undecided" || this.#heldBytes > openingLimits.bytes;
    await this.#until(() => isDecided() || watch.leansToContent, this.#openingMs);
    if (watch.leansToContent) await this.#until(isDecided, Math.min(this.#openingMs, openingLimits.leaningMs));
    if (this.#state === "ended" && watch.opening === "undecided") await this.ending();
    return this.#shown(watch);
  }

  #shown(watch: AnswerWatch<Chunk>): Opening {
    const shown = openingFacts(watch, this.#state, this.header("content-type"));
    return shown.kind === "error" ? { kind: "error", answer: this.#judged(shown.errorText) } : shown;
  }

  /** Whether the body began with an error, though the status told of success; known once the opening is. */
  get hasOpenedWithError(): boolean {
    return this.#watch?.opening === "error";
  }

  /**
   * How the body ended, once it has: whole, short of its dialect's end, or in an error. Only what was watched from its
   * opening can be told apart; anything else that ended is whole.
   *
   * @returns no promise where what has gone by tells
   */
  ending(): Ending | Promise<Ending> {
    this.#ending ??= this.#findEnding();
    return this.#ending;
  }

  #findEnding(): Ending | Promise<Ending> {
    if (this.#watch === undefined || this.#state !== "ended") {
      return { kind: this.#state === "ended" ? "completed" : "truncated" };
    }
    const end = this.#watch.end();
    return end instanceof Promise ? end.then((told) => this.#endingOf(told)) : this.#endingOf(end);
  }

  #endingOf(end: StreamEnd): Ending {
    return end.kind === "failed" ? { kind: "failed", answer: this.#judged(end.errorText) } : end;
  }

  #judged(bodyText: string): JudgedAnswer {
    return { status: this.status, header: (name) => this.header(name), bodyText, receivedAt: this.receivedAt };
  }

  #mayHaveBody(): boolean {
    return mayHaveBody(this.#method, this.status);
  }

  #startWatch(): AnswerWatch<Chunk> {
    const watch = this.watch(this.#method === "POST", () => this.#wake());
    this.#watch = watch;
    for (const chunk of this.#held) watch.push(chunk);
    return watch;
  }

  /** Gives the body to a receiver: what is held at once, the rest as it comes. Once only. */
  deliver(sink: BodySink<Chunk>): void {
    if (this.#sink !== undefined) throw new Error("the body was given away before");
    this.#sink = sink;
    if (this.isAlwaysWatched && this.#watch === undefined) this.#startWatch();
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    let wantsMore = true;
    for (const chunk of held) wantsMore = sink.data(chunk) && wantsMore;
    if (this.#state === "ended") sink.end(this.#trailers);
    else if (this.#state === "failed") sink.fail(this.#error);
    else if (wantsMore) this.resume();
    else this.#pause();
  }

  /** Gives away a body that is here to its last byte, and has nothing behind it; undefined if it is not. Once only. */
  takeWhole(): readonly Chunk[] | undefined {
    if (this.#sink !== undefined || this.#state !== "ended" || this.#trailers.length > 0) return undefined;
    if (this.isAlwaysWatched && this.#watch === undefined) this.#startWatch();
    this.#sink = nobody;
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }

  /** The receiver can take more. */
  resume(): void {
    if (!this.#isPaused || this.#state !== "open") return;
    this.#isPaused = false;
    this.#control.resume();
  }

  /** Ends the exchange with the provider at once. */
  abort(): void {
    if (this.#state === "open") this.#control.abort();
  }

  discard(): void {
    if (this.#sink !== undefined || this.#state !== "open") return;
    const stop = startTimer(() => this.abort(), drainMs, { holdsProcess: false });
    let leftBytes = drainBytes;
    this.deliver({
      data: (chunk) => {
        leftBytes -= chunk.length;
        if (leftBytes < 0) this.abort();
        return true;
      },
      end: stop,
      fail: stop,
    });
  }

  #pause(): void {
    if (this.#isPaused || this.#state !== "open") return;
    this.#isPaused = true;
    this.#control.pause();
  }

  /** Settles when `isEnough` holds, the body is over, or the time is. */
  async #until(isEnough: () => boolean, waitMs: DurationMs): Promise<void> {
    if (this.#state !== "open" || isEnough()) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        stop();
        this.#waiting?.delete(check);
        resolve();
      };
      const check = (): void => {
        if (this.#state !== "open" || isEnough()) done();
      };
      const stop = startTimer(done, waitMs);
      (this.#waiting ??= new Set()).add(check);
    });
  }

  #wake(): void {
    if (this.#waiting === undefined) return;
    for (const check of this.#waiting) check();
  }
}
