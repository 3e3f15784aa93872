/**
 * What happened between clients, the gateway, its provider and its operator, as seen from outside. All instants are epoch
 * ms of one observer, with fractions.
 */
export interface History {
  /** The provider's settings; the same throughout. */
  readonly policy: { readonly baseMs: number; readonly capMs: number };
  readonly calls: readonly CallEntry[];
  readonly changes: readonly ChangeEntry[];
  /** In the order in which they were asked for, one after the other. */
  readonly snapshots: readonly SnapshotEntry[];
  /** What `/api/events` told of keys, in its order. */
  readonly events: readonly KeyEventEntry[];
}

/** One request of a client. */
export interface CallEntry {
  readonly id: string;
  readonly sentAt: number;
  readonly endedAt: number;
  /** What the client got; undefined if its connection broke before a head came. */
  readonly status: number | undefined;
  /** `x-keywheel-error`, if the answer was the gateway's own. */
  readonly ownError: string | undefined;
  /** In the order in which they reached the provider. */
  readonly attempts: readonly AttemptEntry[];
}

/** One request of the gateway to the provider. */
export interface AttemptEntry {
  readonly keyId: string;
  /** The key's value, by which the provider knows it. */
  readonly value: string;
  readonly arrivedAt: number;
  readonly answer: AnswerEntry;
  /** Of a retry: whether the key of the attempt before it was on in the database as this one arrived. */
  readonly previousStored?: "on" | "off" | "gone";
}

export interface AnswerEntry {
  /** `limited` 429 or 529, `refused` 401 or 403, `other` anything that says nothing about the key. */
  readonly kind: "success" | "limited" | "refused" | "other";
  /** When its first byte was sent. */
  readonly at: number;
  /** The wait that it named. */
  readonly hintMs?: number;
  /** Told within a stream whose content had gone out: nobody can be seen to have taken note of it. */
  readonly isLate?: boolean;
}

/** A call of the operator's that changed a key. */
export interface ChangeEntry {
  readonly keyId: string;
  readonly kind: "label" | "weight" | "order" | "value" | "disable" | "enable" | "reset" | "delete" | "add";
  readonly beganAt: number;
  readonly returnedAt: number;
  /** The value that it gave the key, of `value` and `add`. */
  readonly value?: string;
}

export interface SnapshotEntry {
  readonly beganAt: number;
  readonly returnedAt: number;
  readonly keys: readonly {
    readonly id: string;
    readonly status: string;
    /** Code of the status' reason. */
    readonly reason: string | undefined;
    readonly failures: number;
    readonly cooldownUntil: number | undefined;
  }[];
}

export interface KeyEventEntry {
  readonly type: "key-cooled" | "key-disabled" | "key-recovered";
  readonly keyId: string;
  readonly at: number;
  readonly failures?: number;
  readonly until?: number;
}

/**
 * What in a history breaks contract §4, as sentences; empty if nothing does.
 *
 * An outside observer does not see when the gateway chose a key or took note of an answer, only bounds of it: a first
 * attempt was chosen after its call was sent, a retry after the answer before it; an answer was taken note of by the time
 * the next attempt arrived or the client got its own. Only what no order within these bounds can explain is told.
 *
 * The last snapshot must have been asked for when everything had come to rest.
 *
 * @see contract §4 rules 2 to 5
 */
export function violationsOf(history: History): string[] {
  const index = new HistoryIndex(history);
  return [
    ...triedTwice(history),
    ...wrongAnswers(history),
    ...usedWhenOut(index),
    ...usedAfterChange(index),
    ...notInDatabase(index),
    ...movedBack(index),
    ...eventsOutOfStep(index),
    ...eventsWithoutCause(index),
    ...wronglyLeft(index),
  ];
}

/** An attempt with what can be said of it from outside. */
interface SeenAttempt extends AttemptEntry {
  readonly callId: string;
  /** The key was chosen later than this. */
  readonly chosenAfter: number;
  /** The gateway had taken note of the answer by then; Infinity if nobody can tell. */
  readonly notedBy: number;
  /** The attempt before it in the same call. */
  readonly previous: SeenAttempt | undefined;
  /** The call had ended, and its client had got everything. */
  readonly callEndedAt: number;
}

/** Our clock against that of the gateway's process. */
const slackMs = 50;
/** How much later than its client the gateway may be done with a call. */
const lateMs = 1_000;
const clearing = new Set<ChangeEntry["kind"]>(["value", "enable", "reset", "delete"]);

class HistoryIndex {
  readonly history: History;
  readonly attempts: readonly SeenAttempt[];
  readonly #byKey: ReadonlyMap<string, readonly SeenAttempt[]>;
  readonly #changes: ReadonlyMap<string, readonly ChangeEntry[]>;

