import type { Failure, ReasonCode } from "@keywheel/pool";

/** A request for a turn, and to whom it must go: letters of keys, `-` for nobody. */
interface Take {
  readonly take: string;
  readonly model?: string;
  readonly session?: string;
  readonly tried?: readonly string[];
  readonly bind?: false;
  readonly objects?: readonly string[];
  /** Beginnings of a conversation that are looked for, longest first; and what it is remembered by. */
  readonly lookups?: readonly string[];
  readonly binds?: readonly string[];
}

/** One line of a case. Tickets are named by the tests; a rest is counted from the failure. */
export type CaseStep =
  | Take
  | { readonly ticket: string; readonly key: string; readonly model?: string }
  | {
      readonly fail: string;
      readonly failure?: Failure;
      readonly of?: "model";
      readonly because?: ReasonCode;
      readonly failures: number;
      readonly restsMs: number;
    }
  | { readonly succeed: string; readonly failures: number }
  | { readonly disable: string; readonly applied: boolean }
  | { readonly hold: string; readonly ms: number }
  | { readonly release: string }
  | { readonly reset: string }
  | { readonly end: string }
  | { readonly pin: string; readonly objects: readonly string[] }
  | { readonly weights: readonly number[] }
  | { readonly wait: number };

export interface RuleCase {
  readonly rule: "wheel" | "cooldown" | "blame" | "binding" | "model" | "pin" | "group";
  readonly name: string;
  /** Of the keys A, B, C …; a number below 0 is a key that is disabled. */
  readonly weights: readonly number[];
  /** Of the keys A, B, C …; `-` for a key by itself. */
  readonly groups?: string;
  readonly idleTtlMs?: number;
  readonly steps: readonly CaseStep[];
}

const ladder: Failure = { rest: "ladder" };

/** A request with a key that meets a limit for the first time. */
function limited(ticket: string, key: string): readonly CaseStep[] {
  return [
    { ticket, key },
    { fail: ticket, failures: 1, restsMs: 60_000 },
  ];
}

/** Cases by name, of keys with the weight 1 that share their limits as `RuleCase.groups` says. */
function grouped(groups: string, cases: Readonly<Record<string, readonly CaseStep[]>>): readonly RuleCase[] {
  const weights = Array.from(groups, () => 1);
  return Object.entries(cases).map(([name, steps]) => ({ rule: "group", name, weights, groups, steps }));
}

/**
 * The rules that live twice: in TypeScript (`@keywheel/pool`) and in the script that runs inside Redis. Each line holds for
 * both; a rule that is changed is changed here first.
 *
 * @see contract §4
 */
