import { describe, expect, it } from "vitest";
import type {
  AbsenceEntry,
  AnswerEntry,
  AttemptEntry,
  CallEntry,
  ChangeEntry,
  History,
  KeyEventEntry,
  RoundEntry,
  SnapshotEntry,
} from "./entries.ts";
import { violationsOf } from "./violations.ts";

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

/** The same, seen at another gateway. */
function at<Entry extends object>(instance: number, entry: Entry): Entry {
  return { ...entry, instance };
}

/** Nothing but that there are two gateways. */
const idle = [at(0, aSnapshot(1)), at(1, aSnapshot(2))];

function without(of: AbsenceEntry["of"], instance: number, from: number, to: number): AbsenceEntry {
  return { of, instance, from, to };
}

function inSession(id: string, from: number, attempts: readonly AttemptEntry[]): CallEntry {
  return aCall(id, attempts, { sentAt: from, session: "s" });
}

const [unknown, cooling] = [
  { id: "A", failures: 0 },
  { id: "A", status: "cooling_down", failures: 2, cooldownUntil: 9_000 },
];

function aRound(turns: string, weights: Readonly<Record<string, number>>): Partial<History> {
  const calls = Array.from(turns, (keyId, turn) =>
    at(turn % 2, aCall(`c${turn}`, [anAttempt(keyId, [10 * turn + 5, 10 * turn + 6])])),
  );
  const wheel = Object.entries(weights).map(([keyId, weight]) => ({ keyId, weight }));
  const round: RoundEntry = { from: 0, to: 10_000, wheel };
  return { calls, rounds: [round] };
}

