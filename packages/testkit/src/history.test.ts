import { describe, expect, it } from "vitest";
import {
  type AnswerEntry,
  type AttemptEntry,
  type CallEntry,
  type ChangeEntry,
  type History,
  type KeyEventEntry,
  type SnapshotEntry,
  violationsOf,
} from "./history.ts";

const policy = { baseMs: 1_000, capMs: 60_000 };

function aHistory(parts: Partial<History> = {}): History {
  return { policy, calls: [], changes: [], snapshots: [], events: [], ...parts };
}

/** An attempt that arrives at `from` and is answered at `to`. */
function anAttempt(
  keyId: string,
  [from, to]: readonly [number, number],
  kind: AnswerEntry["kind"] = "success",
  parts: Partial<Omit<AttemptEntry, "answer">> & { readonly answer?: Partial<AnswerEntry> } = {},
): AttemptEntry {
  const { answer, ...rest } = parts;
  return { keyId, value: `${keyId}1`, arrivedAt: from, ...rest, answer: { kind, at: to, ...answer } };
}

/** A call that is sent 1 ms before its first attempt arrives and ends 1 ms after its last answer. */
function aCall(id: string, attempts: readonly AttemptEntry[], parts: Partial<CallEntry> = {}): CallEntry {
  const sentAt = (attempts[0]?.arrivedAt ?? 0) - 1;
  const endedAt = (attempts.at(-1)?.answer.at ?? 0) + 1;
  return { id, sentAt, endedAt, status: 200, ownError: undefined, attempts, ...parts };
}

function aChange(kind: ChangeEntry["kind"], keyId: string, at: number, value?: string): ChangeEntry {
  return { kind, keyId, beganAt: at, returnedAt: at + 5, ...(value === undefined ? {} : { value }) };
}

type KeySeen = Partial<SnapshotEntry["keys"][number]> & { readonly id: string };

function aSnapshot(at: number, ...keys: readonly KeySeen[]): SnapshotEntry {
  const plain = { status: "available", reason: undefined, failures: 0, cooldownUntil: undefined };
  return { beganAt: at, returnedAt: at + 2, keys: keys.map((key) => ({ ...plain, ...key })) };
}

function cooled(keyId: string, at: number, failures: number, until: number): KeyEventEntry {
  return { type: "key-cooled", keyId, at, failures, until };
}

const limitedThenServed = aCall("c1", [anAttempt("A", [10, 20], "limited"), anAttempt("B", [30, 40])]);
const refusedThenServed = aCall("c1", [anAttempt("A", [10, 20], "refused"), anAttempt("B", [30, 40])]);

describe("a history without fault", () => {
  it.each<[string, Partial<History>]>([
    ["nothing", {}],
    ["a failover", { calls: [limitedThenServed], snapshots: [aSnapshot(90, { id: "A", failures: 1 })] }],
    [
      "an attempt that was on its way to the key before its limit was noted",
      { calls: [limitedThenServed, aCall("c2", [anAttempt("A", [25, 28])])] },
    ],
    [
      "the key's next turn after its rest",
      { calls: [limitedThenServed, aCall("c2", [anAttempt("A", [1_100, 1_110])])] },
    ],
    [
      "a refused key that was switched on again",
      {
        calls: [refusedThenServed, aCall("c2", [anAttempt("A", [100, 110])])],
        changes: [aChange("enable", "A", 60)],
        snapshots: [aSnapshot(200, { id: "A" })],
      },
    ],
    [
      "an attempt with an old value that was chosen before the new one",
      { calls: [aCall("c1", [anAttempt("A", [10, 20])])], changes: [aChange("value", "A", 5, "A2")] },
    ],
    [
      "three limits of one burst, one failure",
      {
        calls: ["c1", "c2", "c3"].map((id, at) =>
          aCall(id, [anAttempt("A", [10 + at, 20 + at], "limited")], { status: 429, ownError: "pool_exhausted" }),
        ),
        snapshots: [aSnapshot(90, { id: "A", status: "cooling_down", failures: 1, cooldownUntil: 1_020 })],
        events: [cooled("A", 21, 1, 1_020), cooled("A", 22, 1, 1_020)],
      },
    ],
    [
      "a key that was refused, then disabled to no effect, then given a new value",
      {
        calls: [refusedThenServed, aCall("c2", [anAttempt("A", [200, 210], "success", { value: "A2" })])],
        changes: [aChange("disable", "A", 50), aChange("value", "A", 80, "A2")],
      },
    ],
    [
      "a limit of an old burst that extends the rest",
      {
        calls: [
          limitedThenServed,
          aCall("c2", [anAttempt("A", [15, 50], "limited", { answer: { hintMs: 9_000 } }), anAttempt("B", [60, 70])]),
        ],
        events: [cooled("A", 21, 1, 1_021), cooled("A", 51, 1, 9_051)],
        snapshots: [aSnapshot(90, { id: "A", status: "cooling_down", failures: 1, cooldownUntil: 9_051 })],
      },
    ],
    [
      "a count that a later success cleared",
      {
        calls: [limitedThenServed, aCall("c2", [anAttempt("A", [2_000, 2_010])])],
        snapshots: [aSnapshot(3_000, { id: "A" })],
      },
    ],
    [
      "a failure that set out before a cooldown and came after the success that ended its count",
      {
        calls: [
          aCall("c1", [anAttempt("A", [5, 1_300], "limited", { answer: { isLate: true } })]),
          limitedThenServed,
          aCall("c3", [anAttempt("A", [1_200, 1_210])]),
        ],
        snapshots: [aSnapshot(2_000, { id: "A", failures: 0 })],
      },
    ],
    [
      "a deadline that a reset took away",
      {
        snapshots: [aSnapshot(10, { id: "A", failures: 0, cooldownUntil: 9_000 }), aSnapshot(50, { id: "A" })],
        changes: [aChange("reset", "A", 20)],
      },
    ],
  ])("has %s", (_, parts) => {
    expect(violationsOf(aHistory(parts))).toEqual([]);
  });
});

