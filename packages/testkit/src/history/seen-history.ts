import type { AttemptEntry, CallEntry, ChangeEntry, History } from "./entries.ts";

/** An attempt with what can be said of it from outside. */
export interface SeenAttempt extends AttemptEntry {
  readonly callId: string;
  readonly instance: number;
  /** The key was chosen later than this. */
  readonly chosenAfter: number;
  /** The gateway had taken note of the answer by then; Infinity if nobody can tell. */
  readonly notedBy: number;
  /** The attempt before it in the same call. */
  readonly previous: SeenAttempt | undefined;
  /** The call had ended, and its client had got everything. */
  readonly callEndedAt: number;
}

/** Something that a gateway knew, or has to know, at an instant. */
export interface Knowledge {
  readonly instance: number;
  readonly at: number;
}

/** How news gets from one gateway to another. */
export type Way = "state" | "database";

/** Our clock against those of the gateways' processes. */
export const slackMs = 50;
/** How much later than its client the gateway may be done with a call. */
export const lateMs = 1_000;
/** How long news is on its way to the other gateways, at the most. @see docs/shared-state.md, docs/scaling.md */
export const newsMs: Readonly<Record<Way, number>> = { state: 100, database: 1_000 };

/**
 * By how much the deadlines of two gateways may differ: who meets a burst before it has heard of it from another one rests the
 * key from its own answer, and keeps to that.
 */
export function burstMs(one: Knowledge, other: Knowledge): number {
  return one.instance === other.instance ? 0 : newsMs.state;
}

const clearing = new Set<ChangeEntry["kind"]>(["value", "enable", "reset", "delete"]);

/** A history with what follows from it for single attempts and gateways. */
export class SeenHistory {
  readonly history: History;
  readonly attempts: readonly SeenAttempt[];
  /** All gateways of which anything is told. */
  readonly instances: readonly number[];
  readonly #byKey: ReadonlyMap<string, readonly SeenAttempt[]>;
  readonly #changes: ReadonlyMap<string, readonly ChangeEntry[]>;

  constructor(history: History) {
    this.history = history;
    this.attempts = history.calls.flatMap((call) => seenAttempts(call, this.wasKilled(call)));
    this.instances = [...new Set([...history.calls, ...history.snapshots].map(instanceOf))];
    this.#byKey = Map.groupBy(this.attempts, (attempt) => attempt.keyId);
    this.#changes = Map.groupBy(history.changes, (change) => change.keyId);
  }

  attemptsOf(keyId: string): readonly SeenAttempt[] {
    return this.#byKey.get(keyId) ?? [];
  }

  changesOf(keyId: string): readonly ChangeEntry[] {
    return this.#changes.get(keyId) ?? [];
  }

  /** Whether the process that had the call was killed meanwhile. */
  wasKilled(call: CallEntry): boolean {
    return (this.history.absences ?? []).some(
      ({ instance, of, from, to }) =>
        of === "process" && instance === instanceOf(call) && from <= call.endedAt && to >= call.sentAt,
    );
  }

