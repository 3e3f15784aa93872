import type { LeftKey, PassedOver, Pin, Question, RestoredBinding } from "../ports/shared-state.ts";
import type { Fingerprint } from "../rules/fingerprint.ts";
import type { EpochMs } from "../rules/time.ts";
import type { KeyCell } from "./key-cell.ts";
import type { PoolOfCells } from "./pool-of-cells.ts";

/** A key and the pool it is in. */
export interface Owner<Pool extends PoolOfCells> {
  readonly cell: KeyCell;
  readonly pool: Pool;
}

/** The key that a request belongs to, and why it cannot have it if it cannot. */
export interface Bound {
  readonly cell: KeyCell;
  readonly why: "session" | "continuation";
  readonly because: PassedOver["because"] | undefined;
}

/** What belongs to the keys of a pool. */
export interface Bindings {
  readonly sessions: readonly RestoredBinding[];
  readonly pins: readonly Pin[];
}

/**
 * Who belongs to which key: sessions, conversations that nobody named, stored objects.
 *
 * It knows keys by slots. A key's slot is changed to end all its bindings at once; the slot of its pins stays, since an
 * object outlives its maker's cooldowns.
 */
export interface BindingBook<Pool extends PoolOfCells> {
  /** A number that no key had before. */
  takeSlot(): number;
  admit(owner: Owner<Pool>): void;
  /** A key is gone, and with it all that belonged to it. */
  disown(cell: KeyCell): void;
  /** Ends all bindings to a key at once. */
  endAll(owner: Owner<Pool>, because: LeftKey["because"]): void;
  sessionsOf(cell: KeyCell): number;
  /** The key of the request's session, or of the longest known beginning of its conversation. Being asked for counts as use. */
  find(pool: Pool, question: Question, now: EpochMs): Bound | undefined;
  /**
   * The key that a request belonged to and has to leave: the one that `find` has found and that cannot serve, or one whose
   * bindings have ended since the request's last one. To be asked before it is bound anew.
   */
  leftOf(pool: Pool, question: Question, bound?: Bound): LeftKey | undefined;
  bind(poolId: string, owner: Owner<Pool>, question: Question, now: EpochMs): void;
  /** @returns whether there was one */
  endSession(pool: Pool, session: Fingerprint): boolean;
  pin(poolId: string, cell: KeyCell, objects: readonly Fingerprint[], at: EpochMs): void;
  readonly hasPins: boolean;
  /** The key that made the first of these objects that is known. */
  makerOf(pool: Pool, objects: readonly Fingerprint[] | undefined, now: EpochMs): string | undefined;
  /** @returns how many had idled out, and are gone now */
  sweepIdle(now: EpochMs): number;
  /** All that belongs to keys of a pool, as it could be restored. */
  bindingsOf(poolId: string, pool: Pool): Bindings;
  restoreBinding(binding: RestoredBinding, cell: KeyCell): void;
  restorePin(pin: Pin, cell: KeyCell): void;
}
