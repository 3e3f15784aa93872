import { describe, expect, it } from "vitest";
import { Wheel } from "./wheel.ts";

/** Turns as letters: position 0 is A. A turn that nobody could have is "-". */
function turns(wheel: Wheel, count: number, excluded?: ReadonlySet<number>): string {
  return Array.from({ length: count }, () => letter(wheel.take(excluded))).join("");
}

function letter(position: number): string {
  return position === -1 ? "-" : String.fromCharCode(65 + position);
}

function wheelOf(...weights: number[]): Wheel {
  const wheel = new Wheel(weights);
  weights.forEach((_, position) => wheel.setUsable(position, true));
  return wheel;
}

describe("the sequence", () => {
  it.each([
    { weights: [3, 2, 1], expected: "AAABBCAAABBC" },
    { weights: [1, 1, 1], expected: "ABCABC" },
    { weights: [1], expected: "AAA" },
    { weights: [100, 1], expected: `${"A".repeat(100)}B${"A".repeat(100)}B` },
    { weights: [], expected: "---" },
  ])("of weights $weights is $expected", ({ weights, expected }) => {
    expect(turns(wheelOf(...weights), expected.length)).toBe(expected);
  });

  it("previews the next turns and takes none", () => {
    const wheel = wheelOf(3, 2, 1);
    wheel.take();

    expect(wheel.preview(7).map(letter).join("")).toBe("AABBCAA");
    expect(turns(wheel, 7)).toBe("AABBCAA");
  });
});

describe("a key that rests", () => {
  it("gives its share to the others by their weights, not to its neighbour", () => {
    const wheel = wheelOf(3, 2, 1);
    wheel.setUsable(0, false);

    expect(turns(wheel, 9)).toBe("BBCBBCBBC");
  });

  it("is passed over without losing anybody's place, and comes back in its turn", () => {
    const wheel = wheelOf(3, 2, 1);
    expect(turns(wheel, 4)).toBe("AAAB");

    wheel.setUsable(0, false);
    expect(turns(wheel, 2)).toBe("BC");

    wheel.setUsable(0, true);
    expect(turns(wheel, 6)).toBe("AAABBC");
  });

  it("is named among those passed over", () => {
    const wheel = wheelOf(1, 1, 1);
    wheel.setUsable(0, false);
    wheel.setUsable(1, false);

    expect(wheel.passedOver(8)).toEqual([0, 1]);
    expect(wheel.take()).toBe(2);
  });

  it("leaves nothing to take when it was the last", () => {
    const wheel = wheelOf(2, 2);
    wheel.setUsable(0, false);
    wheel.setUsable(1, false);

    expect(wheel.take()).toBe(-1);
    expect(wheel.passedOver(8)).toEqual([0, 1]);
  });
});

describe("weights", () => {
  it("never serves a weight of 0, even when told that it is usable", () => {
    const wheel = wheelOf(0, 2, 0);

    expect(turns(wheel, 4)).toBe("BBBB");
    expect(turns(wheelOf(0, 0), 2)).toBe("--");
  });

  it("is done with a key whose weight was lowered below the turns it has had", () => {
    const wheel = new Wheel([2, 2], { position: 0, used: 4 });
    wheel.setUsable(0, true);
    wheel.setUsable(1, true);

    expect(turns(wheel, 5)).toBe("BBAAB");
  });
});

describe("a request that may not have the key whose turn it is", () => {
  it("is served by another and leaves the key its turn", () => {
    const wheel = wheelOf(2, 1, 1);

    expect(letter(wheel.take(new Set([0])))).toBe("B");
    expect(turns(wheel, 4)).toBe("AABC");
  });

  it("spreads over the others by weight when there are many", () => {
    const wheel = wheelOf(1, 2, 1);

    expect(turns(wheel, 6, new Set([0]))).toBe("BBCBBC");
  });

  it("gets nothing when it has tried them all", () => {
    expect(turns(wheelOf(1, 1), 1, new Set([0, 1]))).toBe("-");
  });
});