describe("a history of several gateways without fault", () => {
  it.each<[string, Partial<History>]>([
    [
      "a limited key that another gateway uses before the news can have reached it",
      { calls: [limitedThenServed, at(1, aCall("c2", [anAttempt("A", [90, 95])]))] },
    ],
    [
      "a limited key that another gateway uses while it is without the shared state",
      {
        calls: [limitedThenServed, at(1, aCall("c2", [anAttempt("A", [500, 510])]))],
        absences: [without("state", 1, 15, 600)],
      },
    ],
    [
      "a limited key that the one who met it could not tell of",
      {
        calls: [limitedThenServed, at(1, aCall("c2", [anAttempt("A", [500, 510])]))],
        absences: [without("state", 0, 15, 450)],
      },
    ],
    [
      "a refused key that another gateway uses while it is without either way to hear of it",
      {
        calls: [refusedThenServed, at(1, aCall("c2", [anAttempt("A", [2_000, 2_010])]))],
        absences: [without("state", 1, 5, 2_500), without("database", 1, 5, 2_500)],
      },
    ],
    [
      "a disabled key that another gateway uses within the second in which it hears of it",
      {
        calls: [at(1, aCall("c1", [anAttempt("A", [900, 910])]))],
        changes: [aChange("disable", "A", 50)],
        snapshots: idle,
      },
    ],
    [
      "a disabled key that another gateway uses while the database is slow with every change",
      {
        calls: [at(1, aCall("c1", [anAttempt("A", [1_200, 1_210])]))],
        changes: [aChange("disable", "A", 50), { kind: "label", keyId: "B", beganAt: 100, returnedAt: 700 }],
        snapshots: idle,
      },
    ],
    [
      "a disabled key that a gateway without the database uses",
      {
        calls: [at(1, aCall("c1", [anAttempt("A", [5_000, 5_010])]))],
        changes: [aChange("disable", "A", 50)],
        snapshots: idle,
        absences: [without("database", 1, 20, 6_000)],
      },
    ],
    [
      "a retry of a gateway that cannot reach the database",
      {
        calls: [
          aCall("c1", [
            anAttempt("A", [10, 20], "refused"),
            anAttempt("B", [30, 40], "success", { previousStored: "on" }),
          ]),
        ],
        absences: [without("database", 0, 5, 100)],
      },
    ],
    [
      "a retry that the database has kept waiting for two seconds",
      {
        calls: [
          aCall("c1", [
            anAttempt("A", [10, 20], "refused"),
            anAttempt("B", [2_010, 2_020], "success", { previousStored: "on" }),
          ]),
        ],
      },
    ],
    [
      "a count whose first step was over before it was noted",
      {
        calls: [
          limitedThenServed,
          aCall("c2", [anAttempt("A", [1_100, 1_110], "limited"), anAttempt("B", [1_200, 1_210])]),
        ],
        events: [cooled("A", 1_111, 2, 3_110)],
        snapshots: [aSnapshot(5_000, { id: "A", failures: 2 })],
      },
    ],
    [
      "calls that a killed process took with it, and what it had not noted",
      {
        calls: [
          aCall("c1", [anAttempt("A", [10, 20], "limited")], { status: undefined }),
          aCall("c2", [anAttempt("A", [500, 510])]),
        ],
        absences: [without("process", 0, 21, 400)],
      },
    ],
    [
      "the provider's own fault",
      { calls: [aCall("c1", [anAttempt("A", [10, 20], "other")], { status: 502, ownError: "upstream_unreachable" })] },
    ],
    [
      "a pool that is empty for as long as the limit may last",
      {
        calls: [
          limitedThenServed,
          aCall("c2", [anAttempt("B", [300, 310], "limited")], { status: 429, ownError: "pool_exhausted" }),
        ],
        snapshots: [
          aSnapshot(5, { id: "A" }, { id: "B" }),
          aSnapshot(400, { id: "A", failures: 1 }, { id: "B", failures: 1 }),
        ],
      },
    ],
    [
      "a deadline that another gateway cannot know yet",
      {
        calls: failuresOf("A", 2),
        snapshots: [at(0, aSnapshot(10, cooling)), at(1, aSnapshot(60, unknown)), at(1, aSnapshot(500, cooling))],
      },
    ],
    [
      "a count and a deadline that a gateway without the shared state does not know",
      {
        snapshots: [at(0, aSnapshot(10, cooling)), at(1, aSnapshot(5_000, unknown)), at(1, aSnapshot(6_000, cooling))],
        absences: [without("state", 1, 0, 5_500)],
        calls: failuresOf("A", 2),
      },
    ],
    [
      "two gateways apart that count on from the same failure",
      {
        calls: [...failuresOf("A", 2), ...failuresOf("A", 2).map((call) => at(1, { ...call, id: `x${call.id}` }))],
        events: [
          cooled("A", -199, 1, 800),
          at(1, cooled("A", -198, 1, 800)),
          cooled("A", -99, 2, 1_900),
          at(1, cooled("A", -98, 2, 1_900)),
        ],
        absences: [without("state", 1, -1_000, 100)],
        snapshots: idle,
      },
    ],
    [
      "a burst that two gateways meet, each of which rests the key from its own answer",
      {
        calls: [
          limitedThenServed,
          at(1, aCall("c2", [anAttempt("A", [15, 290], "limited"), anAttempt("B", [310, 320])])),
        ],
        events: [cooled("A", 21, 1, 1_100), at(1, cooled("A", 300, 1, 1_020))],
        snapshots: [
          at(0, aSnapshot(400, { id: "A", status: "cooling_down", failures: 1, cooldownUntil: 1_100 })),
          at(1, aSnapshot(600, { id: "A", status: "cooling_down", failures: 1, cooldownUntil: 1_020 })),
        ],
      },
    ],
    [
      "a session that stays on its key at every gateway",
      {
        calls: [
          inSession("c1", 9, [anAttempt("A", [10, 20])]),
          at(1, inSession("c2", 15, [anAttempt("A", [16, 30])])),
          inSession("c3", 50, [anAttempt("A", [51, 60], "other"), anAttempt("B", [61, 70])]),
          at(1, inSession("c4", 80, [anAttempt("A", [81, 90])])),
        ],
      },
    ],
    [
      "a session that moves with its key's limit",
      {
        calls: [
          inSession("c1", 9, [anAttempt("A", [10, 20], "limited"), anAttempt("B", [21, 30])]),
          at(1, inSession("c2", 200, [anAttempt("B", [201, 210])])),
        ],
      },
    ],
    [
      "a session whose key another one's request found limited",
      {
        calls: [
          inSession("c1", 9, [anAttempt("A", [10, 20])]),
          aCall("c2", [anAttempt("A", [30, 40], "limited"), anAttempt("C", [50, 60])]),
          at(1, inSession("c3", 300, [anAttempt("B", [301, 310])])),
        ],
      },
    ],
    [
      "a session that gateways apart bind each for itself",
      {
        calls: [
          inSession("c1", 9, [anAttempt("A", [10, 20])]),
          at(1, inSession("c2", 300, [anAttempt("B", [301, 310])])),
        ],
        absences: [without("state", 1, 0, 400)],
      },
    ],
    ["a round by weight that begins in the midst of a key's turns", aRound("AABBCAAABBCA", { A: 3, B: 2, C: 1 })],
    ["a round that is longer than the wheel is heavy", aRound("CAAABBCA", { A: 3, B: 2, C: 1 })],
    [
      "a refused key that is off in the database",
      {
        calls: [refusedThenServed],
        stored: [
          { keyId: "A", enabled: false },
          { keyId: "B", enabled: true },
        ],
      },
    ],
  ])("has %s", (_, parts) => {
    expect(violationsOf(aHistory(parts))).toEqual([]);
  });
});

