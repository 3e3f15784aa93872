import type { KeyEntry, PassedOver, StatePolicy } from "../ports/shared-state.ts";
import { healthy, isCooling } from "../rules/cooldown.ts";
import { DeadlineHeap } from "../rules/deadline-heap.ts";
import type { EpochMs } from "../rules/time.ts";
import { Wheel, type WheelPlace } from "../rules/wheel.ts";
import type { KeyCell } from "./key-cell.ts";
import { passedOverShown, type PoolOfCells } from "./pool-of-cells.ts";

/**
 * The keys of one pool on their wheel.
 *
 * A model for which some key rests has a lane: a wheel of its own, so that shares follow the weights of the keys that are
 * available for that model and requests for other models lose no turn to it.
 */
export class PoolCells implements PoolOfCells {
  policy: StatePolicy;
  readonly #admit: (entry: KeyEntry, position: number) => KeyCell;
  #cells: KeyCell[] = [];
  readonly #byId = new Map<string, KeyCell>();
  #wheel = new Wheel([]);
  #turned = false;
  readonly #lanes = new Map<string, Wheel>();
  readonly #deadlines = new DeadlineHeap<KeyCell>();
  #latest: EpochMs = 0;

  /** @param admit makes the cell of a key that was not here before */
  constructor(policy: StatePolicy, admit: (entry: KeyEntry, position: number) => KeyCell) {
    this.policy = policy;
    this.#admit = admit;
  }

  get cells(): readonly KeyCell[] {
    return this.#cells;
  }

  cell(keyId: string): KeyCell | undefined {
    return this.#byId.get(keyId);
  }

  /** Takes up the keys in wheel order. Those that stay keep their state; the wheel keeps its place. */
  configure(entries: readonly KeyEntry[], now: EpochMs): readonly KeyCell[] {
    const next = this.#placeAfter(entries);
    const kept = new Set(entries.map((entry) => entry.id));
    const gone = this.#cells.filter((cell) => !kept.has(cell.entry.id));
    for (const cell of gone) this.#byId.delete(cell.entry.id);
    this.#cells = entries.map((entry, position) => this.#take(entry, position));
    this.#wheel = new Wheel(
      entries.map((entry) => entry.weight),
      next,
    );
    this.#lanes.clear();
    this.#deadlines.clear();
    for (const cell of this.#cells) {
      cell.wakeAt = 0;
      for (const [model, condition] of cell.models) if (isCooling(condition.health, now)) this.#lane(model);
    }
    for (const cell of this.#cells) this.refresh(cell, now);
    return gone;
  }