  constructor(history: History) {
    this.history = history;
    this.attempts = history.calls.flatMap(seenAttempts);
    this.#byKey = Map.groupBy(this.attempts, (attempt) => attempt.keyId);
    this.#changes = Map.groupBy(history.changes, (change) => change.keyId);
  }

  attemptsOf(keyId: string): readonly SeenAttempt[] {
    return this.#byKey.get(keyId) ?? [];
  }

  changesOf(keyId: string): readonly ChangeEntry[] {
    return this.#changes.get(keyId) ?? [];
  }

  /** Whether a call that may have cleared the key was under way at any time between. */
  mayBeCleared(keyId: string, from: number, to: number): boolean {
    return this.changesOf(keyId).some(
      (change) => clearing.has(change.kind) && change.returnedAt >= from && change.beganAt <= to,
    );
  }
}

function seenAttempts(call: CallEntry): SeenAttempt[] {
  const seen: SeenAttempt[] = [];
  for (const [at, attempt] of call.attempts.entries()) {
    const previous = seen.at(-1);
    const followedAt = call.attempts[at + 1]?.arrivedAt ?? call.endedAt;
    seen.push({
      ...attempt,
      callId: call.id,
      chosenAfter: previous?.answer.at ?? call.sentAt,
      notedBy: attempt.answer.isLate === true ? Infinity : followedAt,
      previous,
      callEndedAt: call.endedAt,
    });
  }
  return seen;
}

/** Rule 4: a request tries each available key at most once. */
function triedTwice({ calls }: History): string[] {
  return calls.flatMap(({ id, attempts }) => {
    const keys = attempts.map((attempt) => attempt.keyId);
    const repeated = keys.filter((keyId, at) => keys.indexOf(keyId) !== at);
    return repeated.map((keyId) => `call ${id} tried the key ${keyId} twice`);
  });
}

/** Rules 4 and 8: a refusal of a key is never the client's, unless told within a stream that had begun. */
function wrongAnswers({ calls }: History): string[] {
  return calls
    .filter(({ status, ownError }) => ownError === undefined && [401, 403, 429, 529].includes(status ?? 0))
    .map(({ id, status }) => `call ${id} got the provider's own ${status}`);
}

/** Rule 4: no request goes to a key whose refusal or limit was taken note of, while it is out. */
function usedWhenOut(index: HistoryIndex): string[] {
  return index.attempts.flatMap((failed) => {
    const outUntil = outUntilOf(index, failed);
    return index
      .attemptsOf(failed.keyId)
      .filter((later) => later.chosenAfter > failed.notedBy && later.arrivedAt < outUntil)
      .filter((later) => !index.mayBeCleared(failed.keyId, failed.chosenAfter, later.arrivedAt))
      .map(
        (later) =>
          `call ${later.callId} went to the key ${failed.keyId} that call ${failed.callId} had found ${failed.answer.kind}`,
      );
  });
}

/** Until when at least a failure keeps its key out; -Infinity if that cannot be told. */
function outUntilOf(index: HistoryIndex, failed: SeenAttempt): number {
  const { answer } = failed;
  if (answer.kind === "refused") return Infinity;
  if (answer.kind !== "limited" || answer.isLate === true) return -Infinity;
  const { baseMs, capMs } = index.history.policy;
  const hintMs = Math.min(answer.hintMs ?? 0, capMs);
  return answer.at + Math.max(hintMs, mayBeOfOldBurst(index, failed) ? 0 : baseMs) - slackMs;
}

/** Whether another limit of its key may have been noted since its choice: then it adds no step of its own. */
function mayBeOfOldBurst(index: HistoryIndex, { keyId, chosenAfter, answer }: SeenAttempt): boolean {
  return index
    .attemptsOf(keyId)
    .some(
      (other) =>
        other.answer.kind === "limited" &&
        other.answer !== answer &&
        other.answer.at <= answer.at + slackMs &&
        other.notedBy >= chosenAfter,
    );
}

/** §3: a change takes effect with the answer to the call that made it. */
function usedAfterChange(index: HistoryIndex): string[] {
  const found: string[] = [];
  for (const attempt of index.attempts) {
    for (const change of index.changesOf(attempt.keyId)) {
      if (attempt.chosenAfter <= change.returnedAt) continue;
      if (change.kind === "delete") found.push(`call ${attempt.callId} used the deleted key ${attempt.keyId}`);
      if (change.kind === "value" && isOlderValue(index, attempt, change)) {
        found.push(`call ${attempt.callId} used a replaced value of the key ${attempt.keyId}`);
      }
      if (change.kind === "disable" && !isOnAgain(index, change, attempt.arrivedAt)) {
        found.push(`call ${attempt.callId} used the disabled key ${attempt.keyId}`);
      }
    }
  }
  return found;
}