  /**
   * Whether a gateway has to know what another one knew. What one knew itself it knows for ever, killed or not; news of others
   * needs its time, and waits while either is without the way that it takes.
   */
  knows(news: Knowledge, asked: Knowledge, ways: readonly Way[] = ["state"]): boolean {
    if (news.instance === asked.instance) return true;
    return ways.some((way) => asked.at > this.#arrival(news, asked, way));
  }

  /** Whether the change must have taken effect for what a gateway did after an instant. */
  isEffective(change: ChangeEntry, asked: Knowledge): boolean {
    const news = { instance: instanceOf(change), at: change.returnedAt };
    return asked.at > change.returnedAt && this.knows(news, asked, ["database"]);
  }

  /** By when what happened at an instant has reached every gateway, whatever they were without. */
  reachedAll(at: number, way: Way): number {
    if (this.instances.length < 2) return at;
    let reached = at + this.#newsMs(way, at, at);
    for (const absence of (this.history.absences ?? []).toSorted((one, other) => one.from - other.from)) {
      if (absence.from <= reached && absence.to >= at) reached = Math.max(reached, absence.to + newsMs[way]);
    }
    return reached;
  }

  /** Whether a call that may have cleared the key was under way, or on its way to a gateway, at any time between. */
  mayBeCleared(keyId: string, from: number, to: number): boolean {
    return this.changesOf(keyId).some(
      (change) =>
        clearing.has(change.kind) && this.reachedAll(change.returnedAt, "database") >= from && change.beganAt <= to,
    );
  }

  /** Until when at least a failure keeps its key out; -Infinity if that cannot be told. */
  outUntil(failed: SeenAttempt): number {
    const { answer } = failed;
    if (answer.kind === "refused") return Infinity;
    if (answer.kind !== "limited" || answer.isLate === true) return -Infinity;
    const { baseMs, capMs } = this.history.policy;
    const hintMs = Math.min(answer.hintMs ?? 0, capMs);
    return answer.at + Math.max(hintMs, this.mayBeOfOldBurst(failed) ? 0 : baseMs) - slackMs;
  }

  /** Whether another limit of its key may have been noted since its choice: then it adds no step of its own. */
  mayBeOfOldBurst({ keyId, instance, chosenAfter, answer }: SeenAttempt): boolean {
    return this.attemptsOf(keyId).some(
      (other) =>
        other.answer.kind === "limited" &&
        other.answer !== answer &&
        other.answer.at <= answer.at + slackMs &&
        (other.notedBy >= chosenAfter ||
          !this.knows({ instance: other.instance, at: other.notedBy }, { instance, at: chosenAfter })),
    );
  }

  #arrival(news: Knowledge, asked: Knowledge, way: Way): number {
    const newsOnItsWayMs = this.#newsMs(way, news.at, asked.at);
    let due = news.at + newsOnItsWayMs;
    for (const { instance, of, from, to } of this.history.absences ?? []) {
      const isInTheWay = of === way || of === "process";
      const isOfEither = instance === news.instance || instance === asked.instance;
      if (isInTheWay && isOfEither && from <= asked.at && to >= news.at) due = Math.max(due, to + newsOnItsWayMs);
    }
    return due;
  }

  /** A database that takes a second for a change because the machine is busy is as late to tell of it. */
  #newsMs(way: Way, from: number, to: number): number {
    if (way === "state") return newsMs.state;
    const took = this.history.changes
      .filter(({ beganAt, returnedAt }) => beganAt <= to && returnedAt + newsMs.database >= from)
      .map(({ beganAt, returnedAt }) => (returnedAt === Infinity ? 0 : returnedAt - beganAt));
    return newsMs.database + Math.max(0, ...took);
  }
}

export function instanceOf(entry: { readonly instance?: number }): number {
  return entry.instance ?? 0;
}

/** How many failures can have followed each other, each chosen after the one before was noted: the rest are of their bursts. */
export function longestRow(limits: readonly SeenAttempt[]): number {
  let count = 0;
  let lastAt = -Infinity;
  for (const { arrivedAt, answer } of limits.toSorted((one, two) => one.answer.at - two.answer.at)) {
    if (arrivedAt <= lastAt) continue;
    count++;
    lastAt = answer.at;
  }
  return count;
}

function seenAttempts(call: CallEntry, wasKilled: boolean): SeenAttempt[] {
  const seen: SeenAttempt[] = [];
  for (const [at, attempt] of call.attempts.entries()) {
    const previous = seen.at(-1);
    const next = call.attempts[at + 1];
    // Of its last answer a process that was killed may have known nothing.
    const isLost = wasKilled && next === undefined;
    seen.push({
      ...attempt,
      callId: call.id,
      instance: instanceOf(call),
      chosenAfter: previous?.answer.at ?? call.sentAt,
      notedBy: attempt.answer.isLate === true || isLost ? Infinity : (next?.arrivedAt ?? call.endedAt),
      previous,
      callEndedAt: call.endedAt,
    });
  }
  return seen;
}