export const ruleCases: readonly RuleCase[] = [
  ...grouped("xx-", {
    "a limit of one key rests its group, and nobody else": [
      ...limited("a", "A"),
      { take: "CC" },
      { wait: 59_999 },
      { take: "C" },
      { wait: 1 },
      { take: "AB" },
    ],
    "the others have made no step of their ladder": [
      ...limited("a", "A"),
      { wait: 60_000 },
      ...limited("b", "B"),
      { wait: 60_000 },
      { ticket: "a2", key: "A" },
      { fail: "a2", failures: 2, restsMs: 120_000 },
    ],
    "what was under way with another key of the group is of the same burst": [
      { ticket: "a", key: "A" },
      { ticket: "b", key: "B" },
      { fail: "a", failures: 1, restsMs: 60_000 },
      { wait: 1_000 },
      { fail: "b", failures: 0, restsMs: 59_000 },
    ],
    "a longer wait that another key was told rests them all longer; a shorter one moves no deadline back": [
      { ticket: "a", key: "A" },
      { ticket: "b", key: "B" },
      { fail: "a", failures: 1, restsMs: 60_000 },
      { fail: "b", failure: { rest: "ladder", hintMs: 200_000 }, failures: 0, restsMs: 200_000 },
      { wait: 199_999 },
      { take: "C" },
      { wait: 1 },
      { take: "AB" },
    ],
    "a spent quota is shared, an overload is not": [
      { ticket: "a", key: "A" },
      { fail: "a", because: "overloaded", failures: 1, restsMs: 60_000 },
      { take: "BCBC" },
      { ticket: "b", key: "B" },
      { fail: "b", because: "quota_exhausted", failure: { rest: "at-cap" }, failures: 1, restsMs: 900_000 },
      { wait: 60_000 },
      { take: "CC" },
    ],
    "sessions of all its keys go on elsewhere, and stay there": [
      { take: "A", session: "one" },
      { take: "B", session: "two" },
      ...limited("a", "A"),
      { take: "C", session: "two" },
      { take: "C", session: "one" },
      { wait: 60_000 },
      { take: "CC", session: "two" },
    ],
    "a model's limit rests the group for that model alone": [
      { ticket: "a", key: "A", model: "m" },
      { fail: "a", of: "model", failures: 1, restsMs: 60_000 },
      { take: "CC", model: "m" },
      { take: "AB", model: "n" },
    ],
    "a key that is cleared serves, whatever the others do": [...limited("a", "A"), { reset: "B" }, { take: "BCBC" }],
  }),
  ...grouped("xxyy", {
    "two groups rest apart": [...limited("a", "A"), { take: "CDCD" }, ...limited("c", "C"), { take: "-" }],
  }),
  { rule: "wheel", name: "weights 3, 2, 1", weights: [3, 2, 1], steps: [{ take: "AAABBCAAABBC" }] },
  { rule: "wheel", name: "a disabled key is passed over", weights: [2, -3, 1], steps: [{ take: "AACAAC" }] },
  { rule: "wheel", name: "one key alone", weights: [2], steps: [{ take: "AAAA" }] },
  {
    rule: "wheel",
    name: "who may not have the key whose turn it is leaves it its turn",
    weights: [2, 1, 1],
    steps: [{ take: "BCB", tried: ["A"] }, { take: "AAB" }, { take: "A", tried: ["C", "B"] }, { take: "CAA" }],
  },
  {
    rule: "wheel",
    name: "detours of many spread by weight",
    weights: [1, 2, 1],
    steps: [{ take: "BBCBBC", tried: ["A"] }, { take: "A" }],
  },
  {
    rule: "wheel",
    name: "nobody is left for who has tried them all",
    weights: [1, 1],
    steps: [{ take: "-", tried: ["A", "B"] }, { take: "AB" }],
  },
  {
    rule: "wheel",
    name: "a weight that is lowered in its key's turn ends it",
    weights: [3, 1],
    steps: [{ take: "AA" }, { weights: [1, 1] }, { take: "BAB" }],
  },
  {
    rule: "wheel",
    name: "a weight that is raised in its key's turn lengthens it",
    weights: [2, 1],
    steps: [{ take: "A" }, { weights: [4, 1] }, { take: "AAAB" }],
  },
  {
    rule: "wheel",
    name: "keys that are added come in their place",
    weights: [1, 1],
    steps: [{ take: "A" }, { weights: [1, 1, 2] }, { take: "BCCA" }],
  },
  {
    rule: "cooldown",
    name: "60 s doubling to 900 s",
    weights: [1],
    steps: [60_000, 120_000, 240_000, 480_000, 900_000, 900_000].flatMap((restsMs, index) => [
      { ticket: `t${index}`, key: "A" },
      { fail: `t${index}`, failure: ladder, failures: index + 1, restsMs },
      { wait: restsMs - 1 },
      { take: "-" },
      { wait: 1 },
    ]),
  },
  {
    rule: "cooldown",
    name: "a longer stated wait holds, up to the cap",
    weights: [1, 1, 1],
    steps: [
      { ticket: "a", key: "A" },
      { ticket: "b", key: "B" },
      { ticket: "c", key: "C" },
      { fail: "a", failure: { rest: "ladder", hintMs: 300_000 }, failures: 1, restsMs: 300_000 },
      { fail: "b", failure: { rest: "ladder", hintMs: 5_000 }, failures: 1, restsMs: 60_000 },
      { fail: "c", failure: { rest: "ladder", hintMs: 9_000_000 }, failures: 1, restsMs: 900_000 },
    ],
  },
  {
    rule: "cooldown",
    name: "a spent quota rests for the whole cap, a fixed rest for its own length",
    weights: [1, 1],
    steps: [
      { ticket: "a", key: "A" },
      { ticket: "b", key: "B" },
      { fail: "a", failure: { rest: "at-cap" }, failures: 1, restsMs: 900_000 },
      { fail: "b", failure: { rest: "ladder", fixedMs: 3_600_000 }, failures: 1, restsMs: 3_600_000 },
    ],
  },
  {
    rule: "cooldown",
    name: "the count outlives the rest; a success ends it",
    weights: [1],
    steps: [
      ...limited("a", "A"),
      { wait: 60_000 },
      { ticket: "b", key: "A" },
      { fail: "b", failures: 2, restsMs: 120_000 },
      { wait: 120_000 },
      { ticket: "c", key: "A" },
      { succeed: "c", failures: 0 },
      ...limited("d", "A"),
    ],
  },
  {
    rule: "blame",
    name: "one burst is one failure, though a longer wait in it counts",
    weights: [1],
    steps: [
      { ticket: "a", key: "A" },
      { ticket: "b", key: "A" },
      { ticket: "c", key: "A" },
      { fail: "a", failures: 1, restsMs: 60_000 },
      { wait: 1_000 },
      { fail: "b", failures: 1, restsMs: 59_000 },
      { fail: "c", failure: { rest: "ladder", hintMs: 200_000 }, failures: 1, restsMs: 200_000 },
    ],
  },
  {
    rule: "blame",
    name: "a success that set out before the last failure clears nothing",
    weights: [1],
    steps: [{ ticket: "early", key: "A" }, ...limited("a", "A"), { succeed: "early", failures: 1 }, { take: "-" }],
  },
  {
    rule: "blame",
    name: "what was sent before a reset says nothing about the cleared key",
    weights: [1],
    steps: [
      { ticket: "early", key: "A" },
      { ticket: "a", key: "A" },
      { disable: "a", applied: true },
      { take: "-" },
      { reset: "A" },
      { disable: "early", applied: false },
      { take: "A" },
    ],
  },
  {
    rule: "blame",
    name: "a refusal counts once, and a held key is passed over until it is free",
    weights: [1, 1],
    steps: [
      { ticket: "a", key: "A" },
      { ticket: "b", key: "A" },
      { hold: "a", ms: 2_000 },
      { take: "BB" },
      { release: "a" },
      { take: "A" },
      { disable: "a", applied: true },
      { disable: "b", applied: false },
      { take: "BB" },
    ],
  },
  {
    rule: "blame",
    name: "a key that has come back is tried by one request at a time",
    weights: [1, 1],
    steps: [
      { ticket: "a", key: "A" },
      { take: "A" },
      { fail: "a", failures: 1, restsMs: 60_000 },
      { wait: 60_000 },
      { take: "BABB" },
      { wait: 2_000 },
      { take: "AB" },
    ],
  },
  {
    rule: "binding",
    name: "a session keeps its key and takes no turn",
    weights: [1, 1],
    steps: [{ take: "AAA", session: "s" }, { take: "B" }, { take: "A", session: "s" }, { take: "AB" }],
  },
  {
    rule: "binding",
    name: "a cooldown ends it for good",
    weights: [1, 1],
    steps: [
      { take: "AA", session: "s" },
      ...limited("a", "A"),
      { take: "BB", session: "s" },
      { wait: 60_000 },
      { take: "B", session: "s" },
      { take: "AB" },
    ],
  },
  {
    rule: "binding",
    name: "silence ends it, counted from the last use",
    weights: [1, 1],
    idleTtlMs: 1_000,
    steps: [
      { take: "A", session: "s" },
      { wait: 1_000 },
      { take: "A", session: "s" },
      { wait: 1_001 },
      { take: "B", session: "s" },
      { end: "s" },
      { take: "A", session: "s" },
    ],
  },
  {
    rule: "binding",
    name: "a detour binds nobody",
    weights: [1, 1],
    steps: [
      { take: "A", session: "s" },
      { take: "B", session: "s", tried: ["A"], bind: false },
      { take: "A", session: "s" },
    ],
  },
  {
    rule: "model",
    name: "a model's rest is its own, with a ladder and a lane of its own",
    weights: [2, 1],
    steps: [
      { ticket: "x", key: "A", model: "x" },
      { ticket: "late", key: "A", model: "x" },
      { fail: "x", of: "model", failures: 1, restsMs: 60_000 },
      { fail: "late", of: "model", failures: 1, restsMs: 60_000 },
      { take: "BBB", model: "x" },
      { take: "AAB", model: "y" },
      { take: "AAB" },
      { wait: 60_000 },
      { take: "AAB", model: "x" },
      { ticket: "again", key: "A", model: "x" },
      { fail: "again", of: "model", failures: 2, restsMs: 120_000 },
    ],
  },
  {
    rule: "pin",
    name: "an object goes to its maker, resting or not; the first that is known counts",
    weights: [1, 1],
    steps: [
      { pin: "B", objects: ["file"] },
      { take: "BB", objects: ["unknown", "file"] },
      { take: "A", objects: ["unknown"] },
      ...limited("b", "B"),
      { take: "-", objects: ["file"] },
      { wait: 60_000 },
      { take: "B", objects: ["file"] },
    ],
  },
  {
    rule: "pin",
    name: "a conversation goes to who served its longest beginning",
    weights: [1, 1, 1],
    steps: [
      { take: "A", binds: ["1"] },
      { take: "B", binds: ["2"] },
      { take: "B", lookups: ["2", "1"], binds: ["3"] },
      { take: "A", lookups: ["1"], binds: ["4"] },
      { take: "B", lookups: ["unknown", "3"], binds: ["5"] },
      { take: "C", lookups: ["unknown"], binds: ["6"] },
    ],
  },
];
