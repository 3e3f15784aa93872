import type { Clock } from "../ports/clock.ts";
import { StateInMemory } from "./memory-state.ts";
import { PlainBook } from "./plain-book.ts";
import { PlainCells } from "./plain-cells.ts";

export interface PlainStateOptions {
  readonly clock: Clock;
  /** Sessions bound at the most, and as many beginnings of conversations and objects. */
  readonly maxBindings: number;
}

/**
 * The state of a program's own pool: the same decisions as `MemoryState` makes, with half of its code. A choice looks at
 * every key, which is nothing for some hundred of them.
 */
export class PlainState extends StateInMemory<PlainCells, PlainBook> {
  constructor({ clock, maxBindings }: PlainStateOptions) {
    super(clock, new PlainBook(maxBindings), (policy, admit) => new PlainCells(policy, admit));
  }
}
