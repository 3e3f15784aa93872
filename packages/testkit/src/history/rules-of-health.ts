import type { ChangeEntry, SnapshotEntry } from "./entries.ts";
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

type KeySeen = SnapshotEntry["keys"][number];

/** A key in two snapshots, where whoever gave the later one had to know what the earlier one told. */
interface KeyTwice {
  readonly earlier: SnapshotEntry;
  readonly later: SnapshotEntry;
  readonly before: KeySeen;
  readonly after: KeySeen;
}

/** Rule 3: a deadline never moves back, nor ends before its time. */
export function movedBack(seen: SeenHistory): string[] {
  return keysTwice(seen)
    .filter(({ earlier, later, before, after }) => {
      if (before.cooldownUntil === undefined) return false;
      const until = before.cooldownUntil - burstMs(toldBy(earlier), toldBy(later));
      const isEarlier = after.cooldownUntil !== undefined && after.cooldownUntil < until;
      return isEarlier || (after.status === "available" && until > later.returnedAt + slackMs);
    })
    .map(({ before }) => `the deadline of the key ${before.id} moved back`);
}

/** Rules 2 and 12: only a success, a reset or a new value ends a count. */
export function forgotten(seen: SeenHistory): string[] {
  return keysTwice(seen)
    .filter(({ before, after }) => after.failures < before.failures)
    .filter(
      ({ earlier, later, before }) =>
        !seen
          .attemptsOf(before.id)
          .some(
            ({ answer, callEndedAt }) =>
              answer.kind === "success" &&
              answer.at <= later.returnedAt &&
              seen.reachedAll(callEndedAt + lateMs, "state") >= earlier.beganAt,
          ),
    )
    .map(({ before }) => `failures of the key ${before.id} were forgotten`);
}

function keysTwice(seen: SeenHistory): KeyTwice[] {
  const { snapshots } = seen.history;
  return snapshots.flatMap((later) =>
    snapshots
      .filter((earlier) => earlier.returnedAt <= later.beganAt)
      .filter((earlier) => seen.knows({ ...toldBy(earlier), at: earlier.returnedAt }, toldBy(later)))
      .flatMap((earlier) =>
        later.keys.flatMap((after) => {
          const before = earlier.keys.find(({ id }) => id === after.id);
          if (before === undefined || seen.mayBeCleared(after.id, earlier.beganAt, later.returnedAt)) return [];
          return [{ earlier, later, before, after }];
        }),
      ),
  );
}

function toldBy(snapshot: SnapshotEntry): Knowledge {
  return { instance: instanceOf(snapshot), at: snapshot.beganAt };
}

/** Rules 3 to 5 and 12: what is left in the end is what the answers to each key's present value explain, everywhere. */
export function wronglyLeft(seen: SeenHistory): string[] {
  const { snapshots, stored = [] } = seen.history;
  const ends = seen.instances.flatMap((instance) => snapshots.findLast((one) => instanceOf(one) === instance) ?? []);
  const left = ends.flatMap((end) => end.keys.flatMap((key) => wronglyLeftKey(seen, key, end)));
  const on = stored
    .filter(({ keyId, enabled }) => enabled && isCertainlyRefused(seen, keyId))
    .map(({ keyId }) => `the key ${keyId} is on in the database though it was refused`);
  return [...left, ...on];
}

function wronglyLeftKey(seen: SeenHistory, key: KeySeen, end: SnapshotEntry): string[] {
  const value = lastChange(seen, key.id, "value", "add")?.value;
  const present = seen.attemptsOf(key.id).filter((attempt) => value === undefined || attempt.value === value);
  return [...wronglyRefused(seen, key, present), ...wronglyCounted(seen, { key, present, end })];
}

function lastChange(seen: SeenHistory, keyId: string, ...kinds: ChangeEntry["kind"][]): ChangeEntry | undefined {
  return seen.changesOf(keyId).findLast((change) => kinds.includes(change.kind));
}

