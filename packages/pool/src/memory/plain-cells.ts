import type { KeyEntry, PassedOver, StatePolicy } from "../ports/shared-state.ts";
import { isCooling } from "../rules/cooldown.ts";
import type { EpochMs } from "../rules/time.ts";
import type { KeyCell } from "./key-cell.ts";
import { passedOverShown, type PoolOfCells } from "./pool-of-cells.ts";

/** Whose turn it is, and how many of its turns that key has had in this round. */
interface Place {
  position: number;
  used: number;
  /** A second place, which turns for requests alone that may not have the key whose turn it is. */
  detour?: Place;
}

type Tried = ReadonlySet<string> | undefined;

/**
 * The keys of one pool, few enough to be walked over for each choice. They turn as those of `PoolCells` do, whose `Wheel`
 * says why.
 */
export class PlainCells implements PoolOfCells {
  policy: StatePolicy;
  readonly #admit: (entry: KeyEntry, position: number) => KeyCell;
  #cells: KeyCell[] = [];
  #place: Place = { position: 0, used: 0 };
  /** Places of models for which some key rests. */
  readonly #lanes = new Map<string, Place>();
  #hasTurned = false;
  #now: EpochMs = 0;

  constructor(policy: StatePolicy, admit: (entry: KeyEntry, position: number) => KeyCell) {
    this.policy = policy;
    this.#admit = admit;
  }

  get cells(): readonly KeyCell[] {
    return this.#cells;
  }

  cell(keyId: string): KeyCell | undefined {
    return this.#cells.find(({ entry }) => entry.id === keyId);
  }

  configure(entries: readonly KeyEntry[], now: EpochMs): readonly KeyCell[] {
    const before = this.#cells;
    this.#now = now;
    this.#place = this.#placeAfter(entries);
    this.#cells = entries.map((entry, position) => {
      const cell = before.find((known) => known.entry.id === entry.id) ?? this.#admit(entry, position);
      cell.entry = entry;
      return cell;
    });
    this.#lanes.clear();
    for (const cell of this.#cells) {
      for (const [model, { health }] of cell.models) if (isCooling(health, now)) this.openLane(model);
    }
    return before.filter((cell) => !this.#cells.includes(cell));
  }

  wake(now: EpochMs): void {
    if (now < this.#now) for (const cell of this.#cells) cell.rebase(now);
    this.#now = now;
  }

  refresh(): void {
    // Nothing is kept of what cells are like: they are asked each time.
  }

  openLane(model: string): void {
    if (!this.#lanes.has(model)) this.#lanes.set(model, { position: this.#place.position, used: this.#place.used });
  }

  take(model: string | undefined, tried: Tried): KeyCell | undefined {
    this.#hasTurned = true;
    const place = this.#placeFor(model);
    const next = this.#ripe(place, model);
    if (next === -1) return undefined;
    const cell = this.#cells[next];
    if (cell !== undefined && tried?.has(cell.entry.id) !== true) {
      const used = usedBy(next, place) + 1;
      const isDone = used >= cell.entry.weight;
      place.position = isDone ? this.#after(next) : next;
      place.used = isDone ? 0 : used;
      return cell;
    }
    const detour = (place.detour ??= { position: this.#after(place.position), used: 0 });
    const other = this.#ripe(detour, model, tried);
    if (other === -1) return undefined;
    place.detour = { position: other, used: usedBy(other, detour) + 1 };
    return this.#cells[other];
  }

  first(model: string | undefined, tried: Tried): KeyCell | undefined {
    return this.#cells.find((cell) => this.#isUsable(cell, model, tried));
  }

  preview(count: number): string[] {
    const turns: string[] = [];
    let place = this.#place;
    while (turns.length < count) {
      const position = this.#ripe(place, undefined);
      const cell = this.#cells[position];
      if (cell === undefined) break;
      turns.push(cell.entry.id);
      place = { position, used: usedBy(position, place) + 1 };
    }
    return turns;
  }

  passedOver(model: string | undefined, now: EpochMs): PassedOver[] {
    const place = this.#placeFor(model);
    const next = this.#ripe(place, model);
    const passed: PassedOver[] = [];
    for (let step = 0; step < this.#cells.length && passed.length < passedOverShown; step++) {
      const position = (place.position + step) % this.#cells.length;
      const cell = this.#cells[position];
      if (cell === undefined || position === next) break;
      if (!this.#isUsable(cell, model)) passed.push({ keyId: cell.entry.id, because: cell.whyNot(now, model) });
    }
    return passed;
  }

  #isUsable(cell: KeyCell, model: string | undefined, tried?: Tried): boolean {
    return cell.canTakeTurn(this.#now, model) && tried?.has(cell.entry.id) !== true;
  }

  /** The position whose turn it is from a place on, -1 if there is none; a key that has had its turns comes last. */
  #ripe(place: Place, model: string | undefined, tried?: Tried): number {
    const count = this.#cells.length;
    for (let step = 0; step <= count; step++) {
      const position = (place.position + step) % count;
      const cell = this.#cells[position];
      const isDone = step === 0 && place.used >= (cell?.entry.weight ?? 0);
      if (cell !== undefined && !isDone && this.#isUsable(cell, model, tried)) return position;
    }
    return -1;
  }

  #after(position: number): number {
    return (position + 1) % this.#cells.length;
  }

  /** A model for which no key rests any more goes back to the common place. */
  #placeFor(model = ""): Place {
    const lane = this.#lanes.get(model);
    if (lane === undefined) return this.#place;
    const rests = ({ models }: KeyCell): boolean => (models.get(model)?.health.coolUntil ?? 0) > this.#now;
    if (this.#cells.some(rests)) return lane;
    this.#lanes.delete(model);
    return this.#place;
  }

  /** Where the wheel stands after a change of the keys: on the same key, or on the next one that is still there. */
  #placeAfter(entries: readonly KeyEntry[]): Place {
    const { position: from, used } = this.#place;
    for (let step = 0; this.#hasTurned && step < this.#cells.length; step++) {
      const cell = this.#cells[(from + step) % this.#cells.length];
      const position = entries.findIndex(({ id }) => id === cell?.entry.id);
      if (position !== -1) return { position, used: step === 0 ? used : 0 };
    }
    return { position: 0, used: 0 };
  }
}

function usedBy(position: number, place: Place): number {
  return position === place.position ? place.used : 0;
}