function isOlderValue(index: HistoryIndex, { keyId, value }: SeenAttempt, replaced: ChangeEntry): boolean {
  const given = index.changesOf(keyId).find((change) => change.value === value);
  return given === undefined || given.beganAt < replaced.beganAt;
}

function isOnAgain(index: HistoryIndex, disabled: ChangeEntry, by: number): boolean {
  // To disable a key that a refusal has taken out already changes nothing: a new value brings it back as before.
  const kinds = mayBeRefused(index, disabled) ? ["enable", "value"] : ["enable"];
  return index
    .changesOf(disabled.keyId)
    .some(({ kind, beganAt }) => kinds.includes(kind) && beganAt >= disabled.beganAt && beganAt <= by);
}

function mayBeRefused(index: HistoryIndex, { keyId, beganAt, returnedAt }: ChangeEntry): boolean {
  const isCleared = (from: number): boolean =>
    index
      .changesOf(keyId)
      .some(
        (change) => ["enable", "value"].includes(change.kind) && change.beganAt > from && change.returnedAt < beganAt,
      );
  return index
    .attemptsOf(keyId)
    .some(({ answer }) => answer.kind === "refused" && answer.at <= returnedAt && !isCleared(answer.at));
}

/** Rule 4: refused keys are disabled in the database before the retry is sent. */
function notInDatabase(index: HistoryIndex): string[] {
  return index.attempts
    .filter(({ previous, previousStored }) => previous?.answer.kind === "refused" && previousStored === "on")
    .filter(
      ({ previous, arrivedAt }) =>
        previous !== undefined && !index.mayBeCleared(previous.keyId, previous.chosenAfter, arrivedAt),
    )
    .map(
      ({ callId, previous }) =>
        `call ${callId} was retried before the key ${previous?.keyId} was disabled in the database`,
    );
}

/** Rule 3: a deadline never moves back, nor ends before its time. */
function movedBack(index: HistoryIndex): string[] {
  const found: string[] = [];
  for (const [at, later] of index.history.snapshots.entries()) {
    const earlier = index.history.snapshots[at - 1];
    if (earlier === undefined) continue;
    for (const key of later.keys) {
      const before = earlier.keys.find((one) => one.id === key.id)?.cooldownUntil;
      if (before === undefined || index.mayBeCleared(key.id, earlier.beganAt, later.returnedAt)) continue;
      const isEarlier = key.cooldownUntil !== undefined && key.cooldownUntil < before;
      const isEarly = key.status === "available" && before > later.returnedAt + slackMs;
      if (isEarlier || isEarly) found.push(`the deadline of the key ${key.id} moved back`);
    }
  }
  return found;
}

/** Rules 2 and 3: from one cooldown to the next a count grows by one at the most, and a deadline does not shrink. */
function eventsOutOfStep(index: HistoryIndex): string[] {
  const found: string[] = [];
  const last = new Map<string, KeyEventEntry>();
  for (const event of index.history.events) {
    if (event.type !== "key-cooled") continue;
    const before = last.get(event.keyId);
    last.set(event.keyId, event);
    const from = before === undefined ? -Infinity : before.at - slackMs;
    if (index.mayBeCleared(event.keyId, from, event.at + slackMs)) continue;
    if ((event.failures ?? 0) > (before?.failures ?? 0) + 1) {
      found.push(`the key ${event.keyId} took more than one step at once`);
    }
    if ((event.until ?? 0) < (before?.until ?? 0))
      found.push(`a cooldown of the key ${event.keyId} moved its deadline back`);
  }
  return found;
}

const causes: Readonly<Record<KeyEventEntry["type"], AnswerEntry["kind"]>> = {
  "key-cooled": "limited",
  "key-disabled": "refused",
  "key-recovered": "success",
};

/** Rules 3 and 4: what happens to a key is the doing of an answer to that key and value, and of none from before it was cleared. */
function eventsWithoutCause(index: HistoryIndex): string[] {
  const found: string[] = [];
  const lastFailureAt = new Map<string, number>();
  for (const event of index.history.events) {
    const { keyId, type } = event;
    // Only a success that set out after the last failure ends a count.
    const setOutAfter = type === "key-recovered" ? (lastFailureAt.get(keyId) ?? -Infinity) - slackMs : -Infinity;
    const isCaused = index
      .attemptsOf(keyId)
      .some((attempt) => attempt.arrivedAt > setOutAfter && mayHaveCaused(index, attempt, event));
    if (!isCaused) found.push(`${type} of the key ${keyId} has no cause`);
    if (type === "key-cooled") lastFailureAt.set(keyId, event.at);
  }
  return found;
}

