import type { Clock } from "../ports/clock.ts";
import type { StatusReason } from "../ports/journal.ts";
import type { Choice, LeftKey, PassedOver, Question, Ticket } from "../ports/shared-state.ts";
import { type Health, healthy, joinHealths } from "../rules/cooldown.ts";
import type { Fingerprint } from "../rules/fingerprint.ts";
import type { Affinity } from "./affinity.ts";
import type { CellState } from "./cell-state.ts";
import { choosePinned, chosen, noKey } from "./choices.ts";
import type { Condition, KeyCell } from "./key-cell.ts";
import type { PoolCells } from "./pool-cells.ts";

/** A decision that was made where the state is shared. */
export interface MadeChoice {
  readonly keyId: string;
  readonly why: "session" | "continuation" | "turn";
  /** Those that the wheel passed over, in its order. */
  readonly passedOver: readonly string[];
  /** The key that the request belonged to and could not have. */
  readonly bound: string | undefined;
  /** What this process knew of the request's former key before it asked. */
  readonly left: LeftKey | undefined;
  readonly ticket: Ticket;
}

/** Whether somebody keeps others from the key, or its failures still count. */
export interface Unsettled {
  readonly isKept: boolean;
  readonly hasFailures: boolean;
}

/** What a view looks at. */
export interface ViewParts {
  readonly pools: ReadonlyMap<string, PoolCells>;
  readonly affinity: Affinity;
  readonly clock: Clock;
}

/**
 * One process's view of a state that several share: what the others did is taken up here, and what needs no turn of the
 * wheel is decided here. With the shared state away the view goes on by itself.
 */
export class SharedView {
  readonly #pools: ReadonlyMap<string, PoolCells>;
  readonly #affinity: Affinity;
  readonly #clock: Clock;

  constructor(parts: ViewParts) {
    this.#pools = parts.pools;
    this.#affinity = parts.affinity;
    this.#clock = parts.clock;
  }

  /**
   * The decision, if it takes no turn and all that it rests on is known here: a pinned request, a list, or one bound to a
   * key that is well. Undefined: it must be asked for where the state is shared.
   */
  chooseHere(poolId: string, question: Question): Choice | undefined {
    const pool = this.#pools.get(poolId);
    if (pool === undefined) return undefined;
    const now = this.#clock.now();
    pool.wake(now);
    const pinnedTo = question.pinnedTo ?? this.#affinity.makerOf(pool, question.objects, now);
    if (pinnedTo !== undefined) return choosePinned(poolId, pool, pinnedTo, question, now);
    if (question.objects !== undefined && question.objects.length > 0) return undefined;
    if (question.first === true) {
      const first = pool.first(question.model, question.tried);
      return first === undefined ? noKey(pool, question, now) : chosen(poolId, first, "pin", question);
    }
    const bound = this.#affinity.find(pool, question, now);
    // A key that failed last is tried by one request at a time, whoever serves it.
    if (bound === undefined || bound.because !== undefined || bound.cell.health.failures > 0) return undefined;
    this.#affinity.bind(poolId, { cell: bound.cell, pool }, question, now);
    return chosen(poolId, bound.cell, bound.why, question);
  }

  /** Takes up a decision. @returns undefined if the key cannot serve as far as this process knows it */
  takeUp(poolId: string, question: Question, made: MadeChoice): Choice | undefined {
    const pool = this.#pools.get(poolId);
    const cell = pool?.cell(made.keyId);
    if (pool === undefined || cell === undefined || !cell.takesPart) return undefined;
    const now = this.#clock.now();
    const { why, ticket, bound } = made;
    if (why !== "turn" || question.bind !== false) this.#affinity.bind(poolId, { cell, pool }, question, now);
    const passed = bound === undefined ? made.passedOver : [bound, ...made.passedOver.filter((id) => id !== bound)];
    const passedOver = passed.flatMap((id): PassedOver[] => {
      const other = pool.cell(id);
      if (other === undefined) return [];
      const wasTried = id === bound && question.tried?.has(id) === true;
      return [{ keyId: id, because: wasTried ? "tried" : other.whyNot(now, question.model) }];
    });
    const left = why === "turn" ? (passedOver.find(({ keyId }) => keyId === bound) ?? made.left) : undefined;
    return { kind: "key", keyId: made.keyId, why, passedOver, movedFrom: bound, left, ticket };
  }

  /** The key that the request belonged to until its binding ended, to be asked before a decision takes the binding's place. */
  leftOf(poolId: string, question: Question): LeftKey | undefined {
    const pool = this.#pools.get(poolId);
    return pool === undefined ? undefined : this.#affinity.leftOf(pool, question);
  }

