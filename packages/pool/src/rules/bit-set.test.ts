import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BitSet } from "./bit-set.ts";

describe("BitSet", () => {
  it("has no next member when it is empty", () => {
    expect(new BitSet(10_000).nextFrom(0)).toBe(-1);
    expect(new BitSet(1).nextFromCyclic(0)).toBe(-1);
  });

  it("goes round to the start only when asked to", () => {
    const set = new BitSet(100);
    set.add(7);

    expect(set.nextFrom(8)).toBe(-1);
    expect(set.nextFromCyclic(8)).toBe(7);
  });

  it("finds the one member among 10,000 from everywhere", () => {
    const set = new BitSet(10_000);
    set.add(9_999);

    for (const from of [0, 31, 32, 1_023, 1_024, 9_998, 9_999]) expect(set.nextFrom(from)).toBe(9_999);
  });

  it("answers as a plain set does, whatever is added and deleted", () => {
    const size = 2_100;
    const command = fc.record({ member: fc.nat(size - 1), present: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(command, { maxLength: 80 }),
        fc.array(fc.nat(size), { maxLength: 20 }),
        (commands, froms) => {
          const set = new BitSet(size);
          const twin = new Set<number>();
          for (const { member, present } of commands) {
            set.set(member, present);
            if (present) twin.add(member);
            else twin.delete(member);
          }
          const sorted = [...twin].sort((a, b) => a - b);
          for (const from of froms) expect(set.nextFrom(from)).toBe(sorted.find((member) => member >= from) ?? -1);
          for (const { member } of commands) expect(set.has(member)).toBe(twin.has(member));
        },
      ),
    );
  });
});
