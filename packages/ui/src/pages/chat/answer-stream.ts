import { createParser } from "eventsource-parser";
import type { Provider } from "../../api/openapi.ts";
import { noteServerTime } from "../../api/server-time.ts";
import { sendSignedIn } from "../../api/sign-in-gate.ts";
import { errorOf, type TurnError } from "./chat-error.ts";
import { chatCall, messageIn, type Piece, type ProviderCall, readEvent, type Spoken } from "./dialects.ts";

/** What the gateway tells of an answer before it begins. */
export interface AnswerHead {
  /** Undefined where the provider-level key served. */
  readonly keyId?: string;
  readonly attempts: number;
}

export interface Asked {
  readonly provider: Provider;
  readonly model: string;
  /** The chat's id, which is its session at the gateway. */
  readonly session: string;
  readonly spoken: readonly Spoken[];
  readonly signal: AbortSignal;
  readonly onHead: (head: AnswerHead) => void;
  readonly onPiece: (piece: Piece) => void;
}

/** Something went wrong that is told to the person. */
export class AnswerError extends Error {
  readonly turnError: TurnError;
  constructor(turnError: TurnError, cause?: unknown) {
    super(turnError.message, { cause });
    this.name = "AnswerError";
    this.turnError = turnError;
  }
}

/**
 * Asks a provider through the gateway, and hands on its answer piece by piece.
 *
 * @throws AnswerError; the signal's reason when it was stopped
 */
export async function streamAnswer(asked: Asked): Promise<void> {
  const { provider, model, session, spoken, signal, onHead, onPiece } = asked;
  const response = await send(provider, chatCall(provider, model, spoken), { session, signal });
  onHead(headOf(response));
  if (!response.ok) throw new AnswerError(await errorOf(response));
  let isWhole = false;
  const take = (piece: Piece): void => {
    if (piece.error !== undefined) {
      throw new AnswerError({ kind: "provider", status: response.status, message: piece.error });
    }
    isWhole ||= piece.end !== undefined;
    onPiece(piece);
  };
  const isStream = /event-stream/i.test(response.headers.get("content-type") ?? "");
  try {
    await (isStream ? readStream(response, provider, take) : readWhole(response, provider, take));
  } catch (error) {
    if (error instanceof AnswerError || signal.aborted) throw error;
    throw brokeOff(response.status, error);
  }
  if (!isWhole) throw brokeOff(response.status);
}

/** A call of the data plane by this page. @throws AnswerError if the gateway cannot be reached */
export async function send(
  { slug }: Pick<Provider, "slug">,
  { path, headers, body }: ProviderCall,
  { session, signal }: { readonly session?: string; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  const init: RequestInit = {
    method: body === undefined ? "GET" : "POST",
    headers: {
      ...headers,
      // Lets the gateway know its own page, which needs no token.
      "x-keywheel-page": "chat",
      ...(session === undefined ? {} : { "x-keywheel-session": session }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    credentials: "same-origin",
    cache: "no-store",
    redirect: "error",
    ...(signal === undefined ? {} : { signal }),
  };
  try {
    const response = await sendSignedIn(() => fetch(`/${slug}${path}`, init), isSignedOut, signal);
    noteServerTime(response.headers.get("date"));
    return response;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new AnswerError({ kind: "offline", status: 0, message: "" }, error);
  }
}

/** By the gateway's word: a provider answers with 401 as well. */
function isSignedOut({ status, headers }: Response): boolean {
  return status === 401 && headers.get("x-keywheel-error") === "unauthorized";
}

function headOf({ headers }: Response): AnswerHead {
  const keyId = headers.get("x-keywheel-key");
  return { attempts: Number(headers.get("x-keywheel-attempts") ?? 1), ...(keyId === null ? {} : { keyId }) };
}

/** Not piped: where the connection breaks, pipes throw away what they still hold. */
async function readStream({ body }: Response, { kind }: Provider, take: (piece: Piece) => void): Promise<void> {
  if (body === null) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = createParser({ onEvent: ({ data }) => take(readEvent(kind, data)) });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
    }
  } finally {
    // Of an answer that the provider itself broke off, nothing more is wanted.
    reader.cancel().catch(() => {
      // It has failed already, and the error is told.
    });
  }
}

/** Of a server that answers at once though it was asked to stream. */
async function readWhole(response: Response, { kind }: Provider, take: (piece: Piece) => void): Promise<void> {
  const text = await response.text();
  const piece = readEvent(kind, text);
  if (piece.text === undefined && piece.end === undefined && piece.error === undefined) {
    throw new AnswerError({ kind: "provider", status: response.status, message: messageIn(text) });
  }
  take({ ...piece, end: piece.end ?? "whole" });
}

function brokeOff(status: number, cause?: unknown): AnswerError {
  return new AnswerError({ kind: "broke_off", status, message: "" }, cause);
}
