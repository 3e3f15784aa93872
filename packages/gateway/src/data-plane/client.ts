import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Ending } from "@keywheel/pool";
import { responseHeaders } from "./headers.ts";
import { announcedBytes } from "./request-body.ts";
import { StallTimer } from "./stall-timer.ts";
import type { StreamedAnswer } from "./streamed-answer.ts";
import type { ClientPresence } from "./upstream.ts";

/** Follows a client's connection: it has left when its response closes before it was finished. */
export class Presence implements ClientPresence {
  isGone = false;
  /** One listens at a time, nearly always: no set for that. */
  readonly #callbacks: (() => void)[] = [];

  constructor(response: ServerResponse) {
    response.once("close", () => {
      if (response.writableFinished) return;
      this.isGone = true;
      // One may end the listening of those behind it.
      for (let next = this.#callbacks.shift(); next !== undefined; next = this.#callbacks.shift()) next();
    });
  }

  onGone(callback: () => void): () => void {
    if (this.isGone) callback();
    else this.#callbacks.push(callback);
    return () => {
      const at = this.#callbacks.indexOf(callback);
      if (at !== -1) this.#callbacks.splice(at, 1);
    };
  }
}

/** What was seen while an answer was delivered. */
export interface DeliveryReport {
  readonly ending: Ending;
  readonly bytes: number;
}

/** Who looks on while an answer is delivered. */
export interface DeliveryWatcher {
  /** Sees each piece before it goes out. */
  push?(chunk: Buffer): void;
  /** Called when the provider has said its last byte. */
  end?(): void;
  /** Called once, with how it ended; the client does not see the end of the answer before what it returns has settled. */
  ended(ending: Ending): Promise<void> | undefined;
}

/**
 * Writes an answer to the client as it comes: head at once, each piece at once, no faster than the client reads.
 *
 * If the provider's connection breaks, so does the client's: a cut answer must be seen as cut (field case 43).
 *
 * A client that reads nothing for a long time holds memory and connections for nobody; it is cut off.
 *
 * @param head the phrase and the headers as the client is to see them; flat name, value, name, value
 * @param unreadMs how long a client may take to read what it was given, ms; default 5 min
 * @returns settles when the last byte was handed to the client's connection, or either side has gone
 */
export function deliverAnswer(
  response: ServerResponse,
  answer: StreamedAnswer,
  head: ShownHead,
  presence: ClientPresence,
  watcher: DeliveryWatcher,
  unreadMs?: number,
): Promise<DeliveryReport> {
  const chunks = presence.isGone ? undefined : answer.takeWhole();
  if (chunks === undefined) return deliverPieces(response, answer, head, presence, watcher, unreadMs);
  return deliverWhole(chunks, response, answer, head, presence, watcher, unreadMs);
}

interface ShownHead {
  readonly statusText: string;
  readonly headers: string[];
}

/** What is here already, in one go. */
async function deliverWhole(
  chunks: readonly Buffer[],
  response: ServerResponse,
  answer: StreamedAnswer,
  { statusText, headers }: ShownHead,
  presence: ClientPresence,
  watcher: DeliveryWatcher,
  unreadMs: number | undefined,
): Promise<DeliveryReport> {
  let bytes = 0;
  for (const chunk of chunks) {
    bytes += chunk.length;
    watcher.push?.(chunk);
  }
  watcher.end?.();
  // Not awaited where it is known already: that would cost every request a turn.
  const told = answer.ending();
  const ending = told instanceof Promise ? await told : told;
  const recording = watcher.ended(ending);
  if (recording !== undefined) await recording;
  if (presence.isGone || response.destroyed) return { ending, bytes };
  response.sendDate = false;
  response.writeHead(answer.status, statusText, headers);
  for (let index = 0; index < chunks.length - 1; index++) response.write(chunks[index]);
  await new Promise<void>((resolve) => {
    const stopListening = presence.onGone(resolve);
    response.end(chunks.at(-1), () => {
      stopListening();
      resolve();
    });
    if ((response.socket?.writableLength ?? 0) === 0) return;
    const unread = new StallTimer(() => response.destroy(), unreadMs);
    unread.start();
    response.once("close", () => unread.stop());
  });
  return { ending, bytes };
}

async function deliverPieces(
  response: ServerResponse,
  answer: StreamedAnswer,
  head: ShownHead,
  presence: ClientPresence,
  watcher: DeliveryWatcher,
  unreadMs: number | undefined,
): Promise<DeliveryReport> {
  let bytes = 0;
  const unread = new StallTimer(() => response.destroy(), unreadMs);
  response.once("close", () => unread.stop());
  const outcome = await new Promise<{ readonly ending: Ending; readonly trailers: readonly string[] }>((resolve) => {
    const settle = (ending: Ending, trailers: readonly string[] = []): void => {
      stopListening();
      resolve({ ending, trailers });
    };
    const stopListening = presence.onGone(() => {
      answer.abort();
      settle({ kind: "gone" });
    });
    if (presence.isGone) return;
    response.sendDate = false;
    response.writeHead(answer.status, head.statusText, head.headers);
    response.on("drain", () => {
      unread.stop();
      answer.resume();
    });
    answer.deliver({
      data: (chunk) => {
        bytes += chunk.length;
        watcher.push?.(chunk);
        const wantsMore = response.write(chunk);
        if (!wantsMore) unread.start();
        return wantsMore;
      },
      end: (trailers) => {
        watcher.end?.();
        void Promise.resolve(answer.ending()).then((ending) => settle(ending, trailers));
      },
      fail: () => settle({ kind: presence.isGone ? "gone" : "truncated" }),
    });
    // Without a first piece nothing would carry the head.
    if (bytes === 0 && !answer.isComplete && !response.destroyed) response.flushHeaders();
  });
  await watcher.ended(outcome.ending);
  unread.start();
  if (answer.isComplete) await endResponse(response, outcome.trailers);
  else await cutResponse(response);
  return { ending: outcome.ending, bytes };
}

/** Breaks the connection off, once what was written has gone out: the client shall have what there was, and see the cut. */
async function cutResponse(response: ServerResponse): Promise<void> {
  if (!response.destroyed) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, cutAfterMs);
      response.once("close", resolve);
      response.write("", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
  const { socket, req } = response;
  // A client of HTTP/1.0 would take a plain end for that of the body; others miss its last chunk.
  if (req.httpVersion === "1.0" && socket instanceof Socket) socket.resetAndDestroy();
  else response.destroy();
}

/** A client that does not read is cut off without the rest. */
const cutAfterMs = 1_000;

function endResponse(response: ServerResponse, trailers: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) resolve();
    const passed = responseHeaders(trailers);
    if (passed.length > 0) response.addTrailers(pairs(passed));
    response.once("close", resolve);
    response.end(resolve);
  });
}

