import type { LeftKey, Pin, Question, RestoredBinding } from "../ports/shared-state.ts";
import type { Fingerprint } from "../rules/fingerprint.ts";
import type { DurationMs, EpochMs } from "../rules/time.ts";
import type { BindingBook, Bindings, Bound, Owner } from "./binding-book.ts";
import type { KeyCell } from "./key-cell.ts";
import type { PlainCells } from "./plain-cells.ts";

/** Its fingerprint is held as signed integers, which take a third of the memory. */
interface Binding extends Fingerprint {
  readonly cell: KeyCell;
  readonly slot: number;
  readonly usedAt: EpochMs;
}

/** Slots whose end is remembered: each cooldown, refusal or deletion of a key makes one. */
const endingsRemembered = 1_000;

/**
 * Who belongs to which key, in maps: some 180 bytes a binding, for as many as a program has. A binding holds as long as its
 * key has the slot that it was made with.
 */
export class PlainBook implements BindingBook<PlainCells> {
  readonly #sessions: RecentBindings;
  readonly #conversations: RecentBindings;
  readonly #objects: RecentBindings;
  /** What ended the bindings of a slot; oldest first. */
  readonly #endings = new Map<number, LeftKey["because"]>();
  /** The pools of the keys that are there. */
  readonly #pools = new Map<KeyCell, PlainCells>();
  #nextSlot = 0;

  /** @param most sessions at the most, and as many conversations and as many objects */
  constructor(most: number) {
    this.#sessions = new RecentBindings(most);
    this.#conversations = new RecentBindings(most);
    this.#objects = new RecentBindings(most);
  }

  takeSlot(): number {
    return this.#nextSlot++;
  }

  admit({ cell, pool }: Owner<PlainCells>): void {
    this.#pools.set(cell, pool);
  }

  disown(cell: KeyCell): void {
    this.#pools.delete(cell);
    this.endAll({ cell }, "deleted");
  }

