import type { Clock } from "../ports/clock.ts";
import type { StatusReason } from "../ports/journal.ts";
import type {
  Choice,
  KeyEntry,
  KeySnapshot,
  KeyState,
  PassedOver,
  Pin,
  Question,
  RestoredBinding,
  SessionRef,
  SharedState,
  StatePolicy,
  Ticket,
  TouchedSession,
} from "../ports/shared-state.ts";
import { BindingTable } from "../rules/binding-table.ts";
import {
  afterFailure,
  afterReset,
  afterSuccess,
  healthy,
  type Failure,
  type Health,
  restoreHealth,
} from "../rules/cooldown.ts";
import type { Fingerprint } from "../rules/fingerprint.ts";
import type { DurationMs, EpochMs } from "../rules/time.ts";
import { type Condition, KeyCell, markOf } from "./key-cell.ts";
import { PoolCells } from "./pool-cells.ts";

export interface MemoryStateOptions {
  readonly clock: Clock;
  /**
   * Sessions bound at the most, over all pools, and as many beginnings of conversations; default 1,000,000 each (some
   * 40 MB once they are there).
   */
  readonly maxBindings?: number;
  /** Objects remembered at the most, over all pools; default 500,000. */
  readonly maxPins?: number;
}

type Reason = Omit<StatusReason, "at">;

/**
 * The shared state of one process.
 *
 * Every method does its work before it returns its promise: between the moment at which a refusal is seen and its
 * consequence no other request can choose.
 */
export class MemoryState implements SharedState {
  readonly #clock: Clock;
  readonly #bindings: BindingTable;
  readonly #pools = new Map<string, PoolCells>();
  /** Who a slot belongs to; a slot whose bindings were ended all at once belongs to nobody. */
  readonly #owners = new Map<number, { readonly cell: KeyCell; readonly pool: PoolCells }>();
  /** Beginnings of conversations that nobody named. Apart from the sessions, which people count. */
  readonly #conversations: BindingTable;
  readonly #pins: BindingTable;
  readonly #pinOwners = new Map<number, { readonly cell: KeyCell; readonly pool: PoolCells }>();
  #newPins: Pin[] = [];
  readonly #touched = new Map<string, { touched: TouchedSession; slot: number }>();
  #nextSlot = 0;

  constructor(options: MemoryStateOptions) {
    this.#clock = options.clock;
    this.#bindings = new BindingTable(options.maxBindings ?? 1_000_000);
    this.#conversations = new BindingTable(options.maxBindings ?? 1_000_000);
    this.#pins = new BindingTable(options.maxPins ?? 500_000);
  }

  async configure(poolId: string, keys: readonly KeyEntry[], policy: StatePolicy): Promise<void> {
    const now = this.#clock.now();
    const pool = this.#pools.get(poolId) ?? this.#newPool(poolId, policy);
    pool.policy = policy;
    for (const entry of keys) {
      const cell = pool.cell(entry.id);
      if (cell !== undefined && cell.entry.secretVersion !== entry.secretVersion) clear(cell);
      if (cell !== undefined && cell.entry.enabled && !entry.enabled) this.#endBindings(cell, pool);
    }
    for (const cell of pool.configure(keys, now)) this.#disown(cell);
  }