  /** The answer to a request of a known maker of an object. */
  choosePinned(poolId: string, keyId: string, question: Question): Choice | undefined {
    const pool = this.#pools.get(poolId);
    return pool === undefined ? undefined : choosePinned(poolId, pool, keyId, question, this.#clock.now());
  }

  /** Whether the wheel has a key for the request, as far as is known here. */
  hasTurn(poolId: string, { model, tried }: Question): boolean {
    const pool = this.#pools.get(poolId);
    pool?.wake(this.#clock.now());
    return pool?.first(model, tried) !== undefined;
  }

  /** How the pool stands for a request that found no key. */
  noKey(poolId: string, question: Question): Choice | undefined {
    const pool = this.#pools.get(poolId);
    if (pool === undefined) return undefined;
    const now = this.#clock.now();
    pool.wake(now);
    return noKey(pool, question, now);
  }

  unsettled(ticket: Ticket): Unsettled {
    const cell = this.#pools.get(ticket.poolId)?.cell(ticket.keyId);
    if (cell === undefined) return { isKept: false, hasFailures: false };
    const model = ticket.model === undefined ? undefined : cell.models.get(ticket.model);
    return {
      isKept: cell.heldUntil !== 0 || cell.trialUntil !== 0,
      hasFailures: cell.health.failures > 0 || (model?.health.failures ?? 0) > 0,
    };
  }

  /** The health and reason of a key, or of one of its models. */
  conditionOf(
    poolId: string,
    keyId: string,
    model: string | undefined,
  ): { health: Health; reason: StatusReason | undefined } {
    const cell = this.#pools.get(poolId)?.cell(keyId);
    const condition: Condition | undefined = model === undefined ? cell : cell?.models.get(model);
    return { health: condition?.health ?? healthy, reason: condition?.reason };
  }

  /** The key that a session, a conversation or an object belongs to, as far as anybody remembers. */
  ownerOf(poolId: string, kind: "session" | "conversation" | "object", fingerprint: Fingerprint): string | undefined {
    const pool = this.#pools.get(poolId);
    return pool === undefined ? undefined : this.#affinity.ownerOf(pool, kind, fingerprint);
  }

  /** All that moves about a key; undefined for one that is gone. */
  cellState(poolId: string, keyId: string): CellState | undefined {
    const cell = this.#pools.get(poolId)?.cell(keyId);
    return cell === undefined ? undefined : stateOf(cell);
  }

  /** Whether anything about a key has moved since the pool was new. */
  hasMoved(poolId: string, keyId: string): boolean {
    const cell = this.#pools.get(poolId)?.cell(keyId);
    return cell !== undefined && hasMoved(cell);
  }

  /** The cells about which anything has moved since the pool was new. */
  movedCells(poolId: string): readonly { readonly keyId: string; readonly state: CellState }[] {
    const cells = this.#pools.get(poolId)?.cells ?? [];
    return cells.filter(hasMoved).map((cell) => ({ keyId: cell.entry.id, state: stateOf(cell) }));
  }

  /**
   * Takes up what is known of a key where the state is shared. Of what this process has seen itself no failure is
   * forgotten and no deadline moves back.
   */
  adopt(poolId: string, keyId: string, told: CellState): void {
    const pool = this.#pools.get(poolId);
    const cell = pool?.cell(keyId);
    if (pool === undefined || cell === undefined) return;
    if (told.secretVersion !== cell.entry.secretVersion || told.generation < cell.generation) return;
    const now = this.#clock.now();
    if (told.generation > cell.generation) forget(cell, told.generation);
    const hasCooled = told.health.cooldowns > cell.health.cooldowns;
    if (hasCooled || (told.refused && !cell.refused)) {
      const because = told.refused ? "authentication_failed" : (told.reason?.code ?? "rate_limited");
      this.#affinity.endAll({ cell, pool }, because);
    }
    // Of a refused key people want to know the refusal.
    if (told.refused || !cell.refused) adoptCondition(cell, told);
    else cell.health = joinHealths(cell.health, told.health);
    cell.refused ||= told.refused;
    cell.heldUntil = told.heldUntil;
    cell.trialUntil = told.trialUntil;
    for (const { model, health, reason } of told.models) {
      adoptCondition(cell.conditionFor(model), { health, reason });
      if (health.coolUntil > now) pool.openLane(model, now);
    }
    pool.refresh(cell, now);
  }
}

function adoptCondition(condition: Condition, told: Pick<CellState, "health" | "reason">): void {
  if (told.health.failuresSeen >= condition.health.failuresSeen) condition.reason = told.reason;
  condition.health = joinHealths(condition.health, told.health);
}

function forget(cell: KeyCell, generation: number): void {
  cell.generation = generation;
  cell.health = healthy;
  cell.reason = undefined;
  cell.refused = false;
  cell.models.clear();
}

function hasMoved(cell: KeyCell): boolean {
  return cell.health !== healthy || cell.generation > 0 || cell.refused || cell.models.size > 0;
}

function stateOf(cell: KeyCell): CellState {
  const { generation, refused, heldUntil, trialUntil, health, reason } = cell;
  const models = [...cell.models].map(([model, condition]) => ({
    model,
    health: condition.health,
    reason: condition.reason,
  }));
  return {
    secretVersion: cell.entry.secretVersion,
    generation,
    refused,
    heldUntil,
    trialUntil,
    health,
    reason,
    models,
  };
}