function mayHaveCaused(index: HistoryIndex, attempt: SeenAttempt, event: KeyEventEntry): boolean {
  const { answer, arrivedAt, notedBy, callEndedAt } = attempt;
  if (answer.kind !== causes[event.type]) return false;
  if (event.at < answer.at - slackMs) return false;
  // Of what is told late, or is a success when it has ended, only the end of the call bounds when it was noted.
  const isBounded = notedBy !== Infinity && answer.kind !== "success";
  if (event.at > (isBounded ? notedBy : callEndedAt + lateMs) + slackMs) return false;
  const isVoid = (change: ChangeEntry): boolean =>
    (change.kind === "value" || change.kind === "reset") && arrivedAt < change.beganAt && change.returnedAt < answer.at;
  return !index.changesOf(attempt.keyId).some(isVoid);
}

/** Rules 3 to 5: what is left in the end is what the answers to each key's present value explain. */
function wronglyLeft(index: HistoryIndex): string[] {
  const end = index.history.snapshots.at(-1);
  return (end?.keys ?? []).flatMap((key) => {
    const changes = index.changesOf(key.id);
    const lastOf = (...kinds: ChangeEntry["kind"][]): ChangeEntry | undefined =>
      changes.findLast((change) => kinds.includes(change.kind));
    const value = lastOf("value", "add")?.value;
    const present = index.attemptsOf(key.id).filter((attempt) => value === undefined || attempt.value === value);
    return [
      ...wronglyRefused(key, present, { value: lastOf("value"), cleared: lastOf("value", "enable", "reset") }),
      ...wronglyCounted(
        index,
        { key, present },
        { value: lastOf("value", "reset"), cleared: lastOf("value", "enable", "reset") },
      ),
    ];
  });
}

type KeyAtRest = SnapshotEntry["keys"][number];

interface LastClearings {
  /** The last call that cleared the key for certain. */
  readonly value: ChangeEntry | undefined;
  /** The last call that may have cleared it. */
  readonly cleared: ChangeEntry | undefined;
}

/** Rule 4: the blame for a 401 is that of the key and value that were used. */
function wronglyRefused(key: KeyAtRest, present: readonly SeenAttempt[], { value, cleared }: LastClearings): string[] {
  const refusals = present.filter(({ answer }) => answer.kind === "refused");
  const isRefused = key.status === "disabled" && key.reason === "authentication_failed";
  const possible = refusals.filter(({ arrivedAt }) => arrivedAt >= (value?.beganAt ?? -Infinity));
  const certain = refusals.filter(({ chosenAfter }) => chosenAfter > (cleared?.returnedAt ?? -Infinity));
  if (isRefused && possible.length === 0) return [`the key ${key.id} is disabled for what another key or value did`];
  if (key.status !== "disabled" && certain.length > 0) return [`the key ${key.id} is on though it was refused`];
  return [];
}

/** Rules 2 and 3: the count of failures in a row. */
function wronglyCounted(
  index: HistoryIndex,
  { key, present }: { readonly key: KeyAtRest; readonly present: readonly SeenAttempt[] },
  { value, cleared }: LastClearings,
): string[] {
  const since = value?.beganAt ?? -Infinity;
  const limits = present.filter(({ answer, arrivedAt }) => answer.kind === "limited" && arrivedAt >= since);
  const successes = present.filter(({ answer }) => answer.kind === "success");
  const steps = longestRow(limits);
  if (key.failures > steps) return [`the key ${key.id} counts ${key.failures} failures, of ${steps} at the most`];

  // One of an old burst may have come when a success had cleared the count of its burst: it leaves that at nought.
  const certain = limits
    .filter(({ chosenAfter }) => chosenAfter > (cleared?.returnedAt ?? -Infinity))
    .filter((limit) => !mayBeOfOldBurst(index, limit));
  const lastAt = Math.max(...certain.map(({ answer }) => answer.at));
  if (key.failures === 0 && certain.length > 0 && !successes.some(({ arrivedAt }) => arrivedAt > lastAt)) {
    return [`the count of the key ${key.id} was cleared by a success that set out before the last failure`];
  }
  const notedBy = Math.max(...limits.map((limit) => limit.notedBy));
  if (key.failures > 0 && successes.some(({ chosenAfter }) => chosenAfter > notedBy)) {
    return [`the count of the key ${key.id} outlived a success that set out after the last failure`];
  }
  return [];
}

/** How many failures can have followed each other, each chosen after the one before was noted: the rest are of their bursts. */
function longestRow(limits: readonly SeenAttempt[]): number {
  let count = 0;
  let lastAt = -Infinity;
  for (const { arrivedAt, answer } of limits.toSorted((one, two) => one.answer.at - two.answer.at)) {
    if (arrivedAt <= lastAt) continue;
    count++;
    lastAt = answer.at;
  }
  return count;
}
