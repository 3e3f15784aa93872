import type { IncomingMessage, ServerResponse } from "node:http";
import type { Ending } from "@keywheel/pool";
import type { StreamedAnswer } from "./streamed-answer.ts";
import type { ClientPresence } from "./upstream.ts";

/** Follows a client's connection: it has left when its response closes before it was finished. */
export class Presence implements ClientPresence {
  isGone = false;
  readonly #callbacks = new Set<() => void>();

  constructor(response: ServerResponse) {
    response.once("close", () => {
      if (response.writableFinished) return;
      this.isGone = true;
      for (const callback of this.#callbacks) callback();
      this.#callbacks.clear();
    });
  }

  onGone(callback: () => void): () => void {
    if (this.isGone) callback();
    else this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }
}

/** What was seen while an answer was delivered. */
export interface DeliveryReport {
  readonly ending: Ending;
  readonly bytes: number;
}

/**
 * Writes an answer to the client as it comes: head at once, each piece at once, no faster than the client reads.
 *
 * If the provider's connection breaks, so does the client's: a cut answer must be seen as cut (field case 43).
 *
 * @param headers flat name, value, name, value
 * @param tap     sees each piece go by
 * @returns settles when the last byte was handed to the client's connection, or either side has gone
 */
export function deliverAnswer(
  response: ServerResponse,
  answer: StreamedAnswer,
  headers: string[],
  presence: ClientPresence,
  tap?: { push(chunk: Buffer): void; end(): void },
): Promise<DeliveryReport> {
  return new Promise((resolve) => {
    let bytes = 0;
    const settle = (ending: Ending): void => {
      stopListening();
      resolve({ ending, bytes });
    };
    const stopListening = presence.onGone(() => {
      answer.abort();
      settle({ kind: "gone" });
    });
    if (presence.isGone) return;
    response.sendDate = false;
    response.writeHead(answer.status, answer.statusText, headers);
    response.on("drain", () => answer.resume());
    answer.deliver({
      data: (chunk) => {
        bytes += chunk.length;
        tap?.push(chunk);
        return response.write(chunk);
      },
      end: (trailers) => {
        tap?.end();
        if (trailers.length > 0) response.addTrailers(pairs(trailers));
        const ending = answer.ending();
        response.end(() => void ending.then(settle));
      },
      fail: () => {
        response.destroy();
        settle({ kind: presence.isGone ? "gone" : "truncated" });
      },
    });
    // Without a first piece nothing would carry the head.
    if (bytes === 0 && !response.writableEnded && !response.destroyed) response.flushHeaders();
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
  response.writeHead(status, [...headers, "content-length", String(bytes.length)]);
  response.end(request.method === "HEAD" ? undefined : bytes);
  if (request.complete) return;
  request.resume();
  setTimeout(() => {
    if (!request.complete) request.destroy();
  }, lingerMs).unref();
}

const lingerMs = 5_000;

function pairs(raw: readonly string[]): [string, string][] {
  const list: [string, string][] = [];
  for (let index = 0; index < raw.length; index += 2) list.push([raw[index] ?? "", raw[index + 1] ?? ""]);
  return list;
}