  async remove(poolId: string): Promise<void> {
    for (const cell of this.#pools.get(poolId)?.cells ?? []) this.#disown(cell);
    this.#pools.delete(poolId);
  }

  async choose(poolId: string, question: Question): Promise<Choice> {
    const now = this.#clock.now();
    const pool = this.#pool(poolId);
    pool.wake(now);
    const pinnedTo = question.pinnedTo ?? this.#keyOfObjects(pool, question.objects, now);
    if (pinnedTo !== undefined) return choosePinned(poolId, pool, pinnedTo, question, now);
    if (question.first === true) {
      const first = pool.first(question.model, question.tried);
      return first === undefined ? noKey(pool, question, now) : chosen(poolId, first, "pin", [], undefined, question);
    }

    const bound = this.#bound(pool, question, now);
    if (bound !== undefined && bound.because === undefined) {
      startTrial(pool, bound.cell, now);
      this.#bind(poolId, pool, question, bound.cell, now);
      return chosen(poolId, bound.cell, bound.why, [], undefined, question);
    }
    const passedOver: PassedOver[] =
      bound?.because === undefined ? [] : [{ keyId: bound.cell.entry.id, because: bound.because }];
    passedOver.push(...pool.passedOver(question.model, now).filter((passed) => passed.keyId !== bound?.cell.entry.id));
    const cell = pool.take(question.model, question.tried);
    if (cell === undefined) return noKey(pool, question, now);
    if (question.bind !== false) this.#bind(poolId, pool, question, cell, now);
    startTrial(pool, cell, now);
    return chosen(poolId, cell, "turn", passedOver, bound?.cell.entry.id, question);
  }

  hold(ticket: Ticket, forMs: DurationMs): void {
    const found = this.#find(ticket);
    if (found === undefined) return;
    const now = this.#clock.now();
    found.cell.heldUntil = now + forMs;
    found.pool.refresh(found.cell, now);
  }

  release(ticket: Ticket): void {
    const found = this.#find(ticket);
    if (found === undefined || (found.cell.heldUntil === 0 && found.cell.trialUntil === 0)) return;
    found.cell.heldUntil = 0;
    found.cell.trialUntil = 0;
    found.pool.refresh(found.cell, this.#clock.now());
  }

  async succeed(ticket: Ticket): Promise<KeyState> {
    const found = this.#find(ticket);
    if (found === undefined) return { health: healthy, reason: undefined, applied: false };
    const { cell, pool } = found;
    if (cell.trialUntil !== 0) {
      cell.trialUntil = 0;
      pool.refresh(cell, this.#clock.now());
    }
    const changed = settleSuccess(cell, ticket.mark);
    const models = ticket.model === undefined ? undefined : cell.models.get(ticket.model);
    const modelChanged =
      models !== undefined && ticket.modelMark !== undefined && settleSuccess(models, ticket.modelMark);
    return { ...stateOf(cell), applied: changed || modelChanged };
  }

  async fail(ticket: Ticket, failure: Failure, reason: Reason, scope: "key" | "model"): Promise<KeyState> {
    const found = this.#find(ticket);
    if (found === undefined) return { health: healthy, reason: undefined, applied: false };
    const { cell, pool } = found;
    const now = this.#clock.now();
    const ofModel = scope === "model" && ticket.model !== undefined;
    const condition: Condition = ofModel ? cell.conditionFor(ticket.model) : cell;
    const mark = ofModel ? (ticket.modelMark ?? markOf(condition.health)) : ticket.mark;
    const before = condition.health;
    condition.health = afterFailure(before, failure, mark, pool.policy.cooldown, now);
    condition.reason = { ...reason, at: now };
    cell.heldUntil = 0;
    cell.trialUntil = 0;
    if (ofModel) pool.openLane(ticket.model, now);
    else if (condition.health.cooldowns !== before.cooldowns) this.#endBindings(cell, pool);
    pool.refresh(cell, now);
    return { ...stateOf(condition), applied: true };
  }

  async disable(ticket: Ticket, reason: Reason): Promise<KeyState> {
    const found = this.#find(ticket);
    if (found === undefined || !found.cell.entry.enabled || found.cell.refused) {
      return { health: found?.cell.health ?? healthy, reason: found?.cell.reason, applied: false };
    }
    const { cell, pool } = found;
    const now = this.#clock.now();
    cell.refused = true;
    cell.reason = { ...reason, at: now };
    cell.heldUntil = 0;
    cell.trialUntil = 0;
    this.#endBindings(cell, pool);
    pool.refresh(cell, now);
    return { ...stateOf(cell), applied: true };
  }

  async reset(poolId: string, keyId: string): Promise<KeyState | undefined> {
    const pool = this.#pools.get(poolId);
    const cell = pool?.cell(keyId);
    if (pool === undefined || cell === undefined) return undefined;
    clear(cell);
    pool.refresh(cell, this.#clock.now());
    return { ...stateOf(cell), applied: true };
  }

  async endSession(poolId: string, session: Fingerprint): Promise<boolean> {
    const owner = this.#owners.get(this.#bindings.peek(session));
    if (owner === undefined || owner.pool !== this.#pools.get(poolId)) return false;
    return this.#bindings.end(session);
  }

  pin(poolId: string, keyId: string, objects: readonly Fingerprint[]): void {
    const cell = this.#pools.get(poolId)?.cell(keyId);
    if (cell === undefined) return;
    const at = this.#clock.now();
    for (const fingerprint of objects) {
      if (this.#pins.peek(fingerprint) === cell.pinSlot) continue;
      this.#pins.bind(fingerprint, cell.pinSlot, at);
      this.#remember({ poolId, kind: "object", fingerprint, keyId, at });
    }
  }

  get hasPins(): boolean {
    return this.#pins.size > 0;
  }

  async sweepIdle(): Promise<number> {
    const now = this.#clock.now();
    const hasEnded = (slot: number, usedAt: EpochMs): boolean => {
      const owner = this.#owners.get(slot);
      return owner === undefined || now - usedAt > owner.pool.policy.affinity.idleTtlMs;
    };
    return this.#bindings.endWhere(hasEnded) + this.#conversations.endWhere(hasEnded);
  }

  async preview(poolId: string, count: number): Promise<readonly string[]> {
    const pool = this.#pool(poolId);
    pool.wake(this.#clock.now());
    return pool.preview(count);
  }

  async snapshot(poolId: string): Promise<readonly KeySnapshot[]> {
    const pool = this.#pool(poolId);
    pool.wake(this.#clock.now());
    return pool.cells.map((cell) => ({
      keyId: cell.entry.id,
      health: cell.health,
      reason: cell.reason,
      boundSessions: this.#bindings.countOf(cell.slot),
      models: [...cell.models].map(([model, { health, reason }]) => ({ model, health, reason })),
    }));
  }

  drainTouchedSessions(limit: number): readonly TouchedSession[] {
    const drained: TouchedSession[] = [];
    for (const [id, { touched, slot }] of this.#touched) {
      if (drained.length >= limit) break;
      this.#touched.delete(id);
      const holds = this.#owners.has(slot) && this.#bindings.peek(touched.session.fingerprint) === slot;
      if (holds) drained.push(touched);
    }
    return drained;
  }

  drainPins(limit: number): readonly Pin[] {
    return this.#newPins.splice(0, limit);
  }

  restoreHealth(poolId: string, keyId: string, model: string, health: Health, reason: StatusReason | undefined): void {
    const pool = this.#pools.get(poolId);
    const cell = pool?.cell(keyId);
    if (pool === undefined || cell === undefined) return;
    const now = this.#clock.now();
    const condition = model === "" ? cell : cell.conditionFor(model);
    // A model's rest may be longer than the cap, but was written with its own length: that bounds it.
    const longestMs = model === "" ? pool.policy.cooldown.capMs : Math.max(0, health.coolUntil - health.cooledAt);
    condition.health = restoreHealth(health, longestMs, now);
    condition.reason = reason;
    if (model !== "") pool.openLane(model, now);
    pool.refresh(cell, now);
  }

  restoreBindings(bindings: readonly RestoredBinding[]): void {
    for (const binding of bindings) {
      const cell = this.#pools.get(binding.poolId)?.cell(binding.keyId);
      if (cell !== undefined) this.#bindings.bind(binding.fingerprint, cell.slot, binding.lastUsedAt);
    }
  }

  restorePins(pins: readonly Pin[]): void {
    for (const pin of pins) {
      const cell = this.#pools.get(pin.poolId)?.cell(pin.keyId);
      if (cell === undefined) continue;
      if (pin.kind === "object") this.#pins.bind(pin.fingerprint, cell.pinSlot, pin.at);
      else this.#conversations.bind(pin.fingerprint, cell.slot, pin.at);
    }
  }

  #newPool(poolId: string, policy: StatePolicy): PoolCells {
    const pool: PoolCells = new PoolCells(policy, (entry, position) => {
      const cell = new KeyCell(entry, position, this.#nextSlot++);
      this.#owners.set(cell.slot, { cell, pool });
      this.#pinOwners.set(cell.pinSlot, { cell, pool });
      return cell;
    });
    this.#pools.set(poolId, pool);
    return pool;
  }

  #disown(cell: KeyCell): void {
    this.#owners.delete(cell.slot);
    this.#pinOwners.delete(cell.pinSlot);
  }

  #keyOfObjects(pool: PoolCells, objects: Question["objects"], now: EpochMs): string | undefined {
    for (const object of objects ?? []) {
      const owner = this.#pinOwners.get(this.#pins.use(object, now, Number.POSITIVE_INFINITY));
      if (owner?.pool === pool) return owner.cell.entry.id;
    }
    return undefined;
  }

  #newSlot(cell: KeyCell, pool: PoolCells): number {
    const slot = this.#nextSlot++;
    this.#owners.set(slot, { cell, pool });
    return slot;
  }

  /** Ends all bindings to a key at once: they point to a slot that belongs to nobody from now on. */
  #endBindings(cell: KeyCell, pool: PoolCells): void {
    if (this.#bindings.countOf(cell.slot) + this.#conversations.countOf(cell.slot) === 0) return;
    this.#owners.delete(cell.slot);
    cell.slot = this.#newSlot(cell, pool);
  }

  #pool(poolId: string): PoolCells {
    const pool = this.#pools.get(poolId);
    if (pool === undefined) throw new Error(`no pool ${poolId} was configured`);
    return pool;
  }

  /** The key that an outcome belongs to; undefined when it is gone, has another value or was cleared since. */
  #find(ticket: Ticket): { cell: KeyCell; pool: PoolCells } | undefined {
    const pool = this.#pools.get(ticket.poolId);
    const cell = pool?.cell(ticket.keyId);
    if (pool === undefined || cell === undefined) return undefined;
    const isSame = cell.entry.secretVersion === ticket.secretVersion && cell.generation === ticket.generation;
    return isSame ? { cell, pool } : undefined;
  }

  #bound(
    pool: PoolCells,
    question: Question,
    now: EpochMs,
  ): { cell: KeyCell; why: "session" | "continuation"; because: PassedOver["because"] | undefined } | undefined {
    if (!pool.policy.affinity.enabled) return undefined;
    const why = question.session === undefined ? "continuation" : "session";
    const table = question.session === undefined ? this.#conversations : this.#bindings;
    const lookups = question.session === undefined ? question.conversation?.lookups : [question.session.fingerprint];
    for (const lookup of lookups ?? []) {
      const owner = this.#owners.get(table.use(lookup, now, pool.policy.affinity.idleTtlMs));
      if (owner === undefined || owner.pool !== pool) continue;
      const { cell } = owner;
      if (question.tried?.has(cell.entry.id) === true) return { cell, why, because: "tried" };
      const able = cell.canServe(now, question.model);
      return { cell, why, because: able ? undefined : cell.whyNot(now, question.model) };
    }
    return undefined;
  }

  #bind(poolId: string, pool: PoolCells, question: Question, cell: KeyCell, now: EpochMs): void {
    if (!pool.policy.affinity.enabled) return;
    if (question.session !== undefined) this.#bindOne(poolId, question.session, cell, now);
    else this.#bindConversation(poolId, question.conversation?.binds ?? [], cell, now);
  }

  #bindConversation(poolId: string, binds: readonly Fingerprint[], cell: KeyCell, now: EpochMs): void {
    for (const fingerprint of binds) {
      this.#conversations.bind(fingerprint, cell.slot, now);
      this.#remember({ poolId, kind: "conversation", fingerprint, keyId: cell.entry.id, at: now });
    }
  }

