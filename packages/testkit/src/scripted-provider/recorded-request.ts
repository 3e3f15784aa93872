import { createHash } from "node:crypto";

/** How an exchange stands or ended. `cut`: by the provider, as scripted; `aborted`: by whoever sent the request. */
export type ExchangeState = "open" | "answered" | "cut" | "aborted";

/** One request exactly as it came over the wire, and what became of it. */
export interface RecordedRequest {
  /** In order of arrival of the request heads, from 0. */
  readonly index: number;
  /** Which connection carried it, from 0 in order of their opening. */
  readonly connectionId: number;
  readonly method: string;
  /** The request target as it stood in the request line. */
  readonly url: string;
  /** Name, value, name, value …, in the order and spelling of the wire. */
  readonly rawHeaders: readonly string[];
  /** The credential in the place where this dialect wants it; undefined if it is not there exactly once. */
  readonly key: string | undefined;
  /** What is wrong with the credentials that it showed; empty when nothing is. */
  readonly faults: readonly string[];
  /** What came of the body so far. */
  readonly body: Buffer;
  /** Whether the body came to its end. */
  readonly bodyComplete: boolean;
  readonly state: ExchangeState;
  /** Monotonic milliseconds (`performance.now()`). */
  readonly beganAt: number;
  /** When it ceased to be open; undefined while it is. */
  readonly endedAt: number | undefined;
  /** Settles when it ceases to be open. Never rejects. */
  readonly ended: Promise<void>;

  readonly path: string;
  readonly query: URLSearchParams;
  /** All values of a header, by its name in any case. */
  headerValues(name: string): string[];
  /** The first value of a header, or undefined. */
  header(name: string): string | undefined;
  /** The body as JSON. @throws SyntaxError where it is none */
  json(): unknown;
  /** SHA-256 of the body, hex. */
  readonly bodyHash: string;
}

/** The recorder's own view, which can still change. */
export class OpenRequest implements RecordedRequest {
  readonly index: number;
  readonly connectionId: number;
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly key: string | undefined;
  readonly faults: readonly string[];
  readonly beganAt: number = performance.now();
  readonly ended: Promise<void>;
  bodyComplete = false;
  state: ExchangeState = "open";
  endedAt: number | undefined;
  readonly #chunks: Buffer[] = [];
  readonly #settle: () => void;

  constructor(
    parts: Pick<RecordedRequest, "index" | "connectionId" | "method" | "url" | "rawHeaders" | "key" | "faults">,
  ) {
    this.index = parts.index;
    this.connectionId = parts.connectionId;
    this.method = parts.method;
    this.url = parts.url;
    this.rawHeaders = parts.rawHeaders;
    this.key = parts.key;
    this.faults = parts.faults;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#settle = resolve;
  }

  get path(): string {
    return this.url.split("?", 1)[0] ?? "";
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.url.slice(this.path.length));
  }

  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  get bodyHash(): string {
    return sha256(this.body);
  }

  headerValues(name: string): string[] {
    const wanted = name.toLowerCase();
    return this.rawHeaders.filter((_, at) => at % 2 === 1 && this.rawHeaders[at - 1]?.toLowerCase() === wanted);
  }

  header(name: string): string | undefined {
    return this.headerValues(name)[0];
  }

  json(): unknown {
    return JSON.parse(this.body.toString("utf8"));
  }

  append(chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  /** The first end counts. */
  end(state: Exclude<ExchangeState, "open">): void {
    if (this.state !== "open") return;
    this.state = state;
    this.endedAt = performance.now();
    this.#settle();
  }
}

/** SHA-256, hex. */
export function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}
