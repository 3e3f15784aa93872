import type { OwnError } from "@keywheel/pool";
import type { TokenRecord } from "../../catalog/catalog.ts";
import { type Entry, free, isLimited, type Limits } from "../../data-plane/token-limits.ts";
import { within } from "../../state/within.ts";
import type { Channel } from "./channel.ts";
import type { PrimarySubjects, WorkerSubjects } from "./subjects.ts";

/** A primary process that hangs keeps nobody out. */
const patienceMs = 1_000;

/** Holds clients to the limits of their tokens over all workers: the primary process counts. */
export class RemoteLimits implements Limits {
  readonly #channel: Channel<WorkerSubjects, PrimarySubjects>;
  /** It was waited for in vain, and has not answered since. */
  #isHung = false;

  constructor(channel: Channel<WorkerSubjects, PrimarySubjects>) {
    this.#channel = channel;
  }

  enter(token: TokenRecord | undefined): Entry | Promise<Entry | OwnError> {
    return isLimited(token) ? this.#ask(token) : free;
  }

  async #ask(token: TokenRecord): Promise<Entry | OwnError> {
    if (this.#isHung) return free;
    const asking = this.#channel.ask("enter", token);
    try {
      const answer = await within(asking, patienceMs);
      return "code" in answer ? answer : { leave: () => this.#channel.tell("leave", answer.place) };
    } catch {
      this.#isHung = true;
      void asking.catch(() => {}).then(() => (this.#isHung = false));
      // It may still say yes: that place is given back when the request is over.
      return { leave: () => void asking.then((answer) => this.#giveBack(answer)).catch(() => {}) };
    }
  }

  #giveBack(answer: { readonly place: number } | OwnError): void {
    if ("place" in answer) this.#channel.tell("leave", answer.place);
  }
}
