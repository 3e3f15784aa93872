import fc from "fast-check";
import { expect, it } from "vitest";
import { Pieces } from "./pieces.ts";

const piece = fc.uint8Array({ maxLength: 9_000 }).map((bytes) => Buffer.from(bytes));
const sum = (list: readonly Buffer[]): number => list.reduce((bytes, { length }) => bytes + length, 0);

it("is the same bytes, however they came and are looked at", () => {
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 6 }), (list) => {
      const pieces = new Pieces(list);
      const expected = Buffer.concat(list);

      expect(pieces.length).toBe(expected.length);
      expect(pieces.joined().equals(expected)).toBe(true);
      expect(Buffer.concat(pieces.list).equals(expected)).toBe(true);
      expect(pieces.lookThrough((bytes) => bytes.equals(expected))).toBe(true);
    }),
    { numRuns: 50 },
  );
});

it.each([
  ["one that is large", [300_000]],
  ["a few that are large", [65_536, 65_536, 10]],
])("keeps %s as they came", (_, lengths) => {
  const list = lengths.map((length) => Buffer.alloc(length, length));
  const pieces = new Pieces(list);

  expect(pieces.list.map((each) => each.buffer)).toEqual(list.map((each) => each.buffer));
});

it("joins many that are small, which would take more memory than what is in them", () => {
  const pieces = new Pieces(Array.from({ length: 1_000 }, () => Buffer.from("x")));

  expect(pieces.list).toHaveLength(1);
  expect(pieces.joined().toString()).toBe("x".repeat(1_000));
});

it("is looked through where it is larger than the desk, and after another one was", () => {
  const large = new Pieces([Buffer.alloc(900_000, "a"), Buffer.alloc(900_000, "b")]);
  const small = new Pieces([Buffer.alloc(5_000, "c"), Buffer.alloc(5_000, "d")]);
  const ends = (bytes: Buffer): string =>
    `${bytes.length} ${bytes.toString("latin1", 0, 1)}${bytes.toString("latin1", bytes.length - 1)}`;

  expect([large, small, large].map((pieces) => pieces.lookThrough(ends))).toEqual([
    "1800000 ab",
    "10000 cd",
    "1800000 ab",
  ]);
  expect(sum(large.list)).toBe(1_800_000);
});
