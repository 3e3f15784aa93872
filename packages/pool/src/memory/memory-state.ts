import type { Clock } from "../ports/clock.ts";
import type { StatusReason } from "../ports/journal.ts";
import type {
  Choice,
  KeyEntry,
  KeySnapshot,
  KeyState,
  PassedOver,
  Pin,
  PoolState,
  Question,
  RestoredBinding,
  SharedRest,
  StatePolicy,
  Ticket,
} from "../ports/shared-state.ts";
import {
  afterFailure,
  afterReset,
  afterSuccess,
  healthy,
  type Failure,
  type Health,
  isSharedLimit,
  restAlong,
  restoreHealth,
} from "../rules/cooldown.ts";
import type { Fingerprint } from "../rules/fingerprint.ts";
import type { DurationMs, EpochMs } from "../rules/time.ts";
import type { BindingBook, Bindings, Owner } from "./binding-book.ts";
import { choosePinned, chosen, noKey } from "./choices.ts";
import { type Condition, KeyCell, markOf } from "./key-cell.ts";
import type { NewCells, PoolOfCells } from "./pool-of-cells.ts";

type Reason = Omit<StatusReason, "at">;

/** What other keys of a group are to rest with. */
interface Rest {
  readonly reason: Reason;
  readonly model: string | undefined;
  readonly until: EpochMs;
  readonly now: EpochMs;
}

/**
 * The shared state of one process: what is decided, over whatever keeps its bindings and turns its wheel.
 *
 * Every method does its work before it returns its promise: between the moment at which a refusal is seen and its
 * consequence no other request can choose.
 */
export class StateInMemory<Pool extends PoolOfCells, Book extends BindingBook<Pool>> implements PoolState {
  readonly #clock: Clock;
  readonly #pools = new Map<string, Pool>();
  readonly #affinity: Book;
  readonly #newCells: NewCells<Pool>;

  constructor(clock: Clock, book: Book, newCells: NewCells<Pool>) {
    this.#clock = clock;
    this.#affinity = book;
    this.#newCells = newCells;
  }

  async configure(poolId: string, keys: readonly KeyEntry[], policy: StatePolicy): Promise<void> {
    const now = this.#clock.now();
    const pool = this.#pools.get(poolId) ?? this.#newPool(poolId, policy);
    pool.policy = policy;
    for (const entry of keys) {
      const cell = pool.cell(entry.id);
      if (cell !== undefined && cell.entry.secretVersion !== entry.secretVersion) clear(cell);
      if (cell !== undefined && cell.entry.enabled && !entry.enabled)
        this.#affinity.endAll({ cell, pool }, "disabled_by_operator");
    }
    for (const cell of pool.configure(keys, now)) this.#affinity.disown(cell);
  }

