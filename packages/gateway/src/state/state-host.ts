import { randomBytes } from "node:crypto";
import {
  type Choice,
  type Clock,
  type Failure,
  type Fingerprint,
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
import type { Sight, StateCall } from "./state-link.ts";
import {
  type Answer,
  bindingName,
  type Push,
  readBindingName,
  readCell,
  readWireTicket,
  toAnswerTicket,
  toWireCell,
  type WireCell,
  type WireTicket,
} from "./wire.ts";

type Reason = Omit<StatusReason, "at">;
type Binding = readonly [name: string, keyId: string | false, at: number];

interface HostedPool {
  readonly id: string;
  /** Tells it from one of the same id that was there before. */
  readonly born: string;
  policy: StatePolicy;
  version: number;
  /** What was told of each key last, and with which version. */
  readonly told: Map<string, { readonly version: number; readonly text: string; readonly cell: WireCell }>;
}

/** The asker writes down itself which sessions it used: they carry no name here. */
const unnamed = { id: "", valueHash: "", carrier: "" };

/**
 * The shared state in the memory of one process, for itself and for others on the same machine that are linked to it. It
 * answers what `script/` answers in Redis, by the rules of `MemoryState`.
 */
export class StateHost implements SharedState {
  readonly #memory: ViewedState;
  readonly #clock: Clock;
  #onPush: (push: Push) => void = () => {};
  readonly #pools = new Map<string, HostedPool>();

  constructor({ clock }: { readonly clock: Clock }) {
    this.#memory = new ViewedState({ clock });
    this.#clock = clock;
  }

  /** @param onPush called with every change, in order, for all processes that are linked */
  listen(onPush: (push: Push) => void): void {
    this.#onPush = onPush;
  }

  /** Answers a linked process. Pools are made, shaped and removed by this process alone. */
  async run(call: StateCall): Promise<Answer> {
    const pool = this.#pools.get(call.poolId);
    if (pool === undefined) return { missing: true, n: "", f: 0, v: 0 };
    const keeper = new Keeper(this.#memory, pool, call, this.#clock.now());
    const said = await keeper.decide();
    const { f, v } = this.#tell(pool, keeper.touched, { bindings: keeper.bindings, origin: keeper.origin });
    // Told again though nothing has changed: the asker has done its part in its own view meanwhile.
    const cells = keeper.touched.flatMap((id) => {
      const cell = pool.told.get(id)?.cell;
      return cell === undefined ? [] : [[id, cell] as const];
    });
    return { n: pool.born, f, v, ...(cells.length === 0 ? {} : { c: Object.fromEntries(cells) }), ...said };
  }

  /** How far a pool is. */
  look(poolId: string): Sight {
    const { version = 0, born } = this.#pools.get(poolId) ?? {};
    return { version, born };
  }

  async configure(poolId: string, keys: readonly KeyEntry[], policy: StatePolicy): Promise<void> {
    const pool = this.#pools.get(poolId);
    if (pool === undefined) this.#pools.set(poolId, aPool(poolId, policy));
    else pool.policy = policy;
    await this.#memory.configure(poolId, keys, policy);
    const here = new Set(keys.map(({ id }) => id));
    for (const id of pool?.told.keys() ?? []) if (!here.has(id)) pool?.told.delete(id);
    this.#tellOf(
      poolId,
      keys.map(({ id }) => id),
    );
  }

  async remove(poolId: string): Promise<void> {
    this.#pools.delete(poolId);
    await this.#memory.remove(poolId);
  }

  async choose(poolId: string, question: Question): Promise<Choice> {
    const names = namesOf(question);
    const before = ownersOf(this.#memory, poolId, names);
    const choice = this.#memory.choose(poolId, question);
    const pool = this.#pools.get(poolId);
    if (choice.kind !== "key" || pool === undefined) return choice;
    const bindings = movedBindings(this.#memory, poolId, { names, before, at: this.#clock.now() });
    this.#tell(pool, [choice.keyId], { bindings, origin: "" });
    return choice;
  }

  hold(ticket: Ticket, forMs: number): void {
    this.#memory.hold(ticket, forMs);
    this.#tellOf(ticket.poolId, [ticket.keyId]);
  }

  release(ticket: Ticket): void {
    this.#memory.release(ticket);
    this.#tellOf(ticket.poolId, [ticket.keyId]);
  }

  succeed(ticket: Ticket): Promise<KeyState> {
    return this.#changing(ticket.poolId, ticket.keyId, Promise.resolve(this.#memory.succeed(ticket)));
  }

  fail(ticket: Ticket, failure: Failure, reason: Reason, scope: "key" | "model"): Promise<KeyState> {
    return this.#failing(ticket, this.#memory.fail(ticket, failure, reason, scope));
  }

  disable(ticket: Ticket, reason: Reason): Promise<KeyState> {
    return this.#changing(ticket.poolId, ticket.keyId, this.#memory.disable(ticket, reason));
  }

  reset(poolId: string, keyId: string): Promise<KeyState | undefined> {
    return this.#changing(poolId, keyId, this.#memory.reset(poolId, keyId));
  }

  async endSession(poolId: string, session: Fingerprint): Promise<boolean> {
    const hasEnded = await this.#memory.endSession(poolId, session);
    const pool = this.#pools.get(poolId);
    // Also one that is not known here: a linked process may have bound it a moment ago.
    if (pool !== undefined) {
      const bindings: Binding[] = [[bindingName("s", session), false, this.#clock.now()]];
      this.#tell(pool, [], { bindings, origin: "" });
    }
    return hasEnded;
  }

  sweepIdle(): Promise<number> {
    return this.#memory.sweepIdle();
  }

  pin(poolId: string, keyId: string, objects: readonly Fingerprint[]): void {
    this.#memory.pin(poolId, keyId, objects);
    const pool = this.#pools.get(poolId);
    const at = this.#clock.now();
    const bindings = objects.map((object): Binding => [bindingName("o", object), keyId, at]);
    if (pool !== undefined) this.#tell(pool, [], { bindings, origin: "" });
  }

  get hasPins(): boolean {
    return this.#memory.hasPins;
  }

  preview(poolId: string, count: number): Promise<readonly string[]> {
    return this.#memory.preview(poolId, count);
  }

  snapshot(poolId: string): Promise<readonly KeySnapshot[]> {
    return this.#memory.snapshot(poolId);
  }

  drainTouchedSessions(limit: number): readonly TouchedSession[] {
    const own: TouchedSession[] = [];
    while (own.length < limit) {
      const drained = this.#memory.drainTouchedSessions(limit - own.length);
      own.push(...drained.filter(({ session }) => session.id !== unnamed.id));
      if (drained.length === 0) break;
    }
    return own;
  }

  drainPins(limit: number): readonly Pin[] {
    return this.#memory.drainPins(limit);
  }

  restoreHealth(...known: Parameters<SharedState["restoreHealth"]>): void {
    this.#memory.restoreHealth(...known);
    const [poolId, keyId] = known;
    this.#tellOf(poolId, [keyId]);
  }

  restoreBindings(bindings: readonly RestoredBinding[]): void {
    this.#memory.restoreBindings(bindings);
  }

  restorePins(pins: readonly Pin[]): void {
    this.#memory.restorePins(pins);
  }

  async #changing<T>(poolId: string, keyId: string, change: Promise<T>): Promise<T> {
    const result = await change;
    this.#tellOf(poolId, [keyId]);
    return result;
  }

  async #failing({ poolId, keyId }: Ticket, change: Promise<KeyState>): Promise<KeyState> {
    const after = await change;
    this.#tellOf(poolId, [keyId, ...(after.others ?? []).map((other) => other.keyId)]);
    return after;
  }

  #tellOf(poolId: string, keyIds: readonly string[]): void {
    const pool = this.#pools.get(poolId);
    if (pool !== undefined) this.#tell(pool, keyIds, { bindings: [], origin: "" });
  }

  /** Tells everybody what has changed about these keys and bindings, if anything has. */
  #tell(
    pool: HostedPool,
    keyIds: Iterable<string>,
    { bindings, origin }: { readonly bindings: readonly Binding[]; readonly origin: string },
  ): { readonly f: number; readonly v: number } {
    const from = pool.version;
    const cells: Record<string, WireCell> = {};
    for (const id of keyIds) {
      const cell = this.#newsOf(pool, id);
      if (cell !== undefined) cells[id] = cell;
    }
    if (Object.keys(cells).length === 0 && bindings.length === 0) return { f: from, v: from };
    const version = ++pool.version;
    const told: Record<string, WireCell> = {};
    for (const [id, cell] of Object.entries(cells)) {
      told[id] = { ...cell, v: version };
      pool.told.set(id, { version, text: JSON.stringify(cell), cell: told[id] });
    }
    this.#onPush({ p: pool.id, n: pool.born, o: origin, f: from, v: version, c: told, b: bindings });
    return { f: from, v: version };
  }

  /** How a key stands, if that was not told before. */
  #newsOf(pool: HostedPool, keyId: string): WireCell | undefined {
    const state = this.#memory.view.cellState(pool.id, keyId);
    if (state === undefined) return undefined;
    const { heldUntil: held, trialUntil: trial } = state;
    const told = pool.told.get(keyId);
    // A pool may have ten thousand keys about which nothing has ever moved.
    const isNew = told === undefined && held === 0 && trial === 0 && !this.#memory.view.hasMoved(pool.id, keyId);
    if (isNew) return undefined;
    const cell = { ...toWireCell(state), held, trial };
    const text = JSON.stringify(cell);
    return told?.text === text ? undefined : cell;
  }
}

