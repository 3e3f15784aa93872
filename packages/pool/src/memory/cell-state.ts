import type { StatusReason } from "../ports/journal.ts";
import type { Health } from "../rules/cooldown.ts";
import type { EpochMs } from "../rules/time.ts";

/** Everything about one key that moves, to be told to those who share it. */
export interface CellState {
  readonly secretVersion: number;
  /** How often it was cleared. Of two states the one with more of it holds. */
  readonly generation: number;
  /** The provider refused it; only a reset or a new value brings it back. */
  readonly refused: boolean;
  readonly heldUntil: EpochMs;
  readonly trialUntil: EpochMs;
  readonly health: Health;
  readonly reason: StatusReason | undefined;
  readonly models: readonly {
    readonly model: string;
    readonly health: Health;
    readonly reason: StatusReason | undefined;
  }[];
}
