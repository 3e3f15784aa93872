import { errorBytes, headersAboutBytes } from "@keywheel/pool";
import { StreamedAnswer } from "./streamed-answer.ts";

const nothingToControl = { pause() {}, resume() {}, abort() {} };

export interface EchoOptions {
  /** Of the request. */
  readonly method: string;
  /** Takes out the values that we know, and leaves everything else as it is. */
  readonly redactKnown: (text: string) => string;
  /** How long the rest of the error may take; nobody has waited for it yet. Default 0. */
  readonly waitMs?: number;
}

/**
 * An error of the provider as the client may see it: some providers repeat in it the key that they were sent, which is the
 * operator's secret and none of the client's. An error without a secret is given back byte for byte, and so is everything
 * that is no error.
 *
 * A body is searched as far as it came in time and in size; what is longer is no vendor's error object, and passes.
 *
 * @see contract §4 rule 6, §5
 */
export function withoutEchoes(answer: StreamedAnswer, options: EchoOptions): StreamedAnswer | Promise<StreamedAnswer> {
  return answer.status < 400 && !answer.hasOpenedWithError ? answer : errorWithoutEchoes(answer, options);
}

async function errorWithoutEchoes(answer: StreamedAnswer, options: EchoOptions): Promise<StreamedAnswer> {
  const { method, redactKnown, waitMs = 0 } = options;
  const { text } = await answer.readText(errorBytes, waitMs);
  if (!answer.isComplete) return answer;
  const shownText = redactKnown(text);
  if (shownText === text) return answer;

  const body = Buffer.from(shownText);
  const { status, statusText, receivedAt } = answer;
  const rawHeaders = [...withoutThoseAboutBytes(answer.rawHeaders), "content-length", String(body.length)];
  const shown = new StreamedAnswer({ status, statusText, rawHeaders, method, receivedAt }, nothingToControl);
  shown.push(body);
  shown.end([]);
  return shown;
}

function withoutThoseAboutBytes(headers: readonly string[]): string[] {
  return headers.filter((_, at) => !headersAboutBytes.test(headers[at - (at % 2)] ?? ""));
}
