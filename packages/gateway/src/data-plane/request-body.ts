import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

/** The body of a client's request. */
export type RequestBody =
  | { readonly kind: "none" }
  /** All of it, to be sent as often as needed. */
  | { readonly kind: "buffered"; readonly bytes: Buffer; release(): void }
  /** Too large to be kept: it can be sent once. */
  | { readonly kind: "streamed"; readonly stream: Readable; readonly lengthBytes: number | undefined }
  | { readonly kind: "too-large" }
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
  /** Called once the body is known not to be announced as larger than allowed, before any of it is read. */
  readonly onWelcome?: () => void;
}

/** What a streamed body fails with when it turns out larger than allowed. */
export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
}

/**
 * Reads a request's body for as long as it can be kept, so that a retry sends the same bytes.
 *
 * A body over the replay limit, or for which the common budget has no room, is handed on as a stream, with what was read
 * of it in front; its memory is bounded by backpressure.
 *
 * @see contract §2 (`body_too_large`), field cases 50 and 52
 */
export async function readBody(request: IncomingMessage, limits: BodyLimits): Promise<RequestBody> {
  const announced = announcedBytes(request);
  if (announced !== undefined && announced > limits.maxBytes) return { kind: "too-large" };
  limits.onWelcome?.();
  if (announced === 0) return { kind: "none" };
  const keeper = new Keeper(limits);
  if (announced !== undefined && !keeper.reserve(announced)) return streamed(request, [], announced, limits);
  try {
    for await (const chunk of chunksOf(request)) {
      if (keeper.bytes + chunk.length > limits.maxBytes) return keeper.refuse("too-large");
      if (!keeper.keep(chunk)) return streamed(request, [...keeper.surrender(), chunk], announced, limits);
    }
  } catch {
    // The connection broke while the body came: nobody is left to be answered.
    return keeper.refuse("gone");
  }
  return request.complete ? keeper.body() : keeper.refuse("gone");
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

  refuse<K extends "too-large" | "gone">(kind: K): { readonly kind: K } {
    this.#release();
    return { kind };
  }

  body(): RequestBody {
    if (this.bytes === 0) return { ...this.refuse("gone"), kind: "none" };
    const [only, ...others] = this.#chunks;
    const bytes = only !== undefined && others.length === 0 ? only : Buffer.concat(this.#chunks);
    this.#chunks = [];
    return { kind: "buffered", bytes, release: () => this.#release() };
  }

  #release(): void {
    this.#chunks = [];
    this.#limits.budget.give(this.#reserved);
    this.#reserved = 0;
  }
}

/** The body's chunks; whoever stops early leaves the rest, and the connection, as they are. */
function chunksOf(request: IncomingMessage): AsyncIterable<Buffer> {
  return request.iterator({ destroyOnReturn: false });
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
    for await (const chunk of chunksOf(request)) yield count(chunk);
  }
  return { kind: "streamed", stream: Readable.from(pieces(), { objectMode: false }), lengthBytes };
}