function aPool(id: string, policy: StatePolicy): HostedPool {
  return { id, born: randomBytes(6).toString("hex"), policy, version: 0, told: new Map() };
}

/** One decision for a linked process. */
class Keeper {
  readonly #memory: ViewedState;
  readonly #pool: HostedPool;
  readonly #call: StateCall;
  readonly #now: number;
  /** Keys that may have changed. */
  touched: readonly string[] = [];
  bindings: readonly Binding[] = [];

  constructor(memory: ViewedState, pool: HostedPool, call: StateCall, now: number) {
    this.#memory = memory;
    this.#pool = pool;
    this.#call = call;
    this.#now = now;
  }

  /** Who knows of it from the answer. A touch is answered with nothing. */
  get origin(): string {
    return this.#call.decision === "touch" ? "" : this.#call.origin;
  }

  async decide(): Promise<Partial<Answer>> {
    const { decision, body } = this.#call;
    switch (decision) {
      case "configure":
        return {};
      case "choose":
        return await this.#choose(body as AskedChoice);
      case "fail": {
        const { ticket, failure, reason, scope } = body as AskedFailure;
        return this.#applied(ticket, (read) => this.#memory.fail(read, failure, reason, scope));
      }
      case "succeed":
        return this.#applied((body as AskedOutcome).ticket, async (read) => this.#memory.succeed(read));
      case "disable": {
        const { ticket, reason } = body as AskedFailure;
        return this.#applied(ticket, (read) => this.#memory.disable(read, reason));
      }
      case "hold": {
        const { ticket, forMs } = body as AskedOutcome & { readonly forMs: number };
        return this.#quietly(ticket, (read) => this.#memory.hold(read, forMs));
      }
      case "release":
        return this.#quietly((body as AskedOutcome).ticket, (read) => this.#memory.release(read));
      case "reset": {
        const { id } = body as { readonly id: string };
        this.touched = [id];
        return { applied: (await this.#memory.reset(this.#pool.id, id)) !== undefined };
      }
      case "end":
        return await this.#end();
      case "touch":
        return this.#touch(body as readonly (readonly [string, number])[]);
      case "merge":
        return this.#merge(body as readonly { readonly id: string; readonly cell: WireCell }[]);
      case "pull":
        return this.#pull((body as { readonly since: number }).since);
      case "preview":
        return { turns: await this.#memory.preview(this.#pool.id, (body as { readonly count: number }).count) };
      default:
        return {};
    }
  }

  async #choose(asked: AskedChoice): Promise<Partial<Answer>> {
    const { names } = this.#call;
    const { id: poolId, policy } = this.#pool;
    const prints = names.map((name) => readBindingName(name).fingerprint);
    const bound = asked.objects + asked.lookups;
    const lookups = prints.slice(asked.objects, bound);
    const [session] = asked.why === "session" ? lookups : [];
    const toBind = names.slice(bound);
    const before = ownersOf(this.#memory, poolId, toBind);
    const choice = this.#memory.choose(poolId, {
      objects: prints.slice(0, asked.objects),
      tried: new Set(asked.tried),
      bind: asked.bind,
      ...(asked.model === undefined ? {} : { model: asked.model }),
      ...(session === undefined
        ? { conversation: { lookups, binds: [] } }
        : { session: { ...unnamed, fingerprint: session } }),
    });
    if (choice.kind !== "key") return {};
    if (choice.why === "pin") return { w: "pin", k: choice.keyId };
    this.touched = [choice.keyId];
    if (policy.affinity.enabled && (choice.why !== "turn" || asked.bind)) {
      // What was asked for elsewhere is written down there.
      const conversations = toBind.filter((name) => name.startsWith("c:"));
      this.#memory.restorePins(conversations.map((name) => this.#pinOf(name, choice.keyId, this.#now)));
      this.bindings = movedBindings(this.#memory, poolId, { names: toBind, before, at: this.#now });
    }
    const { keyId: k, why: w, movedFrom, ticket } = choice;
    const po = choice.passedOver.map(({ keyId }) => keyId);
    return { k, w, po, t: toAnswerTicket(ticket), ...(movedFrom === undefined ? {} : { b: movedFrom }) };
  }

  async #applied(ticket: WireTicket, decide: (ticket: Ticket) => Promise<KeyState>): Promise<Partial<Answer>> {
    this.touched = [ticket.id];
    const { applied, others = [] } = await decide(readWireTicket(this.#pool.id, ticket));
    this.touched = [ticket.id, ...others.map(({ keyId }) => keyId)];
    return { applied };
  }

  #quietly(ticket: WireTicket, decide: (ticket: Ticket) => void): Partial<Answer> {
    this.touched = [ticket.id];
    decide(readWireTicket(this.#pool.id, ticket));
    return {};
  }

  async #end(): Promise<Partial<Answer>> {
    const [name = ""] = this.#call.names;
    const applied = await this.#memory.endSession(this.#pool.id, readBindingName(name).fingerprint);
    if (applied) this.bindings = [[name, false, this.#now]];
    return { applied };
  }

  /** What was bound elsewhere; a session that is bound here stays where it is. */
  #touch(uses: readonly (readonly [string, number])[]): Partial<Answer> {
    const { id: poolId } = this.#pool;
    const bindings: Binding[] = [];
    for (const [index, [keyId, at]] of uses.entries()) {
      const name = this.#call.names[index] ?? "";
      const { kind, fingerprint } = readBindingName(name);
      const owner = this.#ownerOf(name);
      if (kind === "s" && owner !== undefined && owner !== keyId) {
        bindings.push([name, owner, at]);
        continue;
      }
      if (kind === "s") this.#memory.restoreBindings([{ poolId, fingerprint, keyId, lastUsedAt: at }]);
      else this.#memory.restorePins([this.#pinOf(name, keyId, at)]);
      if (owner !== keyId) bindings.push([name, keyId, at]);
    }
    this.bindings = bindings;
    return {};
  }

  #merge(cells: readonly { readonly id: string; readonly cell: WireCell }[]): Partial<Answer> {
    const { view } = this.#memory;
    for (const { id, cell } of cells) {
      // Who is kept from a key now is decided here.
      const { heldUntil = 0, trialUntil = 0 } = view.cellState(this.#pool.id, id) ?? {};
      view.adopt(this.#pool.id, id, { ...readCell(cell), heldUntil, trialUntil });
    }
    this.touched = cells.map(({ id }) => id);
    return {};
  }

  #pull(since: number): Partial<Answer> {
    const news = [...this.#pool.told].filter(([, { version }]) => version > since);
    return { all: Object.fromEntries(news.map(([id, { cell }]) => [id, cell])) };
  }

  #ownerOf(name: string): string | undefined {
    return ownersOf(this.#memory, this.#pool.id, [name])[0];
  }

  #pinOf(name: string, keyId: string, at: number): Pin {
    const { kind, fingerprint } = readBindingName(name);
    return { poolId: this.#pool.id, kind: kind === "o" ? "object" : "conversation", fingerprint, keyId, at };
  }
}

interface AskedChoice {
  readonly objects: number;
  readonly lookups: number;
  readonly why: "session" | "continuation";
  readonly tried: readonly string[];
  readonly model: string | undefined;
  readonly bind: boolean;
}

interface AskedOutcome {
  readonly ticket: WireTicket;
}

interface AskedFailure extends AskedOutcome {
  readonly failure: Failure;
  readonly reason: Reason;
  readonly scope: "key" | "model";
}

const kinds = { s: "session", c: "conversation", o: "object" } as const;

function ownersOf({ view }: ViewedState, poolId: string, names: readonly string[]): readonly (string | undefined)[] {
  return names.map((name) => {
    const { kind, fingerprint } = readBindingName(name);
    return view.ownerOf(poolId, kinds[kind as keyof typeof kinds], fingerprint);
  });
}

/** Those of `names` that belong to another key than before. */
function movedBindings(
  memory: ViewedState,
  poolId: string,
  {
    names,
    before,
    at,
  }: { readonly names: readonly string[]; readonly before: readonly (string | undefined)[]; readonly at: number },
): readonly Binding[] {
  return ownersOf(memory, poolId, names).flatMap((owner, index): Binding[] =>
    owner === undefined || owner === before[index] ? [] : [[names[index] ?? "", owner, at]],
  );
}

/** The bindings that a decision may make. */
function namesOf({ session, conversation }: Question): readonly string[] {
  const sessions = session === undefined ? [] : [bindingName("s", session.fingerprint)];
  return [...sessions, ...(conversation?.binds ?? []).map((print) => bindingName("c", print))];
}
