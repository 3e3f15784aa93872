import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { Pieces } from "./pieces.ts";

/** The body of a client's request. */
export type RequestBody =
  | { readonly kind: "none" }
  /** All of it, to be sent as often as needed. */
  | { readonly kind: "buffered"; readonly pieces: Pieces; release(): void }
  /** Too large to be kept: it can be sent once. */
  | { readonly kind: "streamed"; readonly stream: Readable; readonly lengthBytes: number | undefined }
  | { readonly kind: "too-large" }
  /** The client stopped sending it. */
  | { readonly kind: "too-slow" }
  /** The client left before it had sent everything. */
  | { readonly kind: "gone" };

/** The memory that bodies of all requests together may take while they wait for their answers. */
export class BodyBudget {
  readonly #limitBytes: number;
  #usedBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#limitBytes) return false;
    this.#usedBytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}

export interface BodyLimits {
  /** `settings.max_body_bytes`: beyond it the request is refused. */
  readonly maxBytes: number;
  /** Beyond it a body is not kept for a second try but streamed once. */
  readonly replayBytes: number;
  readonly budget: BodyBudget;
  readonly patience?: SendingPatience | undefined;
  /** Called once the body is known not to be announced as larger than allowed, before any of it is read. */
  readonly onWelcome?: () => void;
}

/** What a streamed body fails with when it turns out larger than allowed. */
export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
}

/** What a streamed body fails with when its client stops sending it. */
export class BodyTooSlowError extends Error {
  override readonly name = "BodyTooSlowError";
}

/**
 * Reads a request's body for as long as it can be kept, so that a retry sends the same bytes.
 *
 * A body over the replay limit, or for which the common budget has no room, is handed on as a stream, with what was read
 * of it in front; its memory is bounded by backpressure. A client that stops sending, or sends a few bytes now and then to
 * keep its place, is not waited for.
 *
 * @returns no promise where nothing has to be waited for
 * @see contract §2 (`body_too_large`), field cases 50 and 52
 */
export function readBody(request: IncomingMessage, limits: BodyLimits): RequestBody | Promise<RequestBody> {
  const announced = announcedBytes(request);
  if (announced !== undefined && announced > limits.maxBytes) return { kind: "too-large" };
  limits.onWelcome?.();
  if (announced === 0) return { kind: "none" };
  const keeper = new Keeper(limits);
  if (announced !== undefined && !keeper.reserve(announced)) return streamed(request, [], announced, limits);
  return collect(request, keeper, { announced, limits });
}

interface Collecting {
  readonly announced: number | undefined;
  readonly limits: BodyLimits;
}

function collect(request: IncomingMessage, keeper: Keeper, { announced, limits }: Collecting): Promise<RequestBody> {
  const { promise, resolve } = Promise.withResolvers<RequestBody>();
  const pace = new Pace(limits.patience);
  let isSilent = false;
  // When a machine has slept, timers are due before what came meanwhile was read: that has its turn first.
  const timer = setTimeout(() => {
    isSilent = true;
    setImmediate(() => {
      if (isSilent) settle(keeper.refuse("too-slow"));
    });
  }, pace.silentMs);
  const settle = (body: RequestBody): void => {
    isSilent = false;
    clearTimeout(timer);
    request.off("data", onData).off("end", onEnd).off("close", onClose);
    if (!request.complete) request.pause();
    resolve(body);
  };
  const onData = (chunk: Buffer): void => {
    isSilent = false;
    timer.refresh();
    pace.came(chunk.length);
    if (keeper.bytes + chunk.length > limits.maxBytes) settle(keeper.refuse("too-large"));
    else if (!keeper.keep(chunk)) settle(streamed(request, [...keeper.surrender(), chunk], announced, limits));
    else if (pace.isTooSlow) settle(keeper.refuse("too-slow"));
    else pace.waits();
  };
  const onEnd = (): void => settle(request.complete ? keeper.body() : keeper.refuse("gone"));
  // It broke while the body came: nobody is left to be answered.
  const onClose = (): void => settle(keeper.refuse("gone"));
  if (request.destroyed) onClose();
  else request.on("data", onData).on("end", onEnd).on("close", onClose);
  return promise;
}

