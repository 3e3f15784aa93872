import type { Beginning, Ending, Opening, UpstreamAnswer, Usage } from "@keywheel/pool";
import { BodyWatch } from "./body-watch.ts";
import { decodeBeginning } from "./content-coding.ts";
import { headerReader } from "./headers.ts";
import { mayTellUsage, UsageMeter } from "./usage-meter.ts";

/** Who receives the body. Called in the order of the bytes; after `end` or `fail` not again. */
export interface BodySink {
  /** @returns false to be given nothing more until `resume` is called */
  data(chunk: Buffer): boolean;
  end(trailers: readonly string[]): void;
  fail(error: unknown): void;
}

/** What the answer's connection can be told. */
export interface BodyControl {
  pause(): void;
  resume(): void;
  abort(): void;
}

/** How much of an unread body is held before its connection is told to wait. */
const heldBytes = 256 * 1024;
/** How long, and over how much, the opening of an answer may stay undecided before it goes out. @see contract §4 rule 7 */
const openingMs = 10_000;
const openingBytes = 64 * 1024;
/** How long JSON is waited for whose result has begun: an error may stand behind it, and it mostly comes as a whole. */
const leaningMs = 1_000;
/** How much of an abandoned body is read to keep its connection, and for how long. */
const drainBytes = 64 * 1024;
const drainMs = 1_000;

const nobody: BodySink = { data: () => true, end() {}, fail() {} };

/**
 * An answer whose head has come. The body is held, up to a bound, until somebody takes it; reading the beginning to judge
 * it takes nothing away from who receives it later.
 */
