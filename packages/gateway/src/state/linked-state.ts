import { setTimeout as pause } from "node:timers/promises";
import {
  type Choice,
  type Clock,
  type Failure,
  type Fingerprint,
  type Health,
  type KeyEntry,
  type KeySnapshot,
  type KeyState,
  ViewedState,
  type Pin,
  type Question,
  type RestoredBinding,
  type SharedState,
  type StatePolicy,
  type StatusReason,
  type Ticket,
  type TouchedSession,
} from "@keywheel/pool";
import { SharedPools } from "./shared-pools.ts";
import type { LinkListener, StateLink } from "./state-link.ts";
import { TouchQueue } from "./touch-queue.ts";
import { bindingName, listOf, readTicket, toWireTicket } from "./wire.ts";

export interface LinkedStateOptions {
  readonly clock: Clock;
  /** Begins to connect to where the state is shared; never waits for it. */
  readonly connect: (listener: LinkListener) => Promise<StateLink>;
  /**
   * How long a decision is waited for before it is made here, ms; default 250. Only requests that are under way when the
   * server goes away wait that long: nobody asks it again until it has answered. Less, and a machine that is merely busy
   * for a moment would count as a server that is away.
   */
  readonly patienceMs?: number;
  /** Called when, once open, the server goes away (with why) and when it is back (undefined). */
  readonly onTrouble?: (trouble: string | undefined) => void;
}

type Reason = Omit<StatusReason, "at">;

/** How long the start waits for the server; then it serves with state of its own. */
const startMs = 1_000;
/** How often the server is asked about one request, if what it says has changed by the time that it is heard. */
const mostRounds = 8;
const newsMs = 2;
const touchesAtOnce = 200;
/** Uses of a session are told once in a while: only its idle time depends on them. */
const renewMs = 1_000;

/**
 * The shared state of several processes, where a link leads to.
 *
 * Turns, first bindings, failures and refusals are decided there, each in one script; what others did is pushed to a view
 * in memory, from which a bound session is served without asking. With the server away or slow the view goes on alone.
 */
export class LinkedState implements SharedState {
  readonly #memory: ViewedState;
  readonly #clock: Clock;
  readonly #pools: SharedPools;
  readonly #touches = new TouchQueue();
  #flushTimer: NodeJS.Timeout | undefined;
  #flushAt = Number.POSITIVE_INFINITY;
  #isFlushing = false;
  #isOpen = false;