/** So many failures of a key in a row, each after the one before was noted and its rest was over; the last one at 0. */
function failuresOf(keyId: string, count: number): CallEntry[] {
  return Array.from({ length: count }, (_, number) => {
    const from = (number - count) * 100 - 5;
    return aCall(`f${number}`, [anAttempt(keyId, [from, from + 5], "limited", { answer: { isLate: true } })]);
  });
}

describe("a history of several gateways that breaks a rule is found out:", () => {
  it.each<[string, Partial<History>, ...string[]]>([
    [
      "a limited key that another gateway uses after the news must have reached it",
      { calls: [limitedThenServed, at(1, aCall("c2", [anAttempt("A", [200, 210])]))] },
      "call c2 went to the key A that call c1 had found limited",
    ],
    [
      "a limited key that is used after both gateways share their state again",
      {
        calls: [limitedThenServed, at(1, aCall("c2", [anAttempt("A", [800, 810])]))],
        absences: [without("state", 1, 15, 600)],
      },
      "call c2 went to the key A that call c1 had found limited",
    ],
    [
      "a limited key that a third gateway's absence does not excuse",
      {
        calls: [limitedThenServed, at(1, aCall("c2", [anAttempt("A", [500, 510])]))],
        absences: [without("state", 2, 15, 600)],
      },
      "call c2 went to the key A that call c1 had found limited",
    ],
    [
      "a limited key that is used by the very gateway that met it, without the shared state",
      {
        calls: [limitedThenServed, aCall("c2", [anAttempt("A", [500, 510])])],
        absences: [without("state", 0, 0, 900)],
      },
      "call c2 went to the key A that call c1 had found limited",
    ],
    [
      "a limited key that is used by a process that was started again",
      {
        calls: [limitedThenServed, aCall("c2", [anAttempt("A", [500, 510])])],
        absences: [without("process", 0, 100, 400)],
      },
      "call c2 went to the key A that call c1 had found limited",
    ],
    [
      "a refused key that another gateway uses though the database tells it",
      {
        calls: [refusedThenServed, at(1, aCall("c2", [anAttempt("A", [2_000, 2_010])]))],
        absences: [without("state", 1, 5, 2_500)],
      },
      "call c2 went to the key A that call c1 had found refused",
    ],
    [
      "a disabled key that another gateway uses more than a second later",
      {
        calls: [at(1, aCall("c1", [anAttempt("A", [1_200, 1_210])]))],
        changes: [aChange("disable", "A", 50)],
        snapshots: idle,
      },
      "call c1 used the disabled key A",
    ],
    [
      "a retry before the database knew, while another gateway is without it",
      {
        calls: [
          aCall("c1", [
            anAttempt("A", [10, 20], "refused"),
            anAttempt("B", [30, 40], "success", { previousStored: "on" }),
          ]),
        ],
        absences: [without("database", 1, 5, 100)],
      },
      "call c1 was retried before the key A was disabled in the database",
    ],
    [
      "a client without an answer",
      { calls: [aCall("c1", [anAttempt("A", [10, 20])], { status: undefined })] },
      "call c1 got no answer",
    ],
    [
      "a client without an answer while another gateway's process is down",
      {
        calls: [aCall("c1", [anAttempt("A", [10, 20])], { status: undefined })],
        absences: [without("process", 1, 0, 100)],
      },
      "call c1 got no answer",
    ],
    [
      "a client that is sent away while a key can serve",
      {
        calls: [aCall("c1", [], { sentAt: 10, endedAt: 20, status: 429, ownError: "pool_exhausted" })],
        snapshots: [aSnapshot(5, { id: "A" })],
      },
      "call c1 got pool_exhausted while the key A could serve",
    ],
    [
      "a client that is sent away after a limit must have ended",
      {
        calls: [
          limitedThenServed,
          aCall("c2", [], { sentAt: 61_000, endedAt: 61_010, status: 503, ownError: "no_usable_key" }),
        ],
        snapshots: [aSnapshot(5, { id: "A" }), aSnapshot(70_000, { id: "A", failures: 1 })],
      },
      "call c2 got no_usable_key while the key A could serve",
    ],
    [
      "a client that is sent away without the provider's doing",
      { calls: [aCall("c1", [], { sentAt: 10, endedAt: 20, status: 503, ownError: "overloaded" })] },
      "call c1 got the gateway's 503 overloaded",
    ],
    [
      "a deadline that another gateway does not know in time",
      { snapshots: [at(0, aSnapshot(10, { ...cooling, failures: 0 })), at(1, aSnapshot(200, unknown))] },
      "the deadline of the key A moved back",
    ],
    [
      "a deadline that is earlier when two gateways have met again",
      {
        snapshots: [
          at(0, aSnapshot(10, { id: "A", cooldownUntil: 9_000 })),
          at(1, aSnapshot(900, { id: "A", cooldownUntil: 8_000 })),
        ],
        absences: [without("state", 1, 0, 700)],
      },
      "the deadline of the key A moved back",
    ],
    [
      "failures that are forgotten when two gateways have met again",
      {
        calls: failuresOf("A", 2),
        snapshots: [at(0, aSnapshot(10, { id: "A", failures: 2 })), at(1, aSnapshot(900, { id: "A", failures: 1 }))],
        absences: [without("state", 1, 0, 700)],
      },
      "failures of the key A were forgotten",
    ],
    [
      "failures that a process forgets when it is killed",
      {
        calls: failuresOf("A", 2),
        snapshots: [aSnapshot(10, { id: "A", failures: 2 }), aSnapshot(900, { id: "A", failures: 1 })],
        absences: [without("process", 0, 100, 700)],
      },
      "failures of the key A were forgotten",
    ],
    [
      "a failure that two gateways count as two",
      {
        calls: [
          aCall("c1", [anAttempt("A", [10, 20], "limited")], { status: 429, ownError: "pool_exhausted" }),
        ].flatMap((call) => [call, at(1, { ...call, id: "c2" })]),
        events: [cooled("A", 21, 1, 1_020), at(1, cooled("A", 22, 3, 1_020))],
      },
      "the key A took more than one step at once",
    ],
    [
      "a cooldown that ends before the one that another gateway told of",
      {
        calls: [
          limitedThenServed,
          at(1, aCall("c2", [anAttempt("A", [15, 290], "limited"), anAttempt("B", [310, 320])])),
        ],
        events: [cooled("A", 21, 1, 5_000), at(1, cooled("A", 300, 1, 2_000))],
      },
      "a cooldown of the key A moved its deadline back",
    ],
    [
      "a key that cools at a gateway that met no limit",
      { calls: [limitedThenServed], events: [at(1, cooled("A", 21, 1, 1_020))], snapshots: idle },
      "key-cooled of the key A has no cause",
    ],
    [
      "a refused key that one gateway still has on in the end",
      {
        calls: [refusedThenServed],
        snapshots: [
          at(0, aSnapshot(2_000, { id: "A", status: "disabled", reason: "authentication_failed" })),
          at(1, aSnapshot(2_000, { id: "A" })),
        ],
      },
      "the key A is on though it was refused",
    ],
    [
      "a refused key that the database still has on in the end",
      { calls: [refusedThenServed], stored: [{ keyId: "A", enabled: true }] },
      "the key A is on in the database though it was refused",
    ],
    [
      "a count that is left at another gateway though a success must have ended it",
      {
        calls: [limitedThenServed, aCall("c2", [anAttempt("A", [2_000, 2_010])])],
        snapshots: [at(0, aSnapshot(4_000, { id: "A" })), at(1, aSnapshot(4_000, { id: "A", failures: 1 }))],
      },
      "the count of the key A outlived a success that set out after the last failure",
    ],
    [
      "a session that two gateways bind to two keys at the same moment",
      {
        calls: [
          inSession("c1", 9, [anAttempt("A", [10, 20])]),
          at(1, inSession("c2", 9.5, [anAttempt("B", [10, 20])])),
        ],
      },
      "call c2 took the session s from the key A to B",
    ],
    [
      "a session that leaves its key at another gateway",
      {
        calls: [
          inSession("c1", 9, [anAttempt("A", [10, 20])]),
          at(1, inSession("c2", 300, [anAttempt("B", [301, 310])])),
        ],
      },
      "call c2 took the session s from the key A to B",
    ],
    [
      "a session that a detour takes away from its key",
      {
        calls: [
          inSession("c1", 9, [anAttempt("A", [10, 20], "other"), anAttempt("B", [21, 30])]),
          inSession("c2", 300, [anAttempt("B", [301, 310])]),
        ],
      },
      "call c2 took the session s from the key A to B",
    ],
    [
      "a session that is still apart when everybody is back",
      {
        calls: [
          inSession("c1", 2_000, [anAttempt("A", [2_001, 2_010])]),
          at(1, inSession("c2", 2_300, [anAttempt("B", [2_301, 2_310])])),
        ],
        absences: [without("state", 1, 0, 400)],
      },
      "call c2 took the session s from the key A to B",
    ],
    [
      "a round in which a key has a turn too many",
      aRound("AAABBCAAABCC", { A: 3, B: 2, C: 1 }),
      "the key B took 3 of 12 turns, not 4",
      "the key C took 3 of 12 turns, not 2",
    ],
    [
      "a round with a key that is none of the wheel's",
      aRound("AAABBC", { A: 3, B: 3 }),
      "the key B took 2 of 6 turns, not 3",
      "the key C took 1 of 6 turns, not 0",
    ],
    [
      "a round in which a key could not serve",
      { ...aRound("", { A: 1, B: 1 }), calls: [limitedThenServed] },
      "a round was none: call c1 found a key that could not serve",
    ],
    [
      "a round with a request under way at its edge",
      { ...aRound("", { A: 1 }), calls: [aCall("c1", [anAttempt("A", [9_990, 10_010])])] },
      "a round was none: call c1 reached over its edge",
    ],
    [
      "a round with a session in it",
      { ...aRound("", { A: 1 }), calls: [inSession("c1", 9, [anAttempt("A", [10, 20])])] },
      "a round was none: call c1 had a session",
    ],
  ])("%s", (_, parts, ...violations) => {
    expect(violationsOf(aHistory(parts))).toEqual(violations);
  });
});
