import type { Choice, LeftKey, PassedOver, Question, Standing, Ticket } from "../ports/shared-state.ts";
import type { EpochMs } from "../rules/time.ts";
import { type KeyCell, markOf } from "./key-cell.ts";
import type { PoolOfCells } from "./pool-of-cells.ts";

/** What a turn of the wheel has to tell beside its key. */
export interface TurnTold {
  readonly passedOver: readonly PassedOver[];
  readonly movedFrom: string | undefined;
  readonly left: LeftKey | undefined;
}

const nothingTold: TurnTold = { passedOver: [], movedFrom: undefined, left: undefined };

/** The answer that names a key. */
export function chosen(
  poolId: string,
  cell: KeyCell,
  why: "session" | "continuation" | "pin" | "turn",
  question: Question,
  { passedOver, movedFrom, left }: TurnTold = nothingTold,
): Choice {
  const { model } = question;
  const models = model === undefined ? undefined : cell.models.get(model);
  const ticket: Ticket = {
    poolId,
    keyId: cell.entry.id,
    secretVersion: cell.entry.secretVersion,
    generation: cell.generation,
    mark: cell.mark,
    model,
    modelMark: models === undefined ? undefined : markOf(models.health),
  };
  return { kind: "key", keyId: cell.entry.id, why, passedOver, movedFrom, left, ticket };
}

/** The answer for a request that only one key can serve. */
export function choosePinned(
  poolId: string,
  pool: PoolOfCells,
  keyId: string,
  question: Question,
  now: EpochMs,
): Choice {
  const cell = pool.cell(keyId);
  if (cell !== undefined && question.tried?.has(keyId) !== true && cell.canServe(now, question.model)) {
    return chosen(poolId, cell, "pin", question);
  }
  return cell === undefined ? noKey(pool, question, now) : noneOf([cell], [], question, pool, now);
}

/** The answer when the wheel has nobody to give. */
export function noKey(pool: PoolOfCells, question: Question, now: EpochMs): Choice {
  const { model, tried } = question;
  // They could serve this model, but a first request is trying them just now.
  const onTrial = pool.cells.filter(
    (cell) => cell.canServe(now, model) && !cell.canTakeTurn(now, model) && tried?.has(cell.entry.id) !== true,
  );
  const resting = pool.cells.filter((cell) => cell.takesPart && !cell.canServe(now, model));
  return noneOf(resting, onTrial, question, pool, now);
}

/**
 * The outcome when nobody can serve.
 *
 * @param resting those that time alone may bring back
 * @param onTrial those that another request is trying just now
 */
function noneOf(
  resting: readonly KeyCell[],
  onTrial: readonly KeyCell[],
  question: Question,
  pool: PoolOfCells,
  now: EpochMs,
): Choice {
  const { model, tried } = question;
  const standing = standingOf(pool.cells, question, now);
  const able = resting.filter((cell) => cell.takesPart);
  const ends = [...able.map((cell) => cell.restsUntil(now, model)), ...onTrial.map((cell) => cell.trialUntil)];
  if (standing.tried > 0) ends.push(now);
  if (ends.length === 0) return { kind: "none-usable", standing };
  const until = ends.reduce((soonest, end) => Math.min(soonest, end));
  // A key that was tried in vain counts although its rest may be over by now.
  const failed = [
    ...able,
    ...pool.cells.filter((cell) => tried?.has(cell.entry.id) === true && cell.canServe(now, model)),
  ];
  const overload = failed.length > 0 && failed.every((cell) => cell.reason?.code === "overloaded");
  return { kind: "exhausted", standing, until, overload, isBeingTried: onTrial.length > 0 };
}

/** How the keys stand for a request that found none. */
function standingOf(cells: readonly KeyCell[], { model, tried }: Question, now: EpochMs): Standing {
  const standing = { total: cells.length, resting: 0, disabled: 0, unresolved: 0, tried: 0 };
  for (const cell of cells) {
    if (cell.canServe(now, model)) standing.tried += tried?.has(cell.entry.id) === true ? 1 : 0;
    else if (cell.takesPart) standing.resting++;
    else if (cell.whyNot(now, model) === "unresolved") standing.unresolved++;
    else standing.disabled++;
  }
  return standing;
}
