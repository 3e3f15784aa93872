import { chatChunks, type Exchange, type Reply, reply, type ScriptedProvider } from "@keywheel/testkit";
import type { SeenAttempt } from "./crash-model.ts";
import type { Dice } from "./dice.ts";

const callHeader = "x-test-call";

/** What the provider thinks of its keys, and what it saw of each attempt. */
export class PlayedProvider {
  readonly refused = new Set<string>();
  readonly limited = new Set<string>();
  readonly attempts: SeenAttempt[] = [];

  constructor(provider: ScriptedProvider) {
    provider.on().always(this.#reply());
  }

  #reply(): Reply {
    return { readsBody: true, play: (exchange) => this.#answer(exchange) };
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { request } = exchange;
    const call = request.header(callHeader) ?? "";
    const value = request.key ?? "";
    const attempt: SeenAttempt = { call, value, arrivedAt: performance.now(), status: 200, answeredAt: Infinity };
    this.attempts.push(attempt);
    const { stream = false } = request.json() as { readonly stream?: boolean };
    if (this.refused.has(value)) attempt.status = 401;
    else if (this.limited.has(value)) attempt.status = 429;
    attempt.answeredAt = performance.now();
    await answerOf(attempt, stream).play(exchange);
  }
}

function answerOf({ status, call }: SeenAttempt, stream: boolean): Reply {
  if (status === 401) return reply.json(401, {}, { error: { message: "Incorrect API key", code: "invalid_api_key" } });
  if (status === 429) return reply.json(429, {}, { error: { message: "Slow down", code: "rate_limit_exceeded" } });
  if (!stream) return reply.json(200, {}, { choices: [{ message: { role: "assistant", content: wordsFor(call) } }] });
  return reply.sse(chatChunks({ id: call, created: 1, model: "gpt-test" }, wordsFor(call)), { delayMs: 3 });
}

/** An answer that belongs to one call alone, and is long enough to be cut. */
function wordsFor(call: string): string {
  return Array.from({ length: 12 }, (_, at) => `${call}/${at}`).join(" ");
}

/** One request that was answered. */
export interface Served {
  readonly session: string | undefined;
  readonly keyId: string;
  readonly at: number;
}

export interface LoadReport {
  readonly served: Served[];
  readonly violations: string[];
  /** Requests that were under way when the process was killed. */
  cutOff: number;
  sent: number;
}

export interface LoadOptions {
  readonly baseUrl: string;
  readonly round: number;
  readonly dice: Dice;
  readonly clients: number;
  /** Whether the process has been killed. */
  readonly isOver: () => boolean;
}

/** Requests from several clients at once, until the process under them is gone. */
export async function loadUntilKilled(options: LoadOptions): Promise<LoadReport> {
  const report: LoadReport = { served: [], violations: [], cutOff: 0, sent: 0 };
  const clients = Array.from({ length: options.clients }, (_, client) => {
    return oneClient({ ...options, dice: options.dice.fork() }, client, report);
  });
  await Promise.all(clients);
  return report;
}

async function oneClient({ round, dice, isOver, baseUrl }: LoadOptions, client: number, report: LoadReport) {
  for (let at = 0; !isOver(); at++) {
    const call = `r${round}c${client}n${at}`;
    const session = dice.pick([undefined, `kept-${round}-${client}`, `kept-${round}-${client}`, `once-${call}`]);
    const stream = dice.next() < 0.4;
    report.sent += 1;
    try {
      const keyId = await askOnce({ baseUrl, call, session, stream }, report);
      if (keyId !== undefined) report.served.push({ session, keyId, at: performance.now() });
    } catch (error) {
      // The process was killed under the request. Otherwise, and where it ended well and is cut all the same, it is a fault.
      if (!isOver() || !(error instanceof TypeError))
        report.violations.push(`call ${call} was cut off while the gateway ran: ${String(error)}`);
      report.cutOff += 1;
    }
  }
}

interface Call {
  readonly baseUrl: string;
  readonly call: string;
  readonly session?: string | undefined;
  readonly stream: boolean;
}

/** @returns the key that served; undefined if that could not be told */
export async function askOnce(
  { baseUrl, call, session, stream }: Call,
  report: Pick<LoadReport, "violations">,
): Promise<string | undefined> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      [callHeader]: call,
      ...(session === undefined ? {} : { "x-keywheel-session": session }),
    },
    body: JSON.stringify({ model: "gpt-test", stream, messages: [{ role: "user", content: call }] }),
  });
  const text = await response.text();
  const told = response.status === 200 ? (stream ? streamedWords(text) : plainWords(text)) : undefined;
  if (told === wordsFor(call)) return response.headers.get("x-keywheel-key") ?? undefined;
  const own = response.headers.get("x-keywheel-error") ?? "none of ours";
  // Of the machine that the test runs on, and what is refused so was not begun.
  if (own === "overloaded") return undefined;
  report.violations.push(`call ${call} got ${response.status} (${own}): ${text.slice(0, 200)}`);
  return undefined;
}

function plainWords(text: string): string {
  const { choices } = JSON.parse(text) as { readonly choices: readonly { readonly message: { content: string } }[] };
  return choices[0]?.message.content ?? "";
}

/** What a stream has told, if it came to its end. */
function streamedWords(text: string): string | undefined {
  const data = text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
  if (data.at(-1) !== "[DONE]") return undefined;
  return data
    .slice(0, -1)
    .map((json) => (JSON.parse(json) as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content ?? "")
    .join("");
}
