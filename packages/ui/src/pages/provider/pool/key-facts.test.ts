import { describe, expect, it } from "vitest";
import type { Key } from "../../../api/openapi.ts";
import {
  countByStatus,
  disabledTogether,
  filterKeys,
  firstBack,
  groupsOf,
  neverSelectedOf,
  moved,
  nameOf,
  ownerOf,
  sharesOf,
  standstillOf,
} from "./key-facts.ts";

function aKey(parts: Partial<Key> = {}): Key {
  return {
    id: "key_a",
    provider_id: "prv_a",
    api_key: "sk-…9f2c",
    label: "",
    weight: 1,
    enabled: true,
    order: 0,
    group: "",
    organization: null,
    project: null,
    status: "available",
    status_reason: null,
    cooldown_until: null,
    consecutive_failures: 0,
    bound_sessions: 0,
    managed_by: null,
    stats: { requests: 0, successes: 0, failures: 0, last_used_at: null },
    created_at: "2026-01-31T09:30:00.000Z",
    updated_at: "2026-01-31T09:30:00.000Z",
    ...parts,
  };
}

const refused = {
  code: "authentication_failed",
  http_status: 401,
  message: null,
  at: "",
  wait: null,
  shared_from: null,
} as const;

it("calls a key by its label, and one without by its mask", () => {
  expect([nameOf(aKey({ label: "Main" })), nameOf(aKey())]).toEqual(["Main", "sk-…9f2c"]);
});

describe("the owner of a pool", () => {
  it.each<[string, readonly Partial<Key>[], string | undefined]>([
    ["is the one organization of all keys", [{ organization: "acme" }, { organization: "acme" }], "acme"],
    ["is nobody's where one key has told none yet", [{ organization: "acme" }, {}], undefined],
    ["is nobody's where there are two", [{ organization: "acme" }, { organization: "other" }], undefined],
    ["is nobody's with one key alone", [{ organization: "acme" }], undefined],
    ["leaves disabled keys out", [{ group: "a" }, { group: "a" }, { group: "b", enabled: false }], "a"],
    [
      "is what the operator says rather than the provider: two projects of one organization",
      [
        { group: "one", organization: "acme" },
        { group: "two", organization: "acme" },
      ],
      undefined,
    ],
    [
      "is nobody's where only some are grouped",
      [{ group: "one", organization: "acme" }, { organization: "acme" }],
      undefined,
    ],
  ])("%s", (_, keys, owner) => {
    expect(ownerOf(keys.map(aKey))).toBe(owner);
  });

  it("offers each group once, by the alphabet", () => {
    expect(groupsOf([aKey({ group: "b" }), aKey(), aKey({ group: "a" }), aKey({ group: "b" })])).toEqual(["a", "b"]);
  });
});

describe("shares", () => {
  it("are those of the specification's example", () => {
    const keys = [3, 2, 1].map((weight) => aKey({ weight }));

    expect(keys.map((key) => sharesOf(keys).now(key))).toEqual([1 / 2, 1 / 3, 1 / 6]);
  });

  it("are those of the keys that are available while one rests", () => {
    const keys = [aKey({ weight: 3, status: "cooling_down" }), aKey({ weight: 2 }), aKey({ weight: 1 })];

    expect(keys.map((key) => sharesOf(keys).now(key))).toEqual([undefined, 2 / 3, 1 / 3]);
    expect(sharesOf(keys).whenBack(keys[0]!)).toBe(1 / 2);
  });

  it("count those that come back by themselves for what a key will have when it is back", () => {
    const [resting, disabled] = [aKey({ status: "cooling_down" }), aKey({ status: "disabled" })];
    const { whenBack } = sharesOf([resting, disabled]);

    expect([whenBack(resting), whenBack(disabled)]).toEqual([1, 1 / 2]);
  });
});

it("finds keys by label and mask, of one status", () => {
  const keys = [aKey({ label: "Production" }), aKey({ label: "Test", status: "disabled" }), aKey({ api_key: "$PROD" })];

  expect(filterKeys(keys, { status: "all", search: " PROD " })).toEqual([keys[0], keys[2]]);
  expect(filterKeys(keys, { status: "disabled", search: "" })).toEqual([keys[1]]);
  expect(countByStatus(keys)).toEqual({ all: 3, available: 2, cooling_down: 0, disabled: 1, unresolved: 0 });
});

it("knows when the first cooling key is back", () => {
  const late = aKey({ status: "cooling_down", cooldown_until: "2026-01-31T09:45:00.000Z" });
  const soon = aKey({ status: "cooling_down", cooldown_until: "2026-01-31T09:31:00.000Z" });

  expect([firstBack([late, soon]), firstBack([aKey()])]).toEqual([soon.cooldown_until, undefined]);
});

describe("a key that was never selected", () => {
  const idle = aKey({ created_at: "2026-01-31T10:00:00.000Z" });
  const busy = (requests: number, created_at = idle.created_at): Key =>
    aKey({ created_at, stats: { ...idle.stats, requests } });

  it("is one without a turn after ten requests, and three for each key", () => {
    expect(neverSelectedOf([idle, busy(9)], undefined)(idle)).toBe(false);
    expect(neverSelectedOf([idle, busy(10)], undefined)(idle)).toBe(true);
    const many = [idle, ...Array.from({ length: 9 }, () => busy(3))];
    expect(neverSelectedOf(many, undefined)(idle)).toBe(false);
    expect(neverSelectedOf([...many, busy(6)], undefined)(idle)).toBe(true);
  });

  it("is none that was just added to a pool that has served for long", () => {
    const keys = [idle, busy(1_000, "2026-01-30T00:00:00.000Z")];

    expect(neverSelectedOf(keys, undefined)(idle)).toBe(false);
    expect(neverSelectedOf(keys, "2026-01-31T09:59:59.000Z")(idle)).toBe(false);
    expect(neverSelectedOf(keys, "2026-01-31T10:00:01.000Z")(idle)).toBe(true);
  });
});

it("tells a pool at its limits from one that stands still for several reasons", () => {
  const limited = aKey({ status: "cooling_down", status_reason: { ...refused, code: "rate_limited" } });
  const spent = aKey({ status: "cooling_down", status_reason: { ...refused, code: "quota_exhausted" } });
  const out = aKey({ status: "disabled", status_reason: refused });

  expect(standstillOf([limited, limited])).toBe("limited");
  expect(standstillOf([limited, spent])).toBe("cooling");
  expect(standstillOf([limited, out])).toBe("mixed");
});

it("puts keys together that one reason disabled, and leaves alone what a person disabled", () => {
  const byHand = { ...refused, code: "disabled_by_operator" } as const;
  const keys = [
    aKey({ id: "a", status: "disabled", status_reason: refused }),
    aKey({ id: "b", status: "disabled", status_reason: refused }),
    aKey({ id: "c", status: "disabled", status_reason: byHand }),
    aKey({ id: "d", status: "disabled", status_reason: byHand }),
  ];

  expect(disabledTogether(keys)).toEqual([{ reason: "authentication_failed", ids: ["a", "b"] }]);
});

it("moves an id to a place, and no further than the ends", () => {
  expect(moved(["a", "b", "c"], "c", 0)).toEqual(["c", "a", "b"]);
  expect(moved(["a", "b", "c"], "a", 9)).toEqual(["b", "c", "a"]);
});