  #remember(pin: Pin): void {
    if (this.#newPins.length < newPinsHeld) this.#newPins.push(pin);
  }

  #bindOne(poolId: string, session: SessionRef, cell: KeyCell, now: EpochMs): void {
    const isNew = this.#bindings.peek(session.fingerprint) !== cell.slot;
    if (isNew) this.#bindings.bind(session.fingerprint, cell.slot, now);
    const id = `${poolId} ${session.id} ${session.fingerprint.low}`;
    const before = this.#touched.get(id);
    const requests = (before?.touched.requests ?? 0) + 1;
    const boundAt = isNew || before === undefined ? (isNew ? now : undefined) : before.touched.boundAt;
    this.#touched.set(id, {
      slot: cell.slot,
      touched: { poolId, session, keyId: cell.entry.id, boundAt, lastUsedAt: now, requests },
    });
  }
}

/** How long the first request to a key that came back may keep others from it. A refusal comes sooner than that. */
const trialMs = 2_000;
/** Pins that wait to be written down; the store is away if there are ever so many, and the oldest ones suffice then. */
const newPinsHeld = 100_000;

function clear(cell: KeyCell): void {
  cell.health = afterReset(cell.health);
  cell.reason = undefined;
  cell.refused = false;
  cell.heldUntil = 0;
  cell.trialUntil = 0;
  cell.generation++;
  cell.models.clear();
}

