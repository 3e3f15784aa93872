import type { Clock } from "./ports/clock.ts";
import type { EventSink } from "./ports/events.ts";
import type { Journal, StatusReason } from "./ports/journal.ts";
import type {
  Choice,
  KeyEntry,
  KeySnapshot,
  KeyState,
  Question,
  PoolState,
  StatePolicy,
  Ticket,
} from "./ports/shared-state.ts";
import type { Fingerprint } from "./rules/fingerprint.ts";
import type { DurationMs, EpochMs } from "./rules/time.ts";
import type { KeyEffect, Verdict } from "./rules/verdict.ts";

/** What a pool speaks to. */
export interface PoolPorts {
  readonly state: PoolState;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly events: EventSink;
  /** Takes every secret out of a text that the provider wrote. */
  readonly redact: (text: string) => string;
}

/**
 * One provider's keys: asks the rules, speaks to the ports.
 *
 * What a verdict does to a key is durable when `settle` settles: nobody may see a retry whose cause could be forgotten.
 */
export class Pool {
  readonly id: string;
  readonly #ports: PoolPorts;
  /** Of each key the last refusal that was handed to the journal: when it was told, and what settles when it is durable. */
  readonly #refusals = new Map<string, { readonly at: EpochMs; readonly written: Promise<void> }>();
  #policy: StatePolicy | undefined;

  constructor(id: string, ports: PoolPorts) {
    this.id = id;
    this.#ports = ports;
  }