  async remove(poolId: string): Promise<void> {
    for (const cell of this.#pools.get(poolId)?.cells ?? []) this.#affinity.disown(cell);
    this.#pools.delete(poolId);
  }

  choose(poolId: string, question: Question): Choice {
    const now = this.#clock.now();
    const pool = this.#pool(poolId);
    pool.wake(now);
    const pinnedTo = question.pinnedTo ?? this.#affinity.makerOf(pool, question.objects, now);
    if (pinnedTo !== undefined) return choosePinned(poolId, pool, pinnedTo, question, now);
    if (question.first === true) {
      const first = pool.first(question.model, question.tried);
      return first === undefined ? noKey(pool, question, now) : chosen(poolId, first, "pin", question);
    }

    const bound = this.#affinity.find(pool, question, now);
    if (bound !== undefined && bound.because === undefined) {
      startTrial(pool, bound.cell, now);
      this.#affinity.bind(poolId, { cell: bound.cell, pool }, question, now);
      return chosen(poolId, bound.cell, bound.why, question);
    }
    const passedOver: PassedOver[] =
      bound?.because === undefined ? [] : [{ keyId: bound.cell.entry.id, because: bound.because }];
    passedOver.push(...pool.passedOver(question.model, now).filter((passed) => passed.keyId !== bound?.cell.entry.id));
    const cell = pool.take(question.model, question.tried);
    if (cell === undefined) return noKey(pool, question, now);
    // Before the new binding takes its place.
    const left = this.#affinity.leftOf(pool, question, bound);
    if (question.bind !== false) this.#affinity.bind(poolId, { cell, pool }, question, now);
    startTrial(pool, cell, now);
    return chosen(poolId, cell, "turn", question, { passedOver, movedFrom: bound?.cell.entry.id, left });
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

  succeed(ticket: Ticket): KeyState {
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
    const mark = ofModel ? (ticket.modelMark ?? markOf(healthy)) : ticket.mark;
    const before = condition.health;
    condition.health = afterFailure(before, failure, mark, pool.policy.cooldown, now);
    // Of a refused key people want to know the refusal, not what came late.
    if (ofModel || !cell.refused) condition.reason = { ...reason, at: now };
    cell.heldUntil = 0;
    cell.trialUntil = 0;
    if (ofModel) pool.openLane(ticket.model, now);
    else if (condition.health.cooldowns !== before.cooldowns) this.#affinity.endAll({ cell, pool }, reason.code);
    pool.refresh(cell, now);
    const model = ofModel ? ticket.model : undefined;
    const others = this.#shareRest({ cell, pool }, { reason, model, until: condition.health.coolUntil, now });
    return { ...stateOf(condition), applied: true, ...(others.length === 0 ? {} : { others }) };
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
    this.#affinity.endAll({ cell, pool }, reason.code);
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
    const pool = this.#pools.get(poolId);
    return pool !== undefined && this.#affinity.endSession(pool, session);
  }

  pin(poolId: string, keyId: string, objects: readonly Fingerprint[]): void {
    const cell = this.#pools.get(poolId)?.cell(keyId);
    if (cell !== undefined) this.#affinity.pin(poolId, cell, objects, this.#clock.now());
  }

  get hasPins(): boolean {
    return this.#affinity.hasPins;
  }

  async sweepIdle(): Promise<number> {
    return this.#affinity.sweepIdle(this.#clock.now());
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
      boundSessions: this.#affinity.sessionsOf(cell),
      models: [...cell.models].map(([model, { health, reason }]) => ({ model, health, reason })),
    }));
  }

  /** All sessions, conversations and objects that belong to keys of a pool, as they could be restored. */
  bindings(poolId: string): Bindings {
    return this.#affinity.bindingsOf(poolId, this.#pool(poolId));
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
      if (cell !== undefined) this.#affinity.restoreBinding(binding, cell);
    }
  }

  restorePins(pins: readonly Pin[]): void {
    for (const pin of pins) {
      const cell = this.#pools.get(pin.poolId)?.cell(pin.keyId);
      if (cell !== undefined) this.#affinity.restorePin(pin, cell);
    }
  }

  /** For an implementation of which this one is the local part. */
  protected get parts(): { readonly pools: ReadonlyMap<string, Pool>; readonly affinity: Book; readonly clock: Clock } {
    return { pools: this.#pools, affinity: this.#affinity, clock: this.#clock };
  }

  /** A limit that keys of a group share rests them all; which of them met it stays told. */
  #shareRest({ cell: failed, pool }: Owner<Pool>, { reason, model, until, now }: Rest): readonly SharedRest[] {
    const { group } = failed.entry;
    if (group === undefined || !isSharedLimit(reason.code) || until <= now) return [];
    const shared = { ...reason, at: now, sharedFrom: failed.entry.id };
    const others: SharedRest[] = [];
    for (const cell of pool.cells) {
      if (cell === failed || cell.entry.group !== group) continue;
      const condition: Condition = model === undefined ? cell : cell.conditionFor(model);
      const before = condition.health;
      condition.health = restAlong(before, until, now);
      if (condition.health === before) continue;
      if (model !== undefined || !cell.refused) condition.reason = shared;
      if (model !== undefined) pool.openLane(model, now);
      else if (condition.health.cooldowns !== before.cooldowns) this.#affinity.endAll({ cell, pool }, reason.code);
      pool.refresh(cell, now);
      const { id: keyId, secretVersion } = cell.entry;
      others.push({ keyId, secretVersion, ...stateOf(condition) });
    }
    return others;
  }

  #newPool(poolId: string, policy: StatePolicy): Pool {
    const pool: Pool = this.#newCells(policy, (entry, position) => {
      const cell = new KeyCell(entry, position, this.#affinity.takeSlot());
      this.#affinity.admit({ cell, pool });
      return cell;
    });
    this.#pools.set(poolId, pool);
    return pool;
  }

  #pool(poolId: string): Pool {
    const pool = this.#pools.get(poolId);
    if (pool === undefined) throw new Error(`no pool ${poolId} was configured`);
    return pool;
  }

  /** The key that an outcome belongs to; undefined when it is gone, has another value or was cleared since. */
  #find(ticket: Ticket): Owner<Pool> | undefined {
    const pool = this.#pools.get(ticket.poolId);
    const cell = pool?.cell(ticket.keyId);
    if (pool === undefined || cell === undefined) return undefined;
    // Whatever comes first after a clock was set back is to notice it.
    pool.wake(this.#clock.now());
    const isSame = cell.entry.secretVersion === ticket.secretVersion && cell.generation === ticket.generation;
    return isSame ? { cell, pool } : undefined;
  }
}

/** How long the first request to a key that came back may keep others from it. A refusal comes sooner than that. */
const trialMs = 2_000;

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
function startTrial(pool: PoolOfCells, cell: KeyCell, now: EpochMs): void {
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