export class StreamedAnswer implements UpstreamAnswer {
  readonly status: number;
  readonly statusText: string;
  /** Flat name, value, name, value, as the provider wrote them. */
  readonly rawHeaders: readonly string[];
  readonly receivedAt: number;
  readonly #method: string;
  readonly #control: BodyControl;
  /** Made when first asked: a judgement may ask for dozens of names. */
  #headers: ((name: string) => string | undefined) | undefined;
  readonly #openingMs: number;
  #watch: BodyWatch | undefined;
  #meter: UsageMeter | undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #state: "open" | "ended" | "failed" = "open";
  #trailers: readonly string[] = [];
  #error: unknown;
  #sink: BodySink | undefined;
  #isPaused = false;
  #ending: Promise<Ending> | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(
    head: {
      readonly status: number;
      readonly statusText: string;
      readonly rawHeaders: readonly string[];
      /** Of the request. */
      readonly method: string;
      readonly receivedAt: number;
    },
    control: BodyControl,
    limits: { readonly openingMs?: number | undefined } = {},
  ) {
    this.status = head.status;
    this.statusText = head.statusText;
    this.rawHeaders = head.rawHeaders;
    this.receivedAt = head.receivedAt;
    this.#method = head.method;
    this.#control = control;
    this.#openingMs = limits.openingMs ?? openingMs;
  }

  header(name: string): string | undefined {
    this.#headers ??= headerReader(this.rawHeaders);
    return this.#headers(name);
  }

  get isComplete(): boolean {
    return this.#state === "ended";
  }

  /** A piece of the body came. */
  push(chunk: Buffer): void {
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

  end(trailers: readonly string[]): void {
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

  async readText(limitBytes: number, waitMs: number): Promise<Beginning> {
    await this.#until(() => this.#heldBytes >= limitBytes, waitMs);
    const bytes = Buffer.concat(this.#held).subarray(0, limitBytes);
    const text = decodeBeginning(bytes, this.header("content-encoding"));
    return { text, isCut: this.#state !== "ended" && bytes.length < limitBytes };
  }

  async opening(): Promise<Opening> {
    if (!this.#mayHaveBody()) return { kind: "clear" };
    const watch = this.#startWatch();
    const isDecided = (): boolean => watch.opening !== "undecided" || this.#heldBytes > openingBytes;
    await this.#until(() => isDecided() || watch.leansToContent, this.#openingMs);
    if (watch.leansToContent) await this.#until(isDecided, Math.min(this.#openingMs, leaningMs));
    if (this.#state === "ended" && watch.opening === "undecided") await this.ending();
    if (watch.opening === "error") return { kind: "error", answer: this.#judged(watch.errorText ?? "") };
    // What has begun and is broken off is the client's to see.
    if (watch.opening === "content" || watch.leansToContent) return { kind: "clear" };
    if (this.#state === "failed") return { kind: "void", message: "The provider's answer broke off before it began." };
    const isStream = /^text\/event-stream/i.test(this.header("content-type") ?? "");
    if (this.#state === "ended" && isStream)
      return { kind: "void", message: "The provider's stream ended before it began." };
    return { kind: "clear" };
  }

  /** Whether the body began with an error, though the status told of success; known once the opening is. */
  get hasOpenedWithError(): boolean {
    return this.#watch?.opening === "error";
  }

  /**
   * How the body ended, once it has: whole, short of its dialect's end, or in an error. Only what was watched from its
   * opening can be told apart; anything else that ended is whole.
   */
  ending(): Promise<Ending> {
    this.#ending ??= this.#findEnding();
    return this.#ending;
  }

  /** Lets the body be searched for what it cost; before anything else is asked of it. */
  meterUsage(): void {
    const contentType = this.header("content-type");
    if (this.#mayHaveBody() && mayTellUsage(contentType)) this.#meter = new UsageMeter(contentType);
  }

  /** What the answer cost as far as it has told; for a body that was metered. */
  get usage(): Usage | undefined {
    return this.#meter?.read();
  }

  async #findEnding(): Promise<Ending> {
    if (this.#watch === undefined || this.#state !== "ended") {
      return { kind: this.#state === "ended" ? "completed" : "truncated" };
    }
    const end = await this.#watch.end();
    return end.kind === "failed" ? { kind: "failed", answer: this.#judged(end.errorText) } : end;
  }

  #judged(bodyText: string): {
    status: number;
    header: (name: string) => string | undefined;
    bodyText: string;
    receivedAt: number;
  } {
    return { status: this.status, header: (name) => this.header(name), bodyText, receivedAt: this.receivedAt };
  }

  #mayHaveBody(): boolean {
    return this.#method !== "HEAD" && this.status >= 200 && this.status < 300 && this.status !== 204;
  }

  #startWatch(): BodyWatch {
    const watch = new BodyWatch({
      contentType: this.header("content-type"),
      contentEncoding: this.header("content-encoding"),
      isMaking: this.#method === "POST",
      onChange: () => this.#wake(),
      meter: this.#meter,
    });
    this.#watch = watch;
    for (const chunk of this.#held) watch.push(chunk);
    return watch;
  }

  /** Gives the body to a receiver: what is held at once, the rest as it comes. Once only. */
  deliver(sink: BodySink): void {
    if (this.#sink !== undefined) throw new Error("the body was given away before");
    this.#sink = sink;
    if (this.#meter !== undefined && this.#watch === undefined) this.#startWatch();
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
  takeWhole(): readonly Buffer[] | undefined {
    if (this.#sink !== undefined || this.#state !== "ended" || this.#trailers.length > 0) return undefined;
    if (this.#meter !== undefined && this.#watch === undefined) this.#startWatch();
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
    const timer = setTimeout(() => this.abort(), drainMs).unref();
    let leftBytes = drainBytes;
    this.deliver({
      data: (chunk) => {
        leftBytes -= chunk.length;
        if (leftBytes < 0) this.abort();
        return true;
      },
      end: () => clearTimeout(timer),
      fail: () => clearTimeout(timer),
    });
  }

  #pause(): void {
    if (this.#isPaused || this.#state !== "open") return;
    this.#isPaused = true;
    this.#control.pause();
  }

  /** Settles when `isEnough` holds, the body is over, or the time is. */
  async #until(isEnough: () => boolean, waitMs: number): Promise<void> {
    if (this.#state !== "open" || isEnough()) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        resolve();
      };
      const check = (): void => {
        if (this.#state !== "open" || isEnough()) done();
      };
      const timer = setTimeout(done, waitMs);
      this.#waiting.add(check);
    });
  }

  #wake(): void {
    for (const check of this.#waiting) check();
  }
}