  /** Brings the wheel up to date with the clock: keys whose rest ended take part again. */
  wake(now: EpochMs): void {
    if (now < this.#latest) {
      for (const cell of this.#cells) {
        cell.rebase(now);
        this.refresh(cell, now);
      }
    }
    this.#latest = now;
    for (let cell = this.#deadlines.takeDue(now); cell !== undefined; cell = this.#deadlines.takeDue(now)) {
      if (this.#byId.get(cell.entry.id) !== cell) continue;
      cell.wakeAt = 0;
      this.refresh(cell, now);
      this.#closeLanes(cell, now);
    }
  }

  /** Tells the wheel whether the cell can serve, after anything about it changed. */
  refresh(cell: KeyCell, now: EpochMs): void {
    this.#wheel.setUsable(cell.position, cell.canTakeTurn(now, undefined));
    for (const [model, lane] of this.#lanes) lane.setUsable(cell.position, cell.canTakeTurn(now, model));
    const wakeAt = nextChange(cell, now);
    if (wakeAt === undefined || (cell.wakeAt !== 0 && cell.wakeAt <= wakeAt)) return;
    cell.wakeAt = wakeAt;
    this.#deadlines.add(wakeAt, cell);
  }

  /** The wheel that requests for this model turn. */
  wheelFor(model: string | undefined): Wheel {
    return (model === undefined ? undefined : this.#lanes.get(model)) ?? this.#wheel;
  }

  /** Gives a model a lane, because a key begins to rest for it. */
  openLane(model: string, now: EpochMs): void {
    if (this.#lanes.has(model)) return;
    const lane = this.#lane(model);
    for (const cell of this.#cells) lane.setUsable(cell.position, cell.canTakeTurn(now, model));
  }

  take(model: string | undefined, tried: ReadonlySet<string> | undefined): KeyCell | undefined {
    this.#turned = true;
    const position = this.wheelFor(model).take(this.#positionsOf(tried));
    return position === -1 ? undefined : this.#cells[position];
  }

  /** The first key in order that can serve, taking no turn. */
  first(model: string | undefined, tried: ReadonlySet<string> | undefined): KeyCell | undefined {
    const position = this.wheelFor(model).first(this.#positionsOf(tried));
    return position === -1 ? undefined : this.#cells[position];
  }

  preview(count: number): string[] {
    return this.#wheel.preview(count).map((position) => this.#cells[position]?.entry.id ?? "");
  }

  /** The keys that the wheel passes over before its next turn for this model. */
  passedOver(model: string | undefined, now: EpochMs): PassedOver[] {
    return this.wheelFor(model)
      .passedOver(passedOverShown)
      .flatMap((position) => {
        const cell = this.#cells[position];
        return cell === undefined ? [] : [{ keyId: cell.entry.id, because: cell.whyNot(now, model) }];
      });
  }

  #take(entry: KeyEntry, position: number): KeyCell {
    const known = this.#byId.get(entry.id);
    if (known === undefined) {
      const cell = this.#admit(entry, position);
      this.#byId.set(entry.id, cell);
      return cell;
    }
    known.entry = entry;
    known.position = position;
    return known;
  }

  /** Where the wheel stands after a change of the keys: on the same key, or on the next one that is still there. */
  #placeAfter(entries: readonly KeyEntry[]): WheelPlace | undefined {
    if (!this.#turned || this.#cells.length === 0) return undefined;
    const place = this.#wheel.place;
    const positions = new Map(entries.map((entry, position) => [entry.id, position]));
    for (let step = 0; step < this.#cells.length; step++) {
      const cell = this.#cells[(place.position + step) % this.#cells.length];
      const position = cell === undefined ? undefined : positions.get(cell.entry.id);
      if (position !== undefined) return { position, used: step === 0 ? place.used : 0 };
    }
    return undefined;
  }

  #lane(model: string): Wheel {
    const known = this.#lanes.get(model);
    if (known !== undefined) return known;
    const lane = new Wheel(
      this.#cells.map((cell) => cell.entry.weight),
      this.#wheel.place,
    );
    this.#lanes.set(model, lane);
    return lane;
  }

  /** A model for which no key rests any more goes back to the common wheel. */
  #closeLanes(cell: KeyCell, now: EpochMs): void {
    for (const [model, condition] of cell.models) {
      if (isCooling(condition.health, now) || !this.#lanes.has(model)) continue;
      const rests = (other: KeyCell): boolean => isCooling(other.models.get(model)?.health ?? healthy, now);
      if (!this.#cells.some(rests)) this.#lanes.delete(model);
    }
  }

  #positionsOf(tried: ReadonlySet<string> | undefined): ReadonlySet<number> | undefined {
    if (tried === undefined || tried.size === 0) return undefined;
    const positions = new Set<number>();
    for (const keyId of tried) {
      const cell = this.#byId.get(keyId);
      if (cell !== undefined) positions.add(cell.position);
    }
    return positions;
  }
}

/** The next instant at which a rest of a cell ends; undefined when it has none. */
function nextChange({ health, heldUntil, trialUntil, models }: KeyCell, now: EpochMs): EpochMs | undefined {
  let next: EpochMs | undefined;
  const consider = (until: EpochMs): void => {
    if (until > now && (next === undefined || until < next)) next = until;
  };
  consider(health.coolUntil);
  consider(heldUntil);
  consider(trialUntil);
  for (const condition of models.values()) consider(condition.health.coolUntil);
  return next;
}