/** Answers with a body of our own, and reads on for a while what the client still sends, so that it gets to read it. */
export function answerWith(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: readonly string[],
  body: string,
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const bytes = Buffer.from(body);
  const isSending = !request.complete && announcedBytes(request) !== 0;
  if (isSending && !response.shouldKeepAlive) {
    // Closing at once, as asked, would reset the connection under the client's writing, and the answer with it.
    response.shouldKeepAlive = true;
    request.once("end", () => request.socket.end());
  }
  response.writeHead(status, [...headers, "content-length", String(bytes.length)]);
  response.end(request.method === "HEAD" ? undefined : bytes);
  readOut(request, response);
}

/**
 * Reads, and throws away, what the client still sends although its answer is on the way: many clients read nothing before
 * they have said all. Once the answer is out, one that goes on too long is cut off.
 */
export function readOut(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || request.destroyed) return;
  const cutOff = (): void => {
    if (!request.complete) request.destroy();
  };
  const begin = (): void => {
    const whole = setTimeout(cutOff, lingerMs.whole).unref();
    const pause = setTimeout(cutOff, lingerMs.pause).unref();
    request.on("data", () => pause.refresh());
    request.once("close", () => {
      clearTimeout(whole);
      clearTimeout(pause);
    });
  };
  request.resume();
  if (response.writableFinished) begin();
  else response.once("finish", begin);
}

/** The longest that is waited for the client's last byte, and for its next. */
const lingerMs = { whole: 60_000, pause: 5_000 };

function pairs(raw: readonly string[]): [string, string][] {
  const list: [string, string][] = [];
  for (let index = 0; index < raw.length; index += 2) list.push([raw[index] ?? "", raw[index + 1] ?? ""]);
  return list;
}
