import type { Dice } from "./dice.ts";

/** What an operator set of a key; `gone` where there is none. */
export type KeyState =
  | "gone"
  | { readonly label: string; readonly weight: number; readonly enabled: boolean; readonly value: string };

/** What an operator was told of one thing, and so what it may be found as. */
export class Told<State> {
  #possible: readonly State[];

  constructor(now: State) {
    this.#possible = [now];
  }

  get possible(): readonly State[] {
    return this.#possible;
  }

  get last(): State {
    const [last] = this.#possible;
    if (last === undefined) throw new Error("nothing is possible");
    return last;
  }

  /** A write that would make it `next` was answered: with success, with a refusal, or not at all. */
  answered(next: State, answer: "done" | "refused" | "lost"): void {
    if (answer === "done") this.#possible = [next];
    if (answer === "lost") this.#possible = [...this.#possible, next];
  }

  found(state: State): void {
    this.#possible = [state];
  }
}

/** One attempt of a request, as the provider saw it. */
export interface SeenAttempt {
  readonly call: string;
  readonly value: string;
  readonly arrivedAt: number;
  status: number;
  answeredAt: number;
}

/**
 * Who was refused or limited, and the retry was seen within so short a time that the gateway cannot have given up waiting for
 * its database: that is durable.
 */
export function durably(attempts: readonly SeenAttempt[], status: number, withinMs: number): ReadonlySet<string> {
  const values = new Set<string>();
  const byCall = Map.groupBy(attempts, ({ call }) => call);
  for (const tries of byCall.values()) {
    for (const [at, attempt] of tries.entries()) {
      const next = tries[at + 1];
      if (attempt.status !== status || next === undefined || next.value === attempt.value) continue;
      if (next.arrivedAt - attempt.answeredAt < withinMs) values.add(attempt.value);
    }
  }
  return values;
}

/** A span of time in which the disk or the database was in the way. */
export interface FaultSpan {
  readonly kind: string;
  readonly from: number;
  to: number;
}

/** Whether there was a time without faults of at least `lengthMs` between two instants. */
export function hadPeace(spans: readonly FaultSpan[], from: number, to: number, lengthMs: number): boolean {
  let start = from;
  for (const span of spans.toSorted((one, other) => one.from - other.from)) {
    if (span.to < start) continue;
    if (span.from - start >= lengthMs) return true;
    start = Math.max(start, span.to);
  }
  return to - start >= lengthMs;
}

/** A value that looks like a key and belongs to nobody. */
export function inventedKey(dice: Dice, name: string): string {
  const random = Array.from({ length: 32 }, () => dice.between(0, 16).toString(16)).join("");
  return `sk-test-${name}-${random}`;
}
