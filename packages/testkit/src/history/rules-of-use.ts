import type { CallEntry, ChangeEntry, History } from "./entries.ts";
import { type SeenAttempt, type SeenHistory, slackMs } from "./seen-history.ts";

/** Rule 4: a request tries each available key at most once. */
export function triedTwice({ calls }: History): string[] {
  return calls.flatMap(({ id, attempts }) => {
    const keys = attempts.map((attempt) => attempt.keyId);
    const repeated = keys.filter((keyId, at) => keys.indexOf(keyId) !== at);
    return repeated.map((keyId) => `call ${id} tried the key ${keyId} twice`);
  });
}

/** Rules 4 and 8: a refusal of a key is never the client's, unless told within a stream that had begun. */
export function wrongAnswers({ calls }: History): string[] {
  return calls
    .filter(({ status, ownError }) => ownError === undefined && [401, 403, 429, 529].includes(status ?? 0))
    .map(({ id, status }) => `call ${id} got the provider's own ${status}`);
}

const emptied = new Set(["pool_exhausted", "no_usable_key"]);

/** Rules 4, 6 and 8: no error of a gateway's own while a key can serve, but for what the provider did to the connection. */
export function unserved(seen: SeenHistory): string[] {
  return seen.history.calls.flatMap((call) => {
    const { id, status, ownError, attempts } = call;
    if (status === undefined) return seen.wasKilled(call) ? [] : [`call ${id} got no answer`];
    if (ownError === undefined) return [];
    if (emptied.has(ownError)) {
      const usable = usableThroughout(seen, call);
      return usable === undefined ? [] : [`call ${id} got ${ownError} while the key ${usable} could serve`];
    }
    return attempts.at(-1)?.answer.kind === "other" ? [] : [`call ${id} got the gateway's ${status} ${ownError}`];
  });
}

/** A key that must have been there for the call, and was not tried by it. */
function usableThroughout(seen: SeenHistory, { sentAt, endedAt, attempts }: CallEntry): string | undefined {
  const { snapshots } = seen.history;
  const always = (snapshots[0]?.keys ?? []).filter(({ id }) =>
    snapshots.every(({ keys }) => keys.some((key) => key.id === id && isInService(key.status))),
  );
  const isSure = (keyId: string): boolean =>
    seen.changesOf(keyId).every(({ kind }) => ["label", "weight", "order"].includes(kind)) &&
    seen.attemptsOf(keyId).every((attempt) => mayKeepOutUntil(seen, attempt) < sentAt || attempt.arrivedAt > endedAt);
  return always.find(({ id }) => isSure(id) && attempts.every(({ keyId }) => keyId !== id))?.id;
}

function isInService(status: string): boolean {
  return status === "available" || status === "cooling_down";
}

/** Until when at the most an answer keeps its key out; -Infinity if it does not. */
function mayKeepOutUntil({ history }: SeenHistory, { answer }: SeenAttempt): number {
  if (answer.kind === "refused") return Infinity;
  return answer.kind === "limited" ? answer.at + history.policy.capMs + slackMs : -Infinity;
}

/** Rule 4: no request goes to a key whose refusal or limit was taken note of, while it is out. */
export function usedWhenOut(seen: SeenHistory): string[] {
  return seen.attempts.flatMap((failed) => {
    const outUntil = seen.outUntil(failed);
    return seen
      .attemptsOf(failed.keyId)
      .filter((later) => later.chosenAfter > failed.notedBy && later.arrivedAt < outUntil)
      .filter((later) => isToldOf(seen, failed, later))
      .filter((later) => !seen.mayBeCleared(failed.keyId, failed.chosenAfter, later.arrivedAt))
      .map(
        (later) =>
          `call ${later.callId} went to the key ${failed.keyId} that call ${failed.callId} had found ${failed.answer.kind}`,
      );
  });
}

/** Whether the gateway of an attempt had to know how another one had ended. A refusal is in the database as well. */
function isToldOf(seen: SeenHistory, failed: SeenAttempt, later: SeenAttempt): boolean {
  const news = { instance: failed.instance, at: failed.notedBy };
  const asked = { instance: later.instance, at: later.chosenAfter };
  return seen.knows(news, asked, failed.answer.kind === "refused" ? ["state", "database"] : ["state"]);
}

/** §3: a change takes effect with the answer to the call that made it. */
export function usedAfterChange(seen: SeenHistory): string[] {
  const found: string[] = [];
  for (const attempt of seen.attempts) {
    for (const change of seen.changesOf(attempt.keyId)) {
      if (!seen.isEffective(change, { instance: attempt.instance, at: attempt.chosenAfter })) continue;
      if (change.kind === "delete") found.push(`call ${attempt.callId} used the deleted key ${attempt.keyId}`);
      if (change.kind === "value" && isOlderValue(seen, attempt, change)) {
        found.push(`call ${attempt.callId} used a replaced value of the key ${attempt.keyId}`);
      }
      if (change.kind === "disable" && !isOnAgain(seen, change, attempt.arrivedAt)) {
        found.push(`call ${attempt.callId} used the disabled key ${attempt.keyId}`);
      }
    }
  }
  return found;
}

function isOlderValue(seen: SeenHistory, { keyId, value }: SeenAttempt, replaced: ChangeEntry): boolean {
  const given = seen.changesOf(keyId).find((change) => change.value === value);
  return given === undefined || given.beganAt < replaced.beganAt;
}

function isOnAgain(seen: SeenHistory, disabled: ChangeEntry, by: number): boolean {
  // To disable a key that a refusal has taken out already changes nothing: a new value brings it back as before.
  const kinds = mayBeRefused(seen, disabled) ? ["enable", "value"] : ["enable"];
  return seen
    .changesOf(disabled.keyId)
    .some(({ kind, beganAt }) => kinds.includes(kind) && beganAt >= disabled.beganAt && beganAt <= by);
}

function mayBeRefused(seen: SeenHistory, { keyId, beganAt, returnedAt }: ChangeEntry): boolean {
  const isCleared = (from: number): boolean =>
    seen
      .changesOf(keyId)
      .some(
        (change) => ["enable", "value"].includes(change.kind) && change.beganAt > from && change.returnedAt < beganAt,
      );
  return seen
    .attemptsOf(keyId)
    .some(({ answer }) => answer.kind === "refused" && answer.at <= returnedAt && !isCleared(answer.at));
}

/** Rule 4: refused keys are disabled in the database before the retry is sent, where there is one to be reached. */
export function notInDatabase(seen: SeenHistory): string[] {
  return seen.attempts.flatMap(({ callId, instance, previous, previousStored, arrivedAt }) => {
    if (previous?.answer.kind !== "refused" || previousStored !== "on") return [];
    const isAway = (seen.history.absences ?? []).some(
      (absence) =>
        absence.of === "database" &&
        absence.instance === instance &&
        absence.from <= arrivedAt &&
        absence.to >= previous.answer.at,
    );
    if (
      isAway ||
      gaveUp(seen, previous, arrivedAt) ||
      seen.mayBeCleared(previous.keyId, previous.chosenAfter, arrivedAt)
    )
      return [];
    return [`call ${callId} was retried before the key ${previous.keyId} was disabled in the database`];
  });
}

/** How long a gateway waits for a refusal to be durable, from the first request that met it. @see docs/scaling.md */
const durableMs = 2_000;

function gaveUp(seen: SeenHistory, { keyId, instance }: SeenAttempt, by: number): boolean {
  return seen
    .attemptsOf(keyId)
    .some(
      (other) =>
        other.instance === instance && other.answer.kind === "refused" && by - other.answer.at >= durableMs - slackMs,
    );
}
