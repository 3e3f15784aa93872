import { expect, it } from "vitest";
import { arcPath, placeOfNext, slotsOf, turnForwards } from "./wheel-geometry.ts";

const keys = [
  { id: "A", weight: 3 },
  { id: "B", weight: 2 },
  { id: "C", weight: 1 },
];

it("gives each key as many slots as its weight, in order", () => {
  expect(
    slotsOf(keys)
      ?.map(({ keyId }) => keyId)
      .join(""),
  ).toBe("AAABBC");
  expect(slotsOf(keys)?.at(-1)).toEqual({ keyId: "C", from: 5 / 6, to: 1 });
});

it("draws one piece a key where there are too many slots, and nothing where there are too many keys", () => {
  const heavy = [100, 50].map((weight, at) => ({ id: String(at), weight }));
  const many = Array.from({ length: 49 }, (_, at) => ({ id: String(at), weight: 1 }));

  expect(slotsOf(heavy)).toEqual([
    { keyId: "0", from: 0, to: 100 / 150 },
    { keyId: "1", from: 100 / 150, to: 1 },
  ]);
  expect([slotsOf(many), slotsOf([])]).toEqual([undefined, undefined]);
});

it.each([
  ["AAABBC", 0.5 / 6],
  ["ABBCAA", 2.5 / 6],
  ["BCAAAB", 4.5 / 6],
  ["CAAABB", 5.5 / 6],
  ["AAAAAA", 0.5 / 6],
])("finds the slot of the next turn of %s", (turns, place) => {
  expect(placeOfNext(keys, Array.from(turns))).toBeCloseTo(place);
});

it("finds none where nobody takes a turn", () => {
  expect(placeOfNext(keys, [])).toBeUndefined();
});

it("turns forwards to the next place, past the top as well", () => {
  expect(turnForwards(0.75, 0.25)).toBeCloseTo(1.25);
  expect(turnForwards(1.25, 0.25)).toBeCloseTo(1.25);
});

it("outlines the whole ring for the only key", () => {
  const path = arcPath({ from: 0, to: 1 }, { center: 10, inner: 5, outer: 10, gap: 0 });

  expect(path).toContain("A 10 10 0 1 1");
  expect(path).not.toContain("NaN");
});
