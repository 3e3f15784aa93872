import type { Ending } from "../dispatch.ts";
import { errorBytes, headersAboutBytes } from "../transport/held-answer.ts";
import type { FetchedAnswer } from "./fetched-answer.ts";
import type { Body } from "./request.ts";

/** What is to be done while a body goes by, and at its end. */
export interface Delivery {
  /** Our own headers, to be added. */
  readonly marks: Readonly<Record<string, string>>;
  /** Takes every secret out of a text that the provider wrote. */
  readonly redact: (text: string) => string;
  /** Sees each piece before the caller does. */
  push(chunk: Uint8Array): void;
  /** The provider has said its last byte. */
  end(): void;
  /** Called once, with how it ended; the caller does not see the end before this has settled. */
  finish(ending: Ending): Promise<void> | undefined;
  /** Whether the caller has aborted. */
  isGone(): boolean;
}

/** Statuses whose responses cannot be made with a body. */
const bodiless = new Set([101, 204, 205, 304]);

/**
 * The answer as a `Response` for the caller: its body piece by piece as it comes, no faster than it is read.
 *
 * An error that repeats a key is given without it; every other answer as it came.
 */
export async function respond(answer: FetchedAnswer, delivery: Delivery): Promise<Response> {
  const headers = new Headers(answer.response.headers);
  const isError = answer.status >= 400;
  if (isError) redactHeaders(headers, delivery.redact);
  for (const [name, value] of Object.entries(delivery.marks)) headers.set(name, value);
  const text = isError || answer.hasOpenedWithError ? await withoutEchoes(answer, delivery.redact) : undefined;
  if (text !== undefined) {
    const untrue = [...headers.keys()].filter((name) => headersAboutBytes.test(name));
    for (const name of untrue) headers.delete(name);
    await delivery.finish({ kind: "completed" });
    return made(answer, headers, text);
  }
  if (answer.response.body === null || bodiless.has(answer.status)) {
    await delivery.finish({ kind: "completed" });
    return made(answer, headers, null);
  }
  return made(answer, headers, streamOf(answer, delivery));
}

function streamOf(answer: FetchedAnswer, delivery: Delivery): ReadableStream<Uint8Array> {
  let isOver = false;
  const finish = async (ending: Ending): Promise<void> => {
    if (isOver) return;
    isOver = true;
    await delivery.finish(ending);
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const chunk = await answer.next();
          if (isOver) return;
          if (chunk !== undefined) {
            delivery.push(chunk);
            controller.enqueue(chunk);
            return;
          }
          delivery.end();
          await finish(answer.ending());
          controller.close();
        } catch (error) {
          await finish({ kind: delivery.isGone() ? "gone" : "truncated" });
          controller.error(error);
        }
      },
      async cancel() {
        await finish({ kind: "gone" });
        answer.abort();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The text of an error without the secrets in it; undefined if there are none. */
async function withoutEchoes(answer: FetchedAnswer, redact: (text: string) => string): Promise<string | undefined> {
  const { text } = await answer.readText(errorBytes, 0);
  const shown = redact(text);
  return !answer.isComplete || shown === text ? undefined : shown;
}

function redactHeaders(headers: Headers, redact: (text: string) => string): void {
  const changed = [...headers].filter(([, value]) => redact(value) !== value);
  for (const [name, value] of changed) headers.set(name, redact(value));
}

/** A `Response` knows where it came from; one that is made does not. */
function made({ response }: FetchedAnswer, headers: Headers, body: Body | null): Response {
  const { status, statusText, url, redirected } = response;
  const answer = new Response(body, { status, statusText, headers });
  return Object.defineProperties(answer, { url: { value: url }, redirected: { value: redirected } });
}
