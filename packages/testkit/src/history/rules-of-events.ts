import type { AnswerEntry, ChangeEntry, KeyEventEntry } from "./entries.ts";
import {
  burstMs,
  instanceOf,
  type Knowledge,
  lateMs,
  longestRow,
  type SeenAttempt,
  type SeenHistory,
  slackMs,
} from "./seen-history.ts";

/** Rules 2 and 3: from one cooldown to the next a count grows by one at the most, and a deadline does not shrink. */
export function eventsOutOfStep(seen: SeenHistory): string[] {
  const found: string[] = [];
  const lastOf = new Map<string, Map<number, KeyEventEntry>>();
  for (const event of inOrder(seen)) {
    if (event.type !== "key-cooled") continue;
    const last = lastOf.get(event.keyId) ?? new Map<number, KeyEventEntry>();
    lastOf.set(event.keyId, last);
    const before = [...last.values()];
    last.set(instanceOf(event), event);
    const from = Math.min(...before.map(({ at }) => at)) - slackMs;
    const isCleared = seen.mayBeCleared(event.keyId, before.length === 0 ? -Infinity : from, event.at + slackMs);
    if (isCleared) continue;
    const told = Math.max(0, ...before.map(({ failures = 0 }) => failures));
    if ((event.failures ?? 0) > Math.max(told + 1, untoldSteps(seen, event))) {
      found.push(`the key ${event.keyId} took more than one step at once`);
    }
    const known = before.filter((earlier) => seen.knows(knowledgeOf(earlier), knowledgeOf(event)));
    const least = known.map((earlier) => (earlier.until ?? 0) - burstMs(knowledgeOf(earlier), knowledgeOf(event)));
    if ((event.until ?? 0) < Math.max(0, ...least)) {
      found.push(`a cooldown of the key ${event.keyId} moved its deadline back`);
    }
  }
  return found;
}

/** How far a count can have come by then: of a rest that was over before its answer was noted nothing is told. */
function untoldSteps(seen: SeenHistory, { keyId, at }: KeyEventEntry): number {
  const limits = seen.attemptsOf(keyId).filter(({ answer }) => answer.kind === "limited" && answer.at <= at + slackMs);
  return longestRow(limits);
}

const causes: Readonly<Record<KeyEventEntry["type"], AnswerEntry["kind"]>> = {
  "key-cooled": "limited",
  "key-disabled": "refused",
  "key-recovered": "success",
};

/** Rules 3 and 4: what happens to a key is the doing of an answer to that key and value, and of none from before it was cleared. */
export function eventsWithoutCause(seen: SeenHistory): string[] {
  const found: string[] = [];
  const failures: KeyEventEntry[] = [];
  for (const event of inOrder(seen)) {
    const { keyId, type } = event;
    // Only a success that set out after the last failure ends a count.
    const known = failures.filter(
      (failure) => failure.keyId === keyId && seen.knows(knowledgeOf(failure), knowledgeOf(event)),
    );
    const setOutAfter = type === "key-recovered" ? Math.max(...known.map(({ at }) => at)) - slackMs : -Infinity;
    const isCaused = seen
      .attemptsOf(keyId)
      .some(
        (attempt) =>
          attempt.instance === instanceOf(event) &&
          attempt.arrivedAt > setOutAfter &&
          mayHaveCaused(seen, attempt, event),
      );
    if (!isCaused) found.push(`${type} of the key ${keyId} has no cause`);
    if (type === "key-cooled") failures.push(event);
  }
  return found;
}

function mayHaveCaused(seen: SeenHistory, attempt: SeenAttempt, event: KeyEventEntry): boolean {
  const { answer, arrivedAt, notedBy, callEndedAt } = attempt;
  if (answer.kind !== causes[event.type]) return false;
  if (event.at < answer.at - slackMs) return false;
  // Of what is told late, or is a success when it has ended, only the end of the call bounds when it was noted.
  const isBounded = notedBy !== Infinity && answer.kind !== "success";
  if (event.at > (isBounded ? notedBy : callEndedAt + lateMs) + slackMs) return false;
  const isVoid = (change: ChangeEntry): boolean =>
    (change.kind === "value" || change.kind === "reset") &&
    arrivedAt < change.beganAt &&
    seen.isEffective(change, { instance: attempt.instance, at: answer.at });
  return !seen.changesOf(attempt.keyId).some(isVoid);
}

/** Those of one gateway are in order as they are. */
function inOrder({ history, instances }: SeenHistory): readonly KeyEventEntry[] {
  return instances.length < 2 ? history.events : history.events.toSorted((one, other) => one.at - other.at);
}

function knowledgeOf(event: KeyEventEntry): Knowledge {
  return { instance: instanceOf(event), at: event.at };
}