/** When the key was cleared for the last time, if it may have been: nothing of before counts for certain. */
function clearedAt(seen: SeenHistory, keyId: string): number {
  const cleared = lastChange(seen, keyId, "value", "enable", "reset");
  return cleared === undefined ? -Infinity : seen.reachedAll(cleared.returnedAt, "database");
}

function isCertainlyRefused(seen: SeenHistory, keyId: string): boolean {
  return seen
    .attemptsOf(keyId)
    .some((attempt) => isNoted(attempt, "refused") && attempt.chosenAfter > clearedAt(seen, keyId));
}

/** Whether the gateway lived to take note of such an answer. */
function isNoted({ answer, notedBy }: SeenAttempt, kind: "refused" | "limited"): boolean {
  return answer.kind === kind && (notedBy !== Infinity || answer.isLate === true);
}

/** Rule 4: the blame for a 401 is that of the key and value that were used. */
function wronglyRefused(seen: SeenHistory, key: KeySeen, present: readonly SeenAttempt[]): string[] {
  const refusals = present.filter(({ answer }) => answer.kind === "refused");
  const isRefused = key.status === "disabled" && key.reason === "authentication_failed";
  const since = lastChange(seen, key.id, "value")?.beganAt ?? -Infinity;
  const possible = refusals.filter(({ arrivedAt }) => arrivedAt >= since);
  if (isRefused && possible.length === 0) return [`the key ${key.id} is disabled for what another key or value did`];
  const certain = refusals.filter(
    (refusal) => isNoted(refusal, "refused") && refusal.chosenAfter > clearedAt(seen, key.id),
  );
  if (key.status !== "disabled" && certain.length > 0) return [`the key ${key.id} is on though it was refused`];
  return [];
}

/** Rules 2 and 3: the count of failures in a row. */
function wronglyCounted(
  seen: SeenHistory,
  {
    key,
    present,
    end,
  }: { readonly key: KeySeen; readonly present: readonly SeenAttempt[]; readonly end: SnapshotEntry },
): string[] {
  const since = lastChange(seen, key.id, "value", "reset")?.beganAt ?? -Infinity;
  const limits = present.filter(({ answer, arrivedAt }) => answer.kind === "limited" && arrivedAt >= since);
  const successes = present.filter(({ answer }) => answer.kind === "success");
  const steps = longestRow(limits);
  if (key.failures > steps) return [`the key ${key.id} counts ${key.failures} failures, of ${steps} at the most`];

  // One of an old burst may have come when a success had cleared the count of its burst: it leaves that at nought.
  const certain = limits
    .filter((limit) => isNoted(limit, "limited") && limit.chosenAfter > clearedAt(seen, key.id))
    .filter((limit) => !seen.mayBeOfOldBurst(limit));
  const lastAt = Math.max(...certain.map(({ answer }) => answer.at));
  if (key.failures === 0 && certain.length > 0 && !successes.some(({ arrivedAt }) => arrivedAt > lastAt)) {
    return [`the count of the key ${key.id} was cleared by a success that set out before the last failure`];
  }
  if (key.failures > 0 && successes.some((success) => isTheLastWord(seen, success, limits, end))) {
    return [`the count of the key ${key.id} outlived a success that set out after the last failure`];
  }
  return [];
}

/** Whether a success set out when its gateway knew of all failures, and whoever gave the snapshot had to know of it. */
function isTheLastWord(
  seen: SeenHistory,
  success: SeenAttempt,
  limits: readonly SeenAttempt[],
  end: SnapshotEntry,
): boolean {
  const { instance, chosenAfter, callEndedAt } = success;
  const knewAll = limits.every(
    (limit) =>
      chosenAfter > limit.notedBy &&
      seen.knows({ instance: limit.instance, at: limit.notedBy }, { instance, at: chosenAfter }),
  );
  if (!knewAll) return false;
  // Of two histories that meet again the longer count holds.
  const wasAlone = (seen.history.absences ?? []).some(
    ({ of, from, to }) => of !== "database" && from <= callEndedAt + lateMs && to >= chosenAfter,
  );
  return !wasAlone && seen.knows({ instance, at: callEndedAt }, toldBy(end));
}