  private constructor(options: LinkedStateOptions) {
    const { clock, patienceMs = 250, onTrouble = () => {} } = options;
    this.#clock = clock;
    this.#memory = new ViewedState({ clock });
    const onBack = (): void => this.#flushWithin(0);
    const tell = (trouble: string | undefined): void => {
      // Before, it is no news: whoever opens it is about to look.
      if (this.#isOpen) onTrouble(trouble);
    };
    this.#pools = new SharedPools({ memory: this.#memory, clock, patienceMs, onTrouble: tell, onBack });
  }

  /** Connects, waiting a second at the most: a server that is away does not keep the gateway from serving. */
  static async open(options: LinkedStateOptions): Promise<LinkedState> {
    const state = new LinkedState(options);
    const pools = state.#pools;
    const link = await options.connect({
      onPush: (push) => pools.takePush(push),
      onLost: () => pools.lose(new Error("the connection was lost")),
      onError: (message) => pools.explain(message),
    });
    pools.use(link);
    await pools.waitUntilShared(startMs);
    state.#isOpen = true;
    return state;
  }

  /** Why decisions are made by this process alone; undefined while they are shared. */
  get trouble(): string | undefined {
    return this.#pools.trouble;
  }

  /** Gives up the connections. May be called twice. */
  close(): void {
    clearTimeout(this.#flushTimer);
    this.#pools.close();
  }

  async configure(poolId: string, keys: readonly KeyEntry[], policy: StatePolicy): Promise<void> {
    await this.#memory.configure(poolId, keys, policy);
    await this.#pools.configure(poolId, keys, policy);
  }

  async remove(poolId: string): Promise<void> {
    await this.#memory.remove(poolId);
    await this.#pools.remove(poolId);
  }

  async choose(poolId: string, question: Question): Promise<Choice> {
    const here = this.#memory.view.chooseHere(poolId, question);
    if (here !== undefined) {
      this.#renew(poolId, question, here);
      return here;
    }
    return (await this.#chooseThere(poolId, question)) ?? this.#chooseAlone(poolId, question);
  }

  hold(ticket: Ticket, forMs: number): void {
    this.#memory.hold(ticket, forMs);
    void this.#pools.ask(ticket.poolId, "hold", { body: { ticket: toWireTicket(ticket), forMs } });
  }

  release(ticket: Ticket): void {
    const { isKept } = this.#memory.view.unsettled(ticket);
    if (!isKept) return;
    this.#memory.release(ticket);
    void this.#pools.ask(ticket.poolId, "release", { body: { ticket: toWireTicket(ticket) } });
  }

  async succeed(ticket: Ticket): Promise<KeyState> {
    const { isKept, hasFailures } = this.#memory.view.unsettled(ticket);
    const own = this.#memory.succeed(ticket);
    if (!isKept && !hasFailures) return own;
    return this.#decide(ticket, "succeed", { own, body: { ticket: toWireTicket(ticket) } });
  }

  async fail(ticket: Ticket, failure: Failure, reason: Reason, scope: "key" | "model"): Promise<KeyState> {
    const own = await this.#memory.fail(ticket, failure, reason, scope);
    const model = scope === "model" ? ticket.model : undefined;
    return this.#decide(ticket, "fail", { own, model, body: { ticket: toWireTicket(ticket), failure, reason, scope } });
  }

  async disable(ticket: Ticket, reason: Reason): Promise<KeyState> {
    const own = await this.#memory.disable(ticket, reason);
    const after = await this.#decide(ticket, "disable", { own, body: { ticket: toWireTicket(ticket), reason } });
    return after;
  }

  async reset(poolId: string, keyId: string): Promise<KeyState | undefined> {
    const own = await this.#memory.reset(poolId, keyId);
    if (own === undefined) return undefined;
    const answer = await this.#pools.ask(poolId, "reset", { body: { id: keyId } });
    if (answer === undefined) this.#pools.hasNews(poolId);
    return { ...this.#memory.view.conditionOf(poolId, keyId, undefined), applied: true };
  }

  async endSession(poolId: string, session: Fingerprint): Promise<boolean> {
    const own = await this.#memory.endSession(poolId, session);
    const answer = await this.#pools.ask(poolId, "end", { names: [bindingName("s", session)] });
    if (answer === undefined) this.#pools.hasEnded(poolId, session);
    // Meanwhile the others may have told of a use before.
    else await this.#memory.endSession(poolId, session);
    return own || answer?.applied === true;
  }

  async sweepIdle(): Promise<number> {
    return this.#memory.sweepIdle();
  }

  pin(poolId: string, keyId: string, objects: readonly Fingerprint[]): void {
    this.#memory.pin(poolId, keyId, objects);
    if (objects.length > 0) void this.#tellPins(poolId, keyId, objects);
  }

  /** At once, ahead of the answer that shows them: its client may name them the moment it has read it, at another process. */
  async #tellPins(poolId: string, keyId: string, objects: readonly Fingerprint[]): Promise<void> {
    const at = this.#clock.now();
    const names = objects.map((object) => bindingName("o", object));
    const body = objects.map(() => [keyId, at]);
    if ((await this.#pools.ask(poolId, "touch", { names, body })) !== undefined) return;
    for (const fingerprint of objects) this.#touches.add(poolId, "o", { fingerprint, keyId, at });
    this.#flushWithin(renewMs);
  }

  /** Another process may have learnt of the first one just now. */
  get hasPins(): boolean {
    return true;
  }

  async preview(poolId: string, count: number): Promise<readonly string[]> {
    const answer = await this.#pools.ask(poolId, "preview", { body: { count } });
    return answer === undefined ? this.#memory.preview(poolId, count) : listOf<string>(answer.turns);
  }

  async snapshot(poolId: string): Promise<readonly KeySnapshot[]> {
    return this.#memory.snapshot(poolId);
  }

  drainTouchedSessions(limit: number): readonly TouchedSession[] {
    return this.#memory.drainTouchedSessions(limit);
  }

  drainPins(limit: number): readonly Pin[] {
    return this.#memory.drainPins(limit);
  }

  restoreHealth(poolId: string, keyId: string, model: string, health: Health, reason: StatusReason | undefined): void {
    this.#memory.restoreHealth(poolId, keyId, model, health, reason);
    this.#pools.retell(poolId);
  }

  restoreBindings(bindings: readonly RestoredBinding[]): void {
    this.#memory.restoreBindings(bindings);
    for (const { poolId, fingerprint, keyId, lastUsedAt } of bindings)
      this.#touches.add(poolId, "s", { fingerprint, keyId, at: lastUsedAt });
    this.#flushWithin(0);
  }

  restorePins(pins: readonly Pin[]): void {
    this.#memory.restorePins(pins);
    for (const { poolId, kind, fingerprint, keyId, at } of pins)
      this.#touches.add(poolId, kind === "object" ? "o" : "c", { fingerprint, keyId, at });
    this.#flushWithin(0);
  }

  async #chooseThere(poolId: string, question: Question): Promise<Choice | undefined> {
    const { view } = this.#memory;
    const tried = new Set(question.tried);
    // The news of the decision may come before its answer, and take the place of what is known here.
    const left = view.leftOf(poolId, question);
    for (let round = 0; round < mostRounds; round++) {
      const answer = await this.#pools.ask(poolId, "choose", toAsked(question, tried));
      if (answer === undefined) return undefined;
      if (answer.k === undefined) {
        await this.#pools.catchUp(poolId, answer.v);
        // One may have come free since: whoever was trying it was served.
        if (!view.hasTurn(poolId, question)) return view.noKey(poolId, question);
        await pause(newsMs);
        continue;
      }
      if (answer.w === "pin") return view.choosePinned(poolId, answer.k, question);
      if (answer.w === undefined || answer.t === undefined) return undefined;
      const ticket = readTicket(answer.t, { poolId, keyId: answer.k, model: question.model });
      const passedOver = listOf<string>(answer.po);
      const made = { keyId: answer.k, why: answer.w, passedOver, bound: answer.b, left, ticket };
      const choice = view.takeUp(poolId, question, made);
      if (choice !== undefined) return choice;
      // The server knows it, and this process cannot use it: a change of the keys is on its way.
      tried.add(answer.k);
    }
    return undefined;
  }

  async #chooseAlone(poolId: string, question: Question): Promise<Choice> {
    const choice = this.#memory.choose(poolId, question);
    if (choice.kind === "key" && choice.why !== "pin" && question.bind !== false) {
      this.#renew(poolId, question, choice);
      if (choice.why === "turn") this.#flushWithin(0);
    }
    return choice;
  }

  async #decide(
    ticket: Ticket,
    decision: string,
    { own, body, model }: { readonly own: KeyState; readonly body: object; readonly model?: string | undefined },
  ): Promise<KeyState> {
    const answer = await this.#pools.ask(ticket.poolId, decision, { body });
    if (answer === undefined) {
      this.#pools.hasNews(ticket.poolId);
      return own;
    }
    // A failure is written down by whoever saw it, also if another was quicker; a recovery is told of once.
    const applied = answer.applied === true || (own.applied && decision !== "succeed");
    if (!applied) return { ...own, applied };
    const { view } = this.#memory;
    const others = own.others?.map((other) => ({ ...other, ...view.conditionOf(ticket.poolId, other.keyId, model) }));
    const known = view.conditionOf(ticket.poolId, ticket.keyId, model);
    return { ...known, applied, ...(others === undefined ? {} : { others }) };
  }

  /** Tells the others of a use that they were not asked about. */
  #renew(poolId: string, { session, conversation }: Question, choice: Choice): void {
    if (choice.kind !== "key" || choice.why === "pin" || this.#pools.affinityOf(poolId)?.enabled !== true) return;
    const { keyId } = choice;
    const at = this.#clock.now();
    if (session !== undefined) this.#touches.add(poolId, "s", { fingerprint: session.fingerprint, keyId, at });
    const binds = conversation?.binds ?? [];
    for (const fingerprint of binds) this.#touches.add(poolId, "c", { fingerprint, keyId, at });
    this.#flushWithin(binds.length > 0 ? 0 : renewMs);
  }

  #flushWithin(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.#flushAt) return;
    clearTimeout(this.#flushTimer);
    this.#flushAt = at;
    this.#flushTimer = setTimeout(() => void this.#flush(), ms);
    this.#flushTimer.unref();
  }

  async #flush(): Promise<void> {
    this.#flushAt = Number.POSITIVE_INFINITY;
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    while (this.#touches.size > 0) {
      const touches = this.#touches.take(touchesAtOnce);
      const [first] = touches;
      if (first === undefined) break;
      const names = touches.map(({ name }) => name);
      const body = touches.map(({ keyId, at }) => [keyId, at]);
      if ((await this.#pools.ask(first.poolId, "touch", { names, body })) === undefined) {
        this.#touches.giveBack(touches);
        break;
      }
    }
    this.#isFlushing = false;
  }
}

function toAsked(question: Question, tried: ReadonlySet<string>): { body: object; names: string[] } {
  const { session, conversation, objects = [], model, bind } = question;
  const lookups = session === undefined ? (conversation?.lookups ?? []) : [session.fingerprint];
  const kind = session === undefined ? "c" : "s";
  const sessions = session === undefined ? [] : [bindingName("s", session.fingerprint)];
  const names = [
    ...objects.map((object) => bindingName("o", object)),
    ...lookups.map((lookup) => bindingName(kind, lookup)),
    ...sessions,
    ...(conversation?.binds ?? []).map((print) => bindingName("c", print)),
  ];
  const body = {
    objects: objects.length,
    lookups: lookups.length,
    why: session === undefined ? "continuation" : "session",
    tried: [...tried],
    model,
    bind: bind !== false,
  };
  return { body, names };
}
