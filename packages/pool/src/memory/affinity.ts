import type { LeftKey, Pin, Question, RestoredBinding, SessionRef, TouchedSession } from "../ports/shared-state.ts";
import { BindingTable } from "../rules/binding-table.ts";
import type { Fingerprint } from "../rules/fingerprint.ts";
import type { EpochMs } from "../rules/time.ts";
import type { BindingBook, Bindings, Bound, Owner as OwnerIn } from "./binding-book.ts";
import type { KeyCell } from "./key-cell.ts";
import type { PoolCells } from "./pool-cells.ts";

type Owner = OwnerIn<PoolCells>;

interface Held {
  readonly fingerprint: Fingerprint;
  readonly keyId: string;
  readonly usedAt: EpochMs;
}

/** Slots that are remembered after their bindings have ended: each cooldown, refusal or deletion of a key makes one. */
const formerRemembered = 1_000;
/** What waits to be written down; the store is away if there is ever so much, and the rest is let go. */
const mostWaiting = 100_000;

/**
 * Who belongs to which key: sessions, conversations that nobody named, stored objects.
 *
 * The tables know keys by slots. A key's slot is changed to end all its bindings at once; the slot of its pins stays, since
 * an object outlives its maker's cooldowns.
 */
export class Affinity implements BindingBook<PoolCells> {
  readonly #sessions: BindingTable;
  /** Apart from the sessions, which people count. */
  readonly #conversations: BindingTable;
  readonly #objects: BindingTable;
  /** Who a slot belongs to; a slot whose bindings have ended belongs to nobody. */
  readonly #owners = new Map<number, Owner>();
  readonly #makers = new Map<number, Owner>();
  /** Who a slot belonged to whose bindings have ended, and what ended them; oldest first. */
  readonly #former = new Map<number, { readonly pool: PoolCells; readonly left: LeftKey }>();
  #nextSlot = 0;
  #newPins: Pin[] = [];
  readonly #touched = new Map<string, { readonly touched: TouchedSession; readonly slot: number }>();

  constructor({ maxBindings, maxPins }: { readonly maxBindings: number; readonly maxPins: number }) {
    this.#sessions = new BindingTable(maxBindings);
    this.#conversations = new BindingTable(maxBindings);
    this.#objects = new BindingTable(maxPins);
  }

  /** A number that no key had before. */
  takeSlot(): number {
    return this.#nextSlot++;
  }

  admit(owner: Owner): void {
    this.#owners.set(owner.cell.slot, owner);
    this.#makers.set(owner.cell.pinSlot, owner);
  }