  endAll({ cell }: Pick<Owner<PlainCells>, "cell">, because: LeftKey["because"]): void {
    this.#endings.set(cell.slot, because);
    if (this.#endings.size > endingsRemembered) this.#endings.delete(firstOf(this.#endings.keys()) ?? -1);
    cell.slot = this.takeSlot();
  }

  sessionsOf({ slot }: KeyCell): number {
    return this.#sessions.countOf(slot);
  }

  find(pool: PlainCells, question: Question, now: EpochMs): Bound | undefined {
    const { enabled, idleTtlMs } = pool.policy.affinity;
    if (!enabled) return undefined;
    const { session, model, tried } = question;
    const table = this.#tableFor(question);
    for (const lookup of lookupsOf(question)) {
      const binding = table.use(lookup, now, idleTtlMs);
      if (!this.#holds(binding, pool)) continue;
      const { cell } = binding;
      const why = session === undefined ? "continuation" : "session";
      if (tried?.has(cell.entry.id) === true) return { cell, why, because: "tried" };
      return { cell, why, because: cell.canServe(now, model) ? undefined : cell.whyNot(now, model) };
    }
    return undefined;
  }

  leftOf(pool: PlainCells, question: Question, bound?: Bound): LeftKey | undefined {
    if (bound?.because !== undefined) return { keyId: bound.cell.entry.id, because: bound.because };
    if (!pool.policy.affinity.enabled) return undefined;
    for (const lookup of lookupsOf(question)) {
      const binding = this.#tableFor(question).get(lookup);
      const because = binding === undefined ? undefined : this.#endings.get(binding.slot);
      if (binding !== undefined && because !== undefined) return { keyId: binding.cell.entry.id, because };
    }
    return undefined;
  }

  bind(_poolId: string, { cell, pool }: Owner<PlainCells>, { session, conversation }: Question, now: EpochMs): void {
    if (!pool.policy.affinity.enabled) return;
    if (session !== undefined) this.#sessions.bind(session.fingerprint, cell, cell.slot, now);
    for (const fingerprint of conversation?.binds ?? []) this.#conversations.bind(fingerprint, cell, cell.slot, now);
  }

  endSession(pool: PlainCells, session: Fingerprint): boolean {
    return this.#holds(this.#sessions.get(session), pool) && this.#sessions.end(session);
  }

  pin(_poolId: string, cell: KeyCell, objects: readonly Fingerprint[], at: EpochMs): void {
    for (const fingerprint of objects) this.#objects.bind(fingerprint, cell, cell.pinSlot, at);
  }

  get hasPins(): boolean {
    return this.#objects.size > 0;
  }

  makerOf(pool: PlainCells, objects: readonly Fingerprint[] | undefined, now: EpochMs): string | undefined {
    for (const object of objects ?? []) {
      const cell = this.#objects.use(object, now, Number.POSITIVE_INFINITY)?.cell;
      if (cell !== undefined && this.#pools.get(cell) === pool) return cell.entry.id;
    }
    return undefined;
  }

  sweepIdle(now: EpochMs): number {
    let ended = 0;
    for (const table of [this.#sessions, this.#conversations]) {
      for (const binding of table.all()) {
        const idleTtlMs = this.#pools.get(binding.cell)?.policy.affinity.idleTtlMs ?? -1;
        if (now - binding.usedAt > idleTtlMs && table.end(binding)) ended++;
      }
    }
    return ended;
  }

  bindingsOf(poolId: string, pool: PlainCells): Bindings {
    const held = (table: RecentBindings): Binding[] =>
      [...table.all()].filter(
        ({ cell, slot }) =>
          this.#pools.get(cell) === pool && slot === (table === this.#objects ? cell.pinSlot : cell.slot),
      );
    const pins = (kind: Pin["kind"], table: RecentBindings): Pin[] =>
      held(table).map(({ cell, usedAt: at, ...print }) => ({
        poolId,
        kind,
        fingerprint: unsigned(print),
        keyId: cell.entry.id,
        at,
      }));
    return {
      sessions: held(this.#sessions).map(({ cell, usedAt: lastUsedAt, ...print }) => ({
        poolId,
        fingerprint: unsigned(print),
        keyId: cell.entry.id,
        lastUsedAt,
      })),
      pins: [...pins("conversation", this.#conversations), ...pins("object", this.#objects)],
    };
  }

  restoreBinding({ fingerprint, lastUsedAt }: RestoredBinding, cell: KeyCell): void {
    this.#sessions.bind(fingerprint, cell, cell.slot, lastUsedAt);
  }

  restorePin({ kind, fingerprint, at }: Pin, cell: KeyCell): void {
    if (kind === "object") this.#objects.bind(fingerprint, cell, cell.pinSlot, at);
    else this.#conversations.bind(fingerprint, cell, cell.slot, at);
  }

  #tableFor({ session }: Question): RecentBindings {
    return session === undefined ? this.#conversations : this.#sessions;
  }

  #holds(binding: Binding | undefined, pool: PlainCells): binding is Binding {
    return binding?.slot === binding?.cell.slot && binding !== undefined && this.#pools.get(binding.cell) === pool;
  }
}

function lookupsOf({ session, conversation }: Question): readonly Fingerprint[] {
  return session === undefined ? (conversation?.lookups ?? []) : [session.fingerprint];
}

/** Bindings by fingerprint; the least recently used go when there are too many. */
class RecentBindings {
  readonly #most: number;
  readonly #bindings = new Map<number, Binding>();
  /** By slot. */
  readonly #counts = new Map<number, number>();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#bindings.size;
  }

  countOf(slot: number): number {
    return this.#counts.get(slot) ?? 0;
  }

  all(): Iterable<Binding> {
    return this.#bindings.values();
  }

  get(fingerprint: Fingerprint): Binding | undefined {
    return this.#bindings.get(numberOf(fingerprint));
  }

  /** Being asked for counts as use. @param idleTtlMs a binding unused for longer than this has ended */
  use(fingerprint: Fingerprint, now: EpochMs, idleTtlMs: DurationMs): Binding | undefined {
    const binding = this.get(fingerprint);
    if (binding === undefined) return undefined;
    this.end(fingerprint);
    if (now - binding.usedAt > idleTtlMs) return undefined;
    this.bind(fingerprint, binding.cell, binding.slot, now);
    return binding;
  }

  bind(fingerprint: Fingerprint, cell: KeyCell, slot: number, usedAt: EpochMs): void {
    this.end(fingerprint);
    this.#bindings.set(numberOf(fingerprint), {
      high: fingerprint.high | 0,
      low: fingerprint.low | 0,
      cell,
      slot,
      usedAt,
    });
    this.#counts.set(slot, this.countOf(slot) + 1);
    const oldest = this.size > this.#most ? firstOf(this.all()) : undefined;
    if (oldest !== undefined) this.end(oldest);
  }

  /** @returns whether there was one */
  end(fingerprint: Fingerprint): boolean {
    const binding = this.get(fingerprint);
    if (binding === undefined) return false;
    const left = this.countOf(binding.slot) - 1;
    if (left > 0) this.#counts.set(binding.slot, left);
    else this.#counts.delete(binding.slot);
    return this.#bindings.delete(numberOf(fingerprint));
  }
}

/** As much of a fingerprint as a number holds, 53 bits: of 100,000 no two meet in a million programs. */
function numberOf({ high, low }: Fingerprint): number {
  return (high >>> 0) * 0x200000 + (low >>> 11);
}

function unsigned({ high, low }: Fingerprint): Fingerprint {
  return { high: high >>> 0, low: low >>> 0 };
}

function firstOf<Item>(items: Iterable<Item>): Item | undefined {
  for (const item of items) return item;
  return undefined;
}