  /** Takes up keys in wheel order and the rules for them. Keys that stay keep cooldowns, counts and bindings. */
  async configure(keys: readonly KeyEntry[], policy: StatePolicy): Promise<void> {
    this.#policy = policy;
    const ids = new Set(keys.map(({ id }) => id));
    for (const id of this.#refusals.keys()) if (!ids.has(id)) this.#refusals.delete(id);
    await this.#ports.state.configure(this.id, keys, policy);
  }

  async remove(): Promise<void> {
    await this.#ports.state.remove(this.id);
  }

  /**
   * The key for a request. Expected outcomes are values; a pool without a usable key is one of them.
   *
   * @returns no promise where the state is this process's own: turns of the event loop are dear at high rates
   */
  choose(question: Question): Choice | Promise<Choice> {
    const choice = this.#ports.state.choose(this.id, question);
    return choice instanceof Promise ? choice.then((made) => this.#tell(made, question)) : this.#tell(choice, question);
  }

  #tell(choice: Choice, question: Question): Choice {
    const { events, clock } = this.#ports;
    if (choice.kind === "exhausted" && !choice.isBeingTried)
      events({ type: "pool-exhausted", poolId: this.id, choice, at: clock.now() });
    if (choice.kind === "key" && choice.movedFrom !== undefined && question.session !== undefined) {
      const { movedFrom: from, keyId: to } = choice;
      events({ type: "binding-moved", poolId: this.id, sessionId: question.session.id, from, to, at: clock.now() });
    }
    return choice;
  }

  /** Keeps a key from being chosen while a refusal of it is read, `forMs` at most. */
  hold(ticket: Ticket, forMs: DurationMs): void {
    this.#ports.state.hold(ticket, forMs);
  }

  /** Says that the provider has taken the key's request up: nobody needs to be kept from the key any longer. */
  release(ticket: Ticket): void {
    this.#ports.state.release(ticket);
  }

  /**
   * Lets a verdict take effect on the key of the attempt. The state changes before this returns; the promise settles when the
   * change is durable.
   *
   * @returns no promise where nothing is to be waited for
   * @see contract §4 rules 3, 4, 5
   */
  settle(ticket: Ticket, verdict: Verdict): Promise<void> | undefined {
    const effect = verdict.key;
    switch (effect.kind) {
      case "none":
        this.#ports.state.release(ticket);
        return undefined;
      case "succeeded":
        return this.#succeed(ticket);
      case "cool":
      case "rest-model":
        return this.#fail(ticket, effect, verdict);
      case "disable":
        return this.#disable(ticket, verdict);
    }
  }

  /** Clears cooldown, count and refusal of a key. @returns false if there is no such key */
  async reset(keyId: string): Promise<boolean> {
    return (await this.#ports.state.reset(this.id, keyId)) !== undefined;
  }

  /** Remembers objects that an answer to this key's request showed to exist. */
  pin(keyId: string, objects: readonly Fingerprint[]): void {
    this.#ports.state.pin(this.id, keyId, objects);
  }

  /** Whether it pays to look for names of objects in a request. */
  get hasPins(): boolean {
    return this.#ports.state.hasPins;
  }

  async endSession(session: Fingerprint): Promise<boolean> {
    return this.#ports.state.endSession(this.id, session);
  }

  /** The next turns of the wheel as key ids, taking none. */
  async preview(count: number): Promise<readonly string[]> {
    return this.#ports.state.preview(this.id, count);
  }

  async snapshot(): Promise<readonly KeySnapshot[]> {
    return this.#ports.state.snapshot(this.id);
  }

  /** Takes every secret out of a text that the provider wrote. */
  redact(text: string): string {
    return this.#ports.redact(text);
  }

  #succeed(ticket: Ticket): Promise<void> | undefined {
    const { state } = this.#ports;
    state.release(ticket);
    const after = state.succeed(ticket);
    if (after instanceof Promise) return after.then((known) => this.#recover(ticket, known));
    return after.applied ? this.#recover(ticket, after) : undefined;
  }

  async #recover(ticket: Ticket, after: KeyState): Promise<void> {
    if (!after.applied) return;
    const { journal, events, clock } = this.#ports;
    events({ type: "key-recovered", poolId: this.id, keyId: ticket.keyId, at: clock.now() });
    await journal.saveHealth(this.#record(ticket, "", after));
    if (ticket.model !== undefined && ticket.modelMark !== undefined) {
      await journal.saveHealth(this.#record(ticket, ticket.model, { ...after, reason: undefined }));
    }
  }

  async #fail(
    ticket: Ticket,
    effect: Extract<KeyEffect, { kind: "cool" | "rest-model" }>,
    verdict: Verdict,
  ): Promise<void> {
    const { state, journal, events, clock } = this.#ports;
    const { httpStatus } = verdict;
    const scope = this.#scopeOf(effect, ticket);
    const failure = effect.kind === "cool" ? effect.failure : ({ rest: "ladder", fixedMs: effect.restMs } as const);
    const reason = this.#reason(effect.reason, verdict);
    const after = await state.fail(ticket, failure, reason, scope);
    if (!after.applied) return;
    const model = scope === "model" ? (ticket.model ?? "") : "";
    const { failures, coolUntil: until, wait } = after.health;
    // Not the reason's: a refused key keeps its refusal as the reason, with the instant of that.
    const at = clock.now();
    // A failure from before the last success counts, but gives the key no rest.
    if (until > at) {
      const { keyId } = ticket;
      const ofModel = model === "" ? {} : { model };
      const why = { reason: effect.reason, httpStatus, failures, until, wait };
      events({ type: "key-cooled", poolId: this.id, keyId, ...ofModel, ...why, at });
    }
    const { others = [] } = after;
    for (const { keyId, health } of others) {
      const { failures, coolUntil, wait } = health;
      const ofModel = model === "" ? {} : { model };
      const why = { reason: effect.reason, httpStatus, failures, until: coolUntil, wait, sharedFrom: ticket.keyId };
      if (coolUntil > at) events({ type: "key-cooled", poolId: this.id, keyId, ...ofModel, ...why, at });
    }
    await Promise.all([
      journal.saveHealth(this.#record(ticket, model, after)),
      ...others.map((other) => journal.saveHealth({ poolId: this.id, model, ...other })),
    ]);
  }

  async #disable(ticket: Ticket, verdict: Verdict): Promise<void> {
    const { state, journal, events } = this.#ports;
    const reason = this.#reason("authentication_failed", verdict);
    const after = await state.disable(ticket, reason);
    const { keyId } = ticket;
    if (after.reason === undefined || after.reason.code !== reason.code) return;
    const { code, message, at } = after.reason;
    if (after.applied) {
      events({
        type: "key-disabled",
        poolId: this.id,
        keyId,
        reason: code,
        httpStatus: verdict.httpStatus,
        message: message ?? undefined,
        at,
      });
    }
    // Others may have been told the same just before, in this process or in one that shares the state and is still writing
    // it down: this one's retry waits for it to be durable all the same.
    const known = this.#refusals.get(keyId);
    if (known?.at === at) return known.written;
    const { secretVersion } = ticket;
    const written = journal.disableKey({ poolId: this.id, keyId, secretVersion, reason: after.reason });
    this.#refusals.set(keyId, { at, written });
    await written;
  }

  /** A model's limit is the model's only where the pool is set so; a key that lacks a model rests for that one anyhow. */
  #scopeOf(effect: Extract<KeyEffect, { kind: "cool" | "rest-model" }>, ticket: Ticket): "key" | "model" {
    if (ticket.model === undefined) return "key";
    if (effect.kind === "rest-model") return "model";
    return effect.scope === "model" && this.#policy?.cooldownScope === "model" ? "model" : "key";
  }

  #reason(code: StatusReason["code"], verdict: Verdict): Omit<StatusReason, "at"> {
    const message = verdict.message === undefined ? null : this.redact(verdict.message);
    return { code, httpStatus: verdict.httpStatus, message };
  }

  #record(ticket: Ticket, model: string, state: KeyState): Parameters<Journal["saveHealth"]>[0] {
    const { keyId, secretVersion } = ticket;
    return { poolId: this.id, keyId, secretVersion, model, health: state.health, reason: state.reason };
  }
}