describe("a history that breaks a rule is found out:", () => {
  it.each<[string, Partial<History>, string]>([
    [
      "a key tried twice",
      { calls: [aCall("c1", [anAttempt("A", [10, 20], "other"), anAttempt("A", [30, 40])])] },
      "call c1 tried the key A twice",
    ],
    [
      "a limit that reached the client",
      { calls: [aCall("c1", [anAttempt("A", [10, 20], "limited")], { status: 429 })] },
      "call c1 got the provider's own 429",
    ],
    [
      "a limited key that is used in its rest",
      { calls: [limitedThenServed, aCall("c2", [anAttempt("A", [500, 510])])] },
      "call c2 went to the key A that call c1 had found limited",
    ],
    [
      "a limited key that is used within the wait that it stated",
      {
        calls: [
          aCall("c1", [anAttempt("A", [10, 20], "limited", { answer: { hintMs: 5_000 } }), anAttempt("B", [30, 40])]),
          aCall("c2", [anAttempt("A", [4_000, 4_010])]),
        ],
      },
      "call c2 went to the key A that call c1 had found limited",
    ],
    [
      "a refused key that is used by a retry",
      {
        calls: [refusedThenServed, aCall("c2", [anAttempt("B", [50, 60], "other"), anAttempt("A", [9_000, 9_010])])],
      },
      "call c2 went to the key A that call c1 had found refused",
    ],
    [
      "a deleted key that is used",
      { calls: [aCall("c1", [anAttempt("A", [100, 110])])], changes: [aChange("delete", "A", 50)] },
      "call c1 used the deleted key A",
    ],
    [
      "a replaced value that is used",
      { calls: [aCall("c1", [anAttempt("A", [100, 110])])], changes: [aChange("value", "A", 50, "A2")] },
      "call c1 used a replaced value of the key A",
    ],
    [
      "a disabled key that is used",
      { calls: [aCall("c1", [anAttempt("A", [100, 110])])], changes: [aChange("disable", "A", 50)] },
      "call c1 used the disabled key A",
    ],
    [
      "a disabled key that a new value brings back",
      {
        calls: [aCall("c1", [anAttempt("A", [200, 210], "success", { value: "A2" })])],
        changes: [aChange("disable", "A", 50), aChange("value", "A", 80, "A2")],
      },
      "call c1 used the disabled key A",
    ],
    [
      "a retry before the database knew",
      {
        calls: [
          aCall("c1", [
            anAttempt("A", [10, 20], "refused"),
            anAttempt("B", [30, 40], "success", { previousStored: "on" }),
          ]),
        ],
      },
      "call c1 was retried before the key A was disabled in the database",
    ],
    [
      "a deadline that moved back",
      { snapshots: [aSnapshot(10, { id: "A", cooldownUntil: 900 }), aSnapshot(50, { id: "A", cooldownUntil: 800 })] },
      "the deadline of the key A moved back",
    ],
    [
      "a rest that ended before its time",
      { snapshots: [aSnapshot(10, { id: "A", cooldownUntil: 9_000 }), aSnapshot(50, { id: "A" })] },
      "the deadline of the key A moved back",
    ],
    [
      "an event of two steps",
      { calls: [limitedThenServed], events: [cooled("A", 10, 1, 1_000), cooled("A", 20, 3, 4_000)] },
      "the key A took more than one step at once",
    ],
    [
      "an event whose deadline moved back",
      { calls: [limitedThenServed], events: [cooled("A", 10, 1, 5_000), cooled("A", 20, 1, 1_000)] },
      "a cooldown of the key A moved its deadline back",
    ],
    [
      "a key that cools for what another key met",
      { calls: [limitedThenServed], events: [cooled("B", 21, 1, 1_020)] },
      "key-cooled of the key B has no cause",
    ],
    [
      "a key that cools for what its old value met",
      {
        calls: [aCall("c1", [anAttempt("A", [10, 200], "limited"), anAttempt("B", [210, 220])])],
        changes: [aChange("value", "A", 50, "A2")],
        events: [cooled("A", 205, 1, 1_200)],
      },
      "key-cooled of the key A has no cause",
    ],
    [
      "a key that is disabled by an attempt from before it was cleared",
      {
        calls: [aCall("c1", [anAttempt("A", [10, 200], "refused"), anAttempt("B", [210, 220])])],
        changes: [aChange("reset", "A", 50)],
        snapshots: [aSnapshot(300, { id: "A" })],
        events: [{ type: "key-disabled", keyId: "A", at: 205 }],
      },
      "key-disabled of the key A has no cause",
    ],
    [
      "a key that recovers without a success",
      { calls: [limitedThenServed], events: [{ type: "key-recovered", keyId: "A", at: 25 }] },
      "key-recovered of the key A has no cause",
    ],
    [
      "a key that recovers by a success that set out before its last failure",
      {
        calls: [
          aCall("c1", [anAttempt("A", [10, 320])]),
          aCall("c2", [anAttempt("A", [20, 300], "limited"), anAttempt("B", [310, 330])]),
        ],
        snapshots: [aSnapshot(400, { id: "A", failures: 1 })],
        events: [cooled("A", 301, 1, 1_301), { type: "key-recovered", keyId: "A", at: 321 }],
      },
      "key-recovered of the key A has no cause",
    ],
    [
      "a key that is disabled for what its old value did",
      {
        calls: [refusedThenServed],
        changes: [aChange("value", "A", 5, "A2")],
        snapshots: [aSnapshot(90, { id: "A", status: "disabled", reason: "authentication_failed" })],
      },
      "the key A is disabled for what another key or value did",
    ],
    [
      "a key that is disabled for what another key did",
      {
        calls: [refusedThenServed],
        snapshots: [aSnapshot(90, { id: "B", status: "disabled", reason: "authentication_failed" })],
      },
      "the key B is disabled for what another key or value did",
    ],
    [
      "a refused key that is still on",
      { calls: [refusedThenServed], snapshots: [aSnapshot(90, { id: "A" })] },
      "the key A is on though it was refused",
    ],
    [
      "a burst that counts as more than one failure",
      {
        calls: ["c1", "c2"].map((id, at) =>
          aCall(id, [anAttempt("A", [10 + at, 20 + at], "limited")], { ownError: "pool_exhausted" }),
        ),
        snapshots: [aSnapshot(90, { id: "A", failures: 2 })],
      },
      "the key A counts 2 failures, of 1 at the most",
    ],
    [
      "a count that a new value should have cleared",
      {
        calls: [limitedThenServed],
        changes: [aChange("value", "A", 50, "A2")],
        snapshots: [aSnapshot(90, { id: "A", failures: 1 })],
      },
      "the key A counts 1 failures, of 0 at the most",
    ],
    [
      "a count that a late success cleared",
      {
        calls: [limitedThenServed, aCall("c2", [anAttempt("A", [15, 60])])],
        snapshots: [aSnapshot(90, { id: "A", failures: 0 })],
      },
      "the count of the key A was cleared by a success that set out before the last failure",
    ],
    [
      "a count that a success did not clear",
      {
        calls: [limitedThenServed, aCall("c2", [anAttempt("A", [2_000, 2_010])])],
        snapshots: [aSnapshot(3_000, { id: "A", failures: 1 })],
      },
      "the count of the key A outlived a success that set out after the last failure",
    ],
  ])("%s", (_, parts, violation) => {
    expect(violationsOf(aHistory(parts))).toEqual([violation]);
  });
});