/** A key whose last answer was a failure is tried by one request before the crowd may follow. */
function startTrial(pool: PoolCells, cell: KeyCell, now: EpochMs): void {
  if (cell.health.failures === 0 || cell.trialUntil > now) return;
  cell.trialUntil = now + trialMs;
  pool.refresh(cell, now);
}

function settleSuccess(condition: Condition, mark: Ticket["mark"]): boolean {
  const after = afterSuccess(condition.health, mark);
  if (after === condition.health) return false;
  condition.health = after;
  condition.reason = undefined;
  return true;
}

function stateOf(condition: Condition): { health: Health; reason: StatusReason | undefined } {
  return { health: condition.health, reason: condition.reason };
}

function chosen(
  poolId: string,
  cell: KeyCell,
  why: "session" | "continuation" | "pin" | "turn",
  passedOver: readonly PassedOver[],
  movedFrom: string | undefined,
  question: Question,
): Choice {
  const { model } = question;
  const models = model === undefined ? undefined : cell.models.get(model);
  const ticket: Ticket = {
    poolId,
    keyId: cell.entry.id,
    secretVersion: cell.entry.secretVersion,
    generation: cell.generation,
    mark: cell.mark,
    model,
    modelMark: models === undefined ? undefined : markOf(models.health),
  };
  return { kind: "key", keyId: cell.entry.id, why, passedOver, movedFrom, ticket };
}