/** Of a client that sends a body: how long it may be silent, and how slow. Defaults are for real ones on bad lines. */
export interface SendingPatience {
  /** Without a byte, ms; default 60 s. */
  readonly silentMs?: number | undefined;
  /** Waited for before the rate counts, ms; default 60 s. */
  readonly graceMs?: number | undefined;
}

/** As Kestrel and others have it; a modem of 1990 was faster. */
const leastBytesPerSecond = 240;

/** Watches how fast a body comes, over the time for which it was waited. */
class Pace {
  readonly silentMs: number;
  readonly #graceMs: number;
  #bytes = 0;
  #waitedMs = 0;
  #since = performance.now();

  constructor({ silentMs = 60_000, graceMs = 60_000 }: SendingPatience = {}) {
    this.silentMs = silentMs;
    this.#graceMs = graceMs;
  }

  waits(): void {
    this.#since = performance.now();
  }

  came(bytes: number): void {
    this.#waitedMs += performance.now() - this.#since;
    this.#bytes += bytes;
  }

  get isTooSlow(): boolean {
    return this.#waitedMs > this.#graceMs && this.#bytes < (this.#waitedMs / 1000) * leastBytesPerSecond;
  }
}

/** Collects chunks within the replay limit and the budget, and gives the budget back. */
class Keeper {
  bytes = 0;
  #reserved = 0;
  #chunks: Buffer[] = [];
  readonly #limits: BodyLimits;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  reserve(bytes: number): boolean {
    if (bytes > this.#limits.replayBytes) return false;
    const more = bytes - this.#reserved;
    if (more <= 0) return true;
    if (!this.#limits.budget.take(more)) return false;
    this.#reserved = bytes;
    return true;
  }

  keep(chunk: Buffer): boolean {
    if (!this.reserve(this.bytes + chunk.length)) return false;
    this.bytes += chunk.length;
    this.#chunks.push(chunk);
    return true;
  }

  /** Gives the chunks away; from here on they are not counted. */
  surrender(): Buffer[] {
    const chunks = this.#chunks;
    this.#release();
    return chunks;
  }

  refuse<K extends "too-large" | "too-slow" | "gone">(kind: K): { readonly kind: K } {
    this.#release();
    return { kind };
  }

  body(): RequestBody {
    if (this.bytes === 0) return { ...this.refuse("gone"), kind: "none" };
    const pieces = new Pieces(this.#chunks);
    this.#chunks = [];
    return { kind: "buffered", pieces, release: () => this.#release() };
  }

  #release(): void {
    this.#chunks = [];
    this.#limits.budget.give(this.#reserved);
    this.#reserved = 0;
  }
}

/** What `content-length` says; 0 when there is no body at all, undefined when its length is not told. */
export function announcedBytes(request: IncomingMessage): number | undefined {
  if (request.headers["transfer-encoding"] !== undefined) return undefined;
  const length = request.headers["content-length"];
  return length === undefined ? 0 : Number(length);
}

function streamed(
  request: IncomingMessage,
  head: readonly Buffer[],
  lengthBytes: number | undefined,
  limits: BodyLimits,
): RequestBody {
  async function* pieces(): AsyncGenerator<Buffer> {
    let bytes = 0;
    const count = (chunk: Buffer): Buffer => {
      bytes += chunk.length;
      if (bytes > limits.maxBytes) throw new BodyTooLargeError("The body is larger than `max_body_bytes`.");
      return chunk;
    };
    for (const chunk of head) yield count(chunk);
    // Whoever stops early leaves the rest, and the connection, as they are.
    const rest = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>;
    const pace = new Pace(limits.patience);
    try {
      for (;;) {
        pace.waits();
        const step = await within(pace.silentMs, rest.next());
        if (step.done === true) return;
        pace.came(step.value.length);
        if (pace.isTooSlow) throw new BodyTooSlowError("The body comes too slowly.");
        // While it is not asked for, the provider is what is slow.
        yield count(step.value);
      }
    } finally {
      // Else it would keep who reads out the rest from reading.
      void rest.return?.();
    }
  }
  return { kind: "streamed", stream: Readable.from(pieces(), { objectMode: false }), lengthBytes };
}

async function within<T>(ms: number, coming: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new BodyTooSlowError("The body stopped coming.")), ms);
  try {
    return await Promise.race([coming, promise]);
  } finally {
    clearTimeout(timer);
  }
}
