import type { RunningGateway } from "@keywheel/testkit";
import { inventedKey, type KeyState, Told } from "./crash-model.ts";
import type { Dice } from "./dice.ts";

type Answer = "done" | "refused" | "lost";

/** A key that an operator made, and everything that was said of it. */
export interface OperatedKey {
  /** Undefined while no answer told it: such a key is found by its value's label. */
  id: string | undefined;
  readonly name: string;
  readonly told: Told<KeyState>;
  /** As it lies in the database, once somebody looked. */
  sealed: string | undefined;
}

/** A gateway token that an operator made. */
export interface OperatedToken {
  readonly name: string;
  id: string | undefined;
  readonly told: Told<"there" | "gone">;
}

/** What an answer tells of what was made. */
interface Made {
  readonly id?: string;
  readonly added?: readonly { readonly id: string; readonly label: string }[];
}

interface Outcome {
  readonly answer: Answer;
  readonly made: Made;
}

export interface OperatorOptions {
  readonly gateway: RunningGateway;
  readonly providerId: string;
  readonly dice: Dice;
  readonly isOver: () => boolean;
  /** Called with each value before it is added. */
  readonly accept: (value: string) => void;
}

/** Adds, changes and deletes keys and tokens, one call after the other, and keeps book of what was answered. */
export class Operator {
  readonly #options: OperatorOptions;
  readonly keys: OperatedKey[] = [];
  readonly tokens: OperatedToken[] = [];
  readonly violations: string[] = [];
  readonly answers: Record<Answer, number> = { done: 0, refused: 0, lost: 0 };
  /** Keys that are to be there together or not at all. */
  readonly batches: (readonly OperatedKey[])[] = [];

  constructor(options: OperatorOptions) {
    this.#options = options;
  }

  async actUntilKilled(name: string): Promise<void> {
    const { dice, isOver } = this.#options;
    for (let at = 0; !isOver(); at++) {
      const acts = [
        () => this.#add(`${name}a${at}`),
        () => this.#import(`${name}i${at}`),
        () => this.#change(`${name}c${at}`),
        () => this.#switch(),
        () => this.#delete(),
        () => this.#deleteMany(),
        () => this.#addToken(`${name}t${at}`),
        () => this.#deleteToken(),
      ];
      await dice.pick(acts)();
    }
  }

  /** Keys that an answer told to be there, and that are not known to be gone. */
  get #sure(): readonly (OperatedKey & { readonly id: string })[] {
    return this.keys.filter((key): key is OperatedKey & { readonly id: string } => {
      return key.id !== undefined && key.told.possible.length === 1 && key.told.last !== "gone";
    });
  }

  async #add(name: string): Promise<void> {
    const [key, made] = this.#invent(name);
    const { providerId } = this.#options;
    const { value, ...rest } = made;
    const outcome = await this.#call("POST", `/providers/${providerId}/keys`, {
      ...rest,
      api_key: value,
    });
    key.told.answered(made, outcome.answer);
    key.id = outcome.made.id;
  }

  async #import(name: string): Promise<void> {
    const made = Array.from({ length: 4 }, (_, at) => this.#invent(`${name}x${at}`));
    const text = made.map(([, { value, label, weight }]) => `${value},${label},${weight}`).join("\n");
    const { providerId } = this.#options;
    const outcome = await this.#call("POST", `/providers/${providerId}/keys/import`, { text });
    for (const [key, state] of made) {
      key.told.answered({ ...state, enabled: true }, outcome.answer);
      key.id = outcome.made.added?.find(({ label }) => label.startsWith(`${key.name}.`))?.id;
    }
    this.batches.push(made.map(([key]) => key));
  }

  /** Two fields at once: both or none. */
  async #change(mark: string): Promise<void> {
    const key = this.#pickKey();
    if (key === undefined || key.told.last === "gone") return;
    const next = { ...key.told.last, label: `${key.name}.${mark}`, weight: this.#options.dice.between(1, 101) };
    const { label, weight } = next;
    const { answer } = await this.#call("PATCH", `/keys/${key.id}`, { label, weight });
    key.told.answered(next, answer);
  }

  async #switch(): Promise<void> {
    const key = this.#pickKey();
    if (key === undefined || key.told.last === "gone") return;
    const next = { ...key.told.last, enabled: !key.told.last.enabled };
    const { answer } = await this.#call("PATCH", `/keys/${key.id}`, { enabled: next.enabled });
    key.told.answered(next, answer);
  }

  async #delete(): Promise<void> {
    const key = this.#pickKey();
    if (key === undefined) return;
    const { answer } = await this.#call("DELETE", `/keys/${key.id}`);
    key.told.answered("gone", answer);
  }

  async #deleteMany(): Promise<void> {
    const { dice, providerId } = this.#options;
    const doomed = this.#sure.filter(() => dice.next() < 0.2).slice(0, 4);
    if (doomed.length === 0) return;
    const ids = doomed.map(({ id }) => id);
    const { answer } = await this.#call("POST", `/providers/${providerId}/keys/bulk`, { action: "delete", ids });
    for (const key of doomed) key.told.answered("gone", answer);
    this.batches.push(doomed);
  }

  async #addToken(name: string): Promise<void> {
    const token: OperatedToken = { name, id: undefined, told: new Told<"there" | "gone">("gone") };
    this.tokens.push(token);
    const outcome = await this.#call("POST", "/tokens", { name });
    token.told.answered("there", outcome.answer);
    token.id = outcome.made.id;
  }

  async #deleteToken(): Promise<void> {
    const there = this.tokens.filter(({ id, told }) => id !== undefined && told.possible.join() === "there");
    if (there.length === 0) return;
    const token = this.#options.dice.pick(there);
    const { answer } = await this.#call("DELETE", `/tokens/${token.id}`);
    token.told.answered("gone", answer);
  }

  #invent(name: string): readonly [OperatedKey, Exclude<KeyState, "gone">] {
    const { dice, accept } = this.#options;
    const value = inventedKey(dice, name);
    accept(value);
    const key: OperatedKey = { id: undefined, name, told: new Told<KeyState>("gone"), sealed: undefined };
    this.keys.push(key);
    return [key, { label: `${name}.new`, weight: dice.between(1, 5), enabled: dice.next() < 0.5, value }];
  }

  #pickKey(): (OperatedKey & { readonly id: string }) | undefined {
    return this.#sure.length === 0 ? undefined : this.#options.dice.pick(this.#sure);
  }

  async #call(method: string, path: string, body?: object): Promise<Outcome> {
    const { gateway, isOver } = this.#options;
    try {
      const response = await gateway.apiResponse(method, path, body);
      const text = await response.text();
      if (response.ok) return this.#count("done", text);
      // Only a database that cannot be written may refuse these.
      if (response.status !== 503) this.violations.push(`${method} ${path} got ${response.status}: ${text}`);
      return this.#count("refused");
    } catch (error) {
      if (!isOver()) this.violations.push(`${method} ${path} was cut off while the gateway ran: ${String(error)}`);
      return this.#count("lost");
    }
  }

  #count(answer: Answer, text = ""): Outcome {
    this.answers[answer] += 1;
    return { answer, made: text === "" ? {} : (JSON.parse(text) as Made) };
  }
}
