import type { CallEntry, RoundEntry } from "./entries.ts";
import { newsMs, type SeenHistory } from "./seen-history.ts";

/** How long sessions that were bound apart take to end up on one key, once everybody is back. @see docs/shared-state.md */
const sessionsMeetMs = 1_500;

/** A choice that bound a session to a key, or found it bound: at some instant between two. */
interface Binding {
  readonly callId: string;
  readonly keyId: string;
  readonly after: number;
  readonly before: number;
}

/**
 * Spec "Session Affinity": a session stays on its key, whichever gateway serves it, while all share their state and nothing
 * happens to the key.
 */
export function sessionsApart(seen: SeenHistory): string[] {
  const ofSession = Map.groupBy(seen.history.calls, ({ session }) => session);
  return [...ofSession].flatMap(([session, calls]) => {
    if (session === undefined) return [];
    const bindings = calls.flatMap(bindingsOf).toSorted((one, other) => one.before - other.before);
    return bindings.flatMap((later) => {
      const earlier = boundBefore(bindings, later);
      if (earlier === undefined || mayHaveMoved(seen, earlier, later)) return [];
      // Of two at the same moment either may have been the first.
      if (earlier.before >= later.after && mayHaveMoved(seen, later, earlier)) return [];
      return [`call ${later.callId} took the session ${session} from the key ${earlier.keyId} to ${later.keyId}`];
    });
  });
}

/** A detour for a fault of the provider's moves no session. */
function bindingsOf({ id, sentAt, attempts }: CallEntry): Binding[] {
  const end = attempts.findIndex(({ answer }) => answer.kind !== "limited" && answer.kind !== "refused");
  const binding = end === -1 ? attempts : attempts.slice(0, end + 1);
  return binding.map(({ keyId, arrivedAt }, at) => {
    const after = attempts[at - 1]?.answer.at ?? sentAt;
    return { callId: id, keyId, after, before: arrivedAt };
  });
}

/**
 * The choice that must have been in force for a later one, and was of another key: the last one before it that no other one
 * overlaps; or where there is none the first of all, at the same moment.
 */
function boundBefore(bindings: readonly Binding[], later: Binding): Binding | undefined {
  const before = bindings.filter((one) => one.before < later.after);
  const last = before.at(-1);
  if (last === undefined) {
    const [first] = bindings;
    return first?.keyId === later.keyId ? undefined : first;
  }
  const mayHold = bindings.filter((one) => one !== later && one.before >= last.after && one.after <= later.before);
  return mayHold.some(({ keyId }) => keyId === later.keyId) ? undefined : last;
}

/** Whether anything may have ended the binding between two choices, or have hidden it from one of them. */
function mayHaveMoved(seen: SeenHistory, { keyId, after, before }: Binding, later: Binding): boolean {
  const [from, to] = [Math.min(after, later.after), Math.max(before, later.before)];
  const isApart = (seen.history.absences ?? []).some(
    (absence) => absence.of !== "database" && absence.from <= to && absence.to + sessionsMeetMs >= from,
  );
  const hasFailed = seen
    .attemptsOf(keyId)
    .some(
      ({ answer, notedBy }) =>
        (answer.kind === "limited" || answer.kind === "refused") && answer.at <= to && notedBy + newsMs.state >= from,
    );
  const isChanged = seen
    .changesOf(keyId)
    .some(
      ({ kind, beganAt, returnedAt }) =>
        !["label", "weight", "order"].includes(kind) &&
        beganAt <= to &&
        seen.reachedAll(returnedAt, "database") >= from,
    );
  return isApart || hasFailed || isChanged;
}

/** Rule 1: turns that all gateways take from one wheel follow the weights exactly. */
export function sharesOff(seen: SeenHistory): string[] {
  return (seen.history.rounds ?? []).flatMap((round) => {
    const { from, to } = round;
    const calls = seen.history.calls.filter(({ sentAt, endedAt }) => endedAt >= from && sentAt <= to);
    const why = whyNoRound(calls, round);
    return why === undefined ? sharesOffIn(calls, round) : [`a round was none: ${why}`];
  });
}

function whyNoRound(calls: readonly CallEntry[], { from, to }: RoundEntry): string | undefined {
  for (const { id, sentAt, endedAt, session, attempts } of calls) {
    if (sentAt < from || endedAt > to) return `call ${id} reached over its edge`;
    if (session !== undefined) return `call ${id} had a session`;
    const hasFailed = attempts.some(({ answer }) => answer.kind === "limited" || answer.kind === "refused");
    if (hasFailed) return `call ${id} found a key that could not serve`;
  }
  return undefined;
}

function sharesOffIn(calls: readonly CallEntry[], { wheel }: RoundEntry): string[] {
  const turns = Map.groupBy(calls, ({ attempts }) => attempts[0]?.keyId ?? "none");
  const weights = new Map(wheel.map(({ keyId, weight }) => [keyId, weight]));
  const total = wheel.reduce((sum, { weight }) => sum + weight, 0);
  const whole = Math.floor(calls.length / total);
  const rest = calls.length - whole * total;
  return [...new Set([...weights.keys(), ...turns.keys()])].flatMap((keyId) => {
    const weight = weights.get(keyId) ?? 0;
    const count = turns.get(keyId)?.length ?? 0;
    // A round may begin in the midst of a key's turns.
    const [least, most] = [whole * weight, whole * weight + Math.min(weight, rest)];
    if (count >= least && count <= most) return [];
    return [
      `the key ${keyId} took ${count} of ${calls.length} turns, not ${least}${most > least ? ` to ${most}` : ""}`,
    ];
  });
}