function choosePinned(poolId: string, pool: PoolCells, keyId: string, question: Question, now: EpochMs): Choice {
  const cell = pool.cell(keyId);
  if (cell !== undefined && question.tried?.has(keyId) !== true && cell.canServe(now, question.model)) {
    return chosen(poolId, cell, "pin", [], undefined, question);
  }
  return cell === undefined ? noKey(pool, question, now) : noneOf([cell], question, pool, now);
}

function noKey(pool: PoolCells, question: Question, now: EpochMs): Choice {
  return noneOf(pool.restingCells(now, question.model), question, pool, now);
}

/** The outcome when nobody can serve; `resting` are those that time alone brings back. */
function noneOf(resting: readonly KeyCell[], question: Question, pool: PoolCells, now: EpochMs): Choice {
  const { model, tried } = question;
  const standing = pool.standing(now, model, tried);
  const able = resting.filter((cell) => cell.takesPart);
  const onTrial = pool.triedCells(now, model).filter((cell) => tried?.has(cell.entry.id) !== true);
  const ends = [...able.map((cell) => cell.restsUntil(now, model)), ...onTrial.map((cell) => cell.trialUntil)];
  if (standing.tried > 0) ends.push(now);
  if (ends.length === 0) return { kind: "none-usable", standing };
  const overload = able.length > 0 && able.every((cell) => cell.whyNot(now, model) === "overloaded");
  return { kind: "exhausted", standing, until: Math.min(...ends), overload, isBeingTried: onTrial.length > 0 };
}
