import type { LeftKey, Pin, Question, RestoredBinding } from "../ports/shared-state.ts";
import type { Fingerprint } from "../rules/fingerprint.ts";
import type { DurationMs, EpochMs } from "../rules/time.ts";
import type { BindingBook, Bindings, Bound, Owner } from "./binding-book.ts";
import type { KeyCell } from "./key-cell.ts";
import type { PlainCells } from "./plain-cells.ts";

interface Binding {
  readonly fingerprint: Fingerprint;
  readonly cell: KeyCell;
  readonly slot: number;
  usedAt: EpochMs;
}

/** Slots whose end is remembered: each cooldown, refusal or deletion of a key makes one. */
const endingsRemembered = 1_000;

/**
 * Who belongs to which key, in maps: some 150 bytes a binding, for as many as a program has. A binding holds as long as its
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
    keepNewest(this.#endings, endingsRemembered);
    cell.slot = this.takeSlot();
  }

  sessionsOf({ slot }: KeyCell): number {
    let count = 0;
    for (const binding of this.#sessions.all()) if (binding.slot === slot) count++;
    return count;
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
      for (const { fingerprint, cell, usedAt } of table.all()) {
        const idleTtlMs = this.#pools.get(cell)?.policy.affinity.idleTtlMs ?? -1;
        if (now - usedAt > idleTtlMs && table.end(fingerprint)) ended++;
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
      held(table).map(({ fingerprint, cell, usedAt: at }) => ({ poolId, kind, fingerprint, keyId: cell.entry.id, at }));
    return {
      sessions: held(this.#sessions).map(({ fingerprint, cell, usedAt: lastUsedAt }) => ({
        poolId,
        fingerprint,
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

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#bindings.size;
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
    binding.usedAt = now;
    this.#bindings.set(numberOf(fingerprint), binding);
    return binding;
  }

  bind(fingerprint: Fingerprint, cell: KeyCell, slot: number, usedAt: EpochMs): void {
    this.end(fingerprint);
    this.#bindings.set(numberOf(fingerprint), { fingerprint, cell, slot, usedAt });
    keepNewest(this.#bindings, this.#most);
  }

  end(fingerprint: Fingerprint): boolean {
    return this.#bindings.delete(numberOf(fingerprint));
  }
}

/** As much of a fingerprint as a number holds, 53 bits: of 100,000 no two meet in a million programs. */
function numberOf({ high, low }: Fingerprint): number {
  return high * 0x200000 + (low >>> 11);
}

function keepNewest<Key>(map: Map<Key, unknown>, most: number): void {
  if (map.size <= most) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
