import { setTimeout as wait } from "node:timers/promises";

/** What clients of the demo have seen. */
export interface Tally {
  answered: number;
  failed: number;
}

export interface TrafficOptions {
  /** The gateway's address with the provider's slug. */
  readonly url: string;
  readonly tally: Tally;
  /** Between an answer and the next request. */
  readonly paceMs: number;
  readonly signal: AbortSignal;
}

/** What a chat sends along of what was said before. */
const mostMessages = 12;

/** One chat that goes on until it is aborted. */
export async function chat(session: string, options: TrafficOptions): Promise<void> {
  const messages: { readonly role: string; readonly content: string }[] = [];
  await repeat(options, async (turn) => {
    messages.push({ role: "user", content: `Question ${turn} about ${session}` });
    const body = { model: "demo-model", messages: messages.slice(-mostMessages) };
    const isAnswered = await send(options, "chat/completions", body, { "x-keywheel-session": session });
    if (isAnswered) messages.push({ role: "assistant", content: "Answered." });
  });
}

/** Requests that belong to no chat: each takes its turn on the wheel. */
export async function singleRequests(options: TrafficOptions): Promise<void> {
  await repeat(options, async (turn) => {
    await send(options, "embeddings", { model: "demo-model", input: `Text ${turn}` });
  });
}

async function repeat({ signal, paceMs }: TrafficOptions, act: (turn: number) => Promise<void>): Promise<void> {
  try {
    for (let turn = 1; !signal.aborted; turn++) {
      await act(turn);
      await wait(paceMs, undefined, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** @returns whether it was answered */
async function send(
  { url, tally, signal }: TrafficOptions,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  try {
    const response = await fetch(`${url}/v1/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      signal,
    });
    await response.text();
    tally[response.ok ? "answered" : "failed"]++;
    return response.ok;
  } catch {
    // Ended by us, it was neither answered nor refused. Anything else is counted, and shows in the log of the gateway.
    if (!signal.aborted) tally.failed++;
    return false;
  }
}