  /** A key is gone, and with it all that belonged to it. */
  disown(cell: KeyCell): void {
    const owner = this.#owners.get(cell.slot);
    if (owner !== undefined && this.#hasBindings(cell)) this.#rememberFormer(owner, "deleted");
    this.#owners.delete(cell.slot);
    this.#makers.delete(cell.pinSlot);
  }

  /** Ends all bindings to a key at once: they point to a slot that belongs to nobody from now on. */
  endAll(owner: Owner, because: LeftKey["because"]): void {
    const { cell } = owner;
    if (!this.#hasBindings(cell)) return;
    this.#rememberFormer(owner, because);
    this.#owners.delete(cell.slot);
    cell.slot = this.takeSlot();
    this.#owners.set(cell.slot, owner);
  }

  sessionsOf(cell: KeyCell): number {
    return this.#sessions.countOf(cell.slot);
  }

  find(pool: PoolCells, question: Question, now: EpochMs): Bound | undefined {
    if (!pool.policy.affinity.enabled) return undefined;
    const { session, conversation, model, tried } = question;
    const why = session === undefined ? "continuation" : "session";
    const table = session === undefined ? this.#conversations : this.#sessions;
    const lookups = session === undefined ? conversation?.lookups : [session.fingerprint];
    for (const lookup of lookups ?? []) {
      const owner = this.#owners.get(table.use(lookup, now, pool.policy.affinity.idleTtlMs));
      if (owner === undefined || owner.pool !== pool) continue;
      const { cell } = owner;
      if (tried?.has(cell.entry.id) === true) return { cell, why, because: "tried" };
      return { cell, why, because: cell.canServe(now, model) ? undefined : cell.whyNot(now, model) };
    }
    return undefined;
  }

  /**
   * The key that a request belonged to and has to leave: the one that `find` has found and that cannot serve, or one whose
   * bindings have ended since the request's last one. To be asked before it is bound anew.
   */
  leftOf(pool: PoolCells, question: Question, bound?: Bound): LeftKey | undefined {
    if (bound?.because !== undefined) return { keyId: bound.cell.entry.id, because: bound.because };
    if (!pool.policy.affinity.enabled || this.#former.size === 0) return undefined;
    const { session, conversation } = question;
    const table = session === undefined ? this.#conversations : this.#sessions;
    for (const lookup of session === undefined ? (conversation?.lookups ?? []) : [session.fingerprint]) {
      const former = this.#former.get(table.peek(lookup));
      if (former?.pool === pool) return former.left;
    }
    return undefined;
  }

  bind(poolId: string, { cell, pool }: Owner, question: Question, now: EpochMs): void {
    if (!pool.policy.affinity.enabled) return;
    if (question.session !== undefined) this.#bindSession(poolId, question.session, cell, now);
    for (const fingerprint of question.conversation?.binds ?? []) {
      this.#conversations.bind(fingerprint, cell.slot, now);
      this.#remember({ poolId, kind: "conversation", fingerprint, keyId: cell.entry.id, at: now });
    }
  }

  endSession(pool: PoolCells, session: Fingerprint): boolean {
    const owner = this.#owners.get(this.#sessions.peek(session));
    return owner?.pool === pool && this.#sessions.end(session);
  }

  pin(poolId: string, cell: KeyCell, objects: readonly Fingerprint[], at: EpochMs): void {
    for (const fingerprint of objects) {
      if (this.#objects.peek(fingerprint) === cell.pinSlot) continue;
      this.#objects.bind(fingerprint, cell.pinSlot, at);
      this.#remember({ poolId, kind: "object", fingerprint, keyId: cell.entry.id, at });
    }
  }

  get hasPins(): boolean {
    return this.#objects.size > 0;
  }

  /** The key that made the first of these objects that is known. */
  makerOf(pool: PoolCells, objects: readonly Fingerprint[] | undefined, now: EpochMs): string | undefined {
    for (const object of objects ?? []) {
      const maker = this.#makers.get(this.#objects.use(object, now, Number.POSITIVE_INFINITY));
      if (maker?.pool === pool) return maker.cell.entry.id;
    }
    return undefined;
  }

  /** Whom it belongs to, without using it. One that has idled out may still be told of. */
  ownerOf(pool: PoolCells, kind: "session" | "conversation" | "object", fingerprint: Fingerprint): string | undefined {
    const owner =
      kind === "object"
        ? this.#makers.get(this.#objects.peek(fingerprint))
        : this.#owners.get((kind === "session" ? this.#sessions : this.#conversations).peek(fingerprint));
    return owner?.pool === pool ? owner.cell.entry.id : undefined;
  }

  sweepIdle(now: EpochMs): number {
    const hasEnded = (slot: number, usedAt: EpochMs): boolean => {
      const owner = this.#owners.get(slot) ?? this.#former.get(slot);
      return owner === undefined || now - usedAt > owner.pool.policy.affinity.idleTtlMs;
    };
    return this.#sessions.endWhere(hasEnded) + this.#conversations.endWhere(hasEnded);
  }

  drainTouched(limit: number): readonly TouchedSession[] {
    const drained: TouchedSession[] = [];
    for (const [id, { touched, slot }] of this.#touched) {
      if (drained.length >= limit) break;
      this.#touched.delete(id);
      const holds = this.#owners.has(slot) && this.#sessions.peek(touched.session.fingerprint) === slot;
      if (holds) drained.push(touched);
    }
    return drained;
  }

  drainPins(limit: number): readonly Pin[] {
    return this.#newPins.splice(0, limit);
  }

  /** All that belongs to keys of a pool, as it could be restored. */
  bindingsOf(poolId: string, pool: PoolCells): Bindings {
    const held = (table: BindingTable, owners: ReadonlyMap<number, Owner>): Held[] =>
      [...table.entries()].flatMap(({ key, slot, usedAt }) => {
        const owner = owners.get(slot);
        return owner?.pool === pool ? [{ fingerprint: key, keyId: owner.cell.entry.id, usedAt }] : [];
      });
    const pins = (kind: Pin["kind"], found: readonly Held[]): Pin[] =>
      found.map(({ fingerprint, keyId, usedAt: at }) => ({ poolId, kind, fingerprint, keyId, at }));
    return {
      sessions: held(this.#sessions, this.#owners).map(({ usedAt: lastUsedAt, ...rest }) => ({
        poolId,
        ...rest,
        lastUsedAt,
      })),
      pins: [
        ...pins("conversation", held(this.#conversations, this.#owners)),
        ...pins("object", held(this.#objects, this.#makers)),
      ],
    };
  }

  restoreBinding({ fingerprint, lastUsedAt }: RestoredBinding, cell: KeyCell): void {
    this.#sessions.bind(fingerprint, cell.slot, lastUsedAt);
  }

  restorePin({ kind, fingerprint, at }: Pin, cell: KeyCell): void {
    if (kind === "object") this.#objects.bind(fingerprint, cell.pinSlot, at);
    else this.#conversations.bind(fingerprint, cell.slot, at);
  }

  #bindSession(poolId: string, session: SessionRef, cell: KeyCell, now: EpochMs): void {
    const isNew = this.#sessions.peek(session.fingerprint) !== cell.slot;
    if (isNew) this.#sessions.bind(session.fingerprint, cell.slot, now);
    const id = `${poolId} ${session.id} ${session.fingerprint.low}`;
    const before = this.#touched.get(id)?.touched;
    if (before === undefined && this.#touched.size >= mostWaiting) return;
    const boundAt = isNew ? now : before?.boundAt;
    const requests = (before?.requests ?? 0) + 1;
    const touched = { poolId, session, keyId: cell.entry.id, boundAt, lastUsedAt: now, requests };
    this.#touched.set(id, { slot: cell.slot, touched });
  }

  #hasBindings({ slot }: KeyCell): boolean {
    return this.#sessions.countOf(slot) + this.#conversations.countOf(slot) > 0;
  }

  #rememberFormer({ cell, pool }: Owner, because: LeftKey["because"]): void {
    this.#former.set(cell.slot, { pool, left: { keyId: cell.entry.id, because } });
    if (this.#former.size <= formerRemembered) return;
    for (const oldest of this.#former.keys()) {
      this.#former.delete(oldest);
      break;
    }
  }

  #remember(pin: Pin): void {
    if (this.#newPins.length < mostWaiting) this.#newPins.push(pin);
  }
}
