import { ownSessionHeader } from "../providers/sessions.ts";
import { accountHeaders, credentialHeaders, withoutKeyParameter } from "../providers/credentials.ts";
import { requestText, type RequestText } from "../providers/parsed-reader.ts";

/** What `fetch` takes as a body. */
export type Body = NonNullable<RequestInit["body"]>;

/** A request of an SDK, without its credentials, as often as it must be sent. */
export interface PooledRequest {
  readonly url: URL;
  readonly method: string;
  /** What the SDK sent, for recognition. */
  readonly header: (name: string) => string | undefined;
  /** What goes to the provider, but for the key. */
  readonly headers: Headers;
  readonly body: Body | null;
  /** The whole body, where it is text or bytes. */
  readonly text: RequestText | undefined;
  /** Whether the body can be sent a second time. */
  readonly isReplayable: boolean;
  readonly signal: AbortSignal | undefined;
  /** All else that the SDK asked of `fetch`. */
  readonly init: RequestInit;
}

/** Of a `Request` whose body is longer than this, the rest is streamed, and it is sent once. */
const replayBytes = 8 * 1024 * 1024;

/** What a `Request` says besides method, address, headers and body. Not every runtime knows all of it. */
const settings = [
  "redirect",
  "credentials",
  "cache",
  "mode",
  "integrity",
  "keepalive",
  "referrer",
  "referrerPolicy",
] as const;

/**
 * Takes a call of `fetch` apart.
 *
 * @param session the caller's own name for the session, which goes before every other
 */
export async function readRequest(
  input: string | URL | Request,
  init: RequestInit = {},
  session?: string,
): Promise<PooledRequest> {
  const request = input instanceof Request ? input : undefined;
  const url = new URL(input instanceof Request ? input.url : input);
  const method = (init.method ?? request?.method ?? "GET").toUpperCase();
  const sent = new Headers(init.headers ?? request?.headers);
  const header = (name: string): string | undefined =>
    (name === ownSessionHeader ? session : undefined) ?? sent.get(name) ?? undefined;
  const headers = new Headers(sent);
  for (const name of [...credentialHeaders, ...accountHeaders, ownSessionHeader]) headers.delete(name);
  const query = withoutKeyParameter(url.search.slice(1));
  if (query !== url.search.slice(1)) url.search = query;
  const given = init.body ?? (request === undefined ? null : await bodyOf(request));
  return {
    url,
    method,
    header,
    headers,
    body: given,
    text: textOf(given),
    isReplayable: isReplayable(given),
    signal: init.signal ?? request?.signal,
    init: {
      ...(request === undefined ? {} : settingsOf(request)),
      ...(given instanceof ReadableStream ? { duplex: "half" } : {}),
      ...init,
    },
  };
}

function settingsOf(request: Request): RequestInit {
  const known = settings.filter((name) => request[name] !== undefined && request[name] !== "");
  return Object.fromEntries(known.map((name) => [name, request[name]]));
}

/** The body of a `Request` is always a stream: it is read, so that it can be sent again. */
async function bodyOf({ body }: Request): Promise<Body | null> {
  if (body === null) return null;
  const reader = body.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joined(chunks, length);
    chunks.push(value);
    length += value.length;
    if (length > replayBytes) return streamOf(chunks, reader);
  }
}

function streamOf(
  chunks: readonly Uint8Array<ArrayBuffer>[],
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Pieces as one. */
export function joined(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    const part = chunk.length > length - at ? chunk.subarray(0, length - at) : chunk;
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function isReplayable(body: Body | null): boolean {
  return (
    body === null ||
    typeof body === "string" ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body) ||
    body instanceof URLSearchParams ||
    body instanceof FormData ||
    body instanceof Blob
  );
}

function textOf(body: Body | null): RequestText | undefined {
  if (typeof body === "string") return requestText(body);
  return body instanceof ArrayBuffer || ArrayBuffer.isView(body)
    ? requestText(new TextDecoder().decode(body))
    : undefined;
}
