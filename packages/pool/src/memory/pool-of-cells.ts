import type { KeyEntry, PassedOver, StatePolicy } from "../ports/shared-state.ts";
import type { EpochMs } from "../rules/time.ts";
import type { KeyCell } from "./key-cell.ts";

/** As many keys as are named, at the most, of those that a choice passed over. */
export const passedOverShown = 8;

/** The keys of one pool on their wheel. What depends on time holds as of the last `wake`. */
export interface PoolOfCells {
  policy: StatePolicy;
  readonly cells: readonly KeyCell[];
  cell(keyId: string): KeyCell | undefined;
  /** Takes up the keys in wheel order. Those that stay keep their state; the wheel keeps its place. @returns those that left */
  configure(entries: readonly KeyEntry[], now: EpochMs): readonly KeyCell[];
  /** Brings the wheel up to date with the clock: keys whose rest ended take part again. */
  wake(now: EpochMs): void;
  /** To be called after anything about a cell changed. */
  refresh(cell: KeyCell, now: EpochMs): void;
  /** Lets a model turn by itself, because a key begins to rest for it. */
  openLane(model: string, now: EpochMs): void;
  /** Takes the next turn. @param tried keys that may not have it */
  take(model: string | undefined, tried: ReadonlySet<string> | undefined): KeyCell | undefined;
  /** The first key in order that can serve, taking no turn. */
  first(model: string | undefined, tried: ReadonlySet<string> | undefined): KeyCell | undefined;
  /** The ids of the next `count` turns, taking none. */
  preview(count: number): string[];
  /** The keys that the wheel passes over before its next turn for this model, at most `passedOverShown`. */
  passedOver(model: string | undefined, now: EpochMs): PassedOver[];
}

/** Makes a pool. @param admit makes the cell of a key that was not here before */
export type NewCells<Pool extends PoolOfCells> = (
  policy: StatePolicy,
  admit: (entry: KeyEntry, position: number) => KeyCell,
) => Pool;
