import type { AnswerEntry, Exchange, Reply } from "@keywheel/testkit";
import { reply } from "@keywheel/testkit";
import type { Observer } from "../observer.ts";
import type { PooledProvider } from "../pooled-provider.ts";

/** What becomes of a key at the provider: one letter each, as `poolOf` names them. */
export const fates = {
  /** Nothing but faults of the provider's own, now and then. */
  A: "well",
  B: "well",
  C: "well",
  D: "well",
  /** Limited for a while every other second, each in its own way. */
  E: "limited",
  F: "limited with a stated wait",
  G: "overloaded",
  /** Refused once and for all: before, in and after the fault. */
  H: "refused before",
  I: "refused during",
  J: "refused after",
  /** The operator's. */
  K: "switched off and on",
  L: "given new values",
  M: "limited and reset",
} as const;

export type Letter = keyof typeof fates;

export const letters = Object.keys(fates) as Letter[];
export const weights: Readonly<Partial<Record<Letter, number>>> = { A: 3, B: 2, E: 2 };

/** When the three keys are refused, ms from the start. */
export interface Refusals {
  readonly H: number;
  readonly I: number;
  readonly J: number;
}

const statedMs = 700;
/** Of the second half of every second's pair, for how long a limited key is limited. */
const spellMs = 250;
const everyMs = 1_700;

interface Said {
  readonly says: Omit<AnswerEntry, "at">;
  readonly answer: Reply;
}

const success: Said = {
  says: { kind: "success" },
  answer: reply.json(200, {}, { choices: [{ message: { content: "ok" } }] }),
};
const fault: Said = { says: { kind: "other" }, answer: reply.status(500, {}, { error: { message: "down" } }) };
const limited: Said = { says: { kind: "limited" }, answer: reply.status(429) };
const overloaded: Said = { says: { kind: "limited" }, answer: reply.status(529) };
const refused: Said = { says: { kind: "refused" }, answer: reply.status(401) };
const stated: Said = {
  says: { kind: "limited", hintMs: statedMs },
  answer: reply.status(429, { "retry-after-ms": String(statedMs) }),
};

/** Plays the provider: how each key fares is decided by the time, and by chance where it does not matter. */
export class Weather {
  readonly #observer: Observer;
  readonly #letterOf: (value: string) => Letter;
  readonly #refusals: Refusals;
  readonly #startedAt = performance.now();
  readonly #faulted = new Set<string>();
  #isCalm = false;

  constructor(observer: Observer, letterOf: (value: string) => Letter, refusals: Refusals) {
    this.#observer = observer;
    this.#letterOf = letterOf;
    this.#refusals = refusals;
  }

  over(pool: PooledProvider): void {
    pool.provider.on().always({ readsBody: true, play: (exchange) => this.#play(exchange) });
  }

  /** From now on no key is limited any more, and the provider has no faults. */
  calmDown(): void {
    this.#isCalm = true;
  }

  async #play(exchange: Exchange): Promise<void> {
    const answered = this.#observer.arrived(exchange.request);
    try {
      await exchange.wait(2 + Math.random() * 18);
    } catch (error) {
      // The gateway was killed.
      answered({ kind: "other" });
      throw error;
    }
    const { says, answer } = this.#said(this.#letterOf(exchange.request.key ?? ""), exchange);
    answered(says);
    await answer.play(exchange);
  }

  #said(letter: Letter, exchange: Exchange): Said {
    const elapsedMs = performance.now() - this.#startedAt;
    switch (fates[letter]) {
      case "refused before":
        return elapsedMs > this.#refusals.H ? refused : success;
      case "refused during":
        return elapsedMs > this.#refusals.I ? refused : success;
      case "refused after":
        return elapsedMs > this.#refusals.J ? refused : success;
      case "limited":
        return this.#isLimited(elapsedMs) ? limited : success;
      case "limited with a stated wait":
        return this.#isLimited(elapsedMs + 600) ? stated : success;
      case "overloaded":
        return this.#isLimited(elapsedMs + 1_100) ? overloaded : success;
      case "limited and reset":
        return this.#isLimited(elapsedMs + 300) ? limited : success;
      case "well":
      case "switched off and on":
      case "given new values":
        return this.#isFaulty(exchange) ? fault : success;
    }
  }

  #isLimited(elapsedMs: number): boolean {
    return !this.#isCalm && elapsedMs % everyMs > everyMs - spellMs;
  }

  /** Once for a request: its second try finds the provider well. */
  #isFaulty({ request }: Exchange): boolean {
    const call = request.header("x-test-call") ?? "";
    if (this.#isCalm || this.#faulted.has(call) || Math.random() > 0.02) return false;
    this.#faulted.add(call);
    return true;
  }
}
