import { describe, expect, it } from "vitest";
import { fingerprint } from "./fingerprint.ts";
import { SharedValues } from "./shared-values.ts";

const value = fingerprint("my-app");
const start = Date.UTC(2026, 0, 1);
const minute = 60_000;
const day = 24 * 60 * minute;

function opened(values: SharedValues, from: number, count: number, now = start): boolean[] {
  return Array.from({ length: count }, (_, i) => values.isShared(value, fingerprint(`question ${from + i}`), now));
}

describe("a value that conversations send", () => {
  it("is shared from the ninth conversation within ten minutes on, and then for all of them", () => {
    const values = new SharedValues();
    expect(opened(values, 0, 8)).toEqual(Array.from({ length: 8 }, () => false));
    expect(opened(values, 8, 1)).toEqual([true]);
    expect(opened(values, 0, 3)).toEqual([true, true, true]);
    expect(values.isShared(value, undefined, start)).toBe(true);
    expect(values.isShared(fingerprint("another"), fingerprint("question 0"), start)).toBe(false);
  });

  it("is one conversation's own, however many requests it has", () => {
    const values = new SharedValues();
    for (let turn = 0; turn < 100; turn++) expect(opened(values, turn % 3, 1)).toEqual([false]);
    for (let turn = 0; turn < 100; turn++) expect(values.isShared(value, undefined, start)).toBe(false);
  });

  it("may name one conversation after another", () => {
    const values = new SharedValues();
    for (let conversation = 0; conversation < 50; conversation++) {
      expect(opened(values, conversation, 1, start + conversation * 2 * minute)).toEqual([false]);
    }
  });

  it("stays shared while it is sent, and is forgotten after a day", () => {
    const values = new SharedValues();
    opened(values, 0, 9);
    expect(opened(values, 0, 1, start + day)).toEqual([true]);
    expect(opened(values, 0, 1, start + 2 * day + 1)).toEqual([false]);
  });

  it("is forgotten first if it was not seen for longest, when there are too many", () => {
    const values = new SharedValues();
    opened(values, 0, 9);
    const others = (count: number): void => {
      for (let i = 0; i < count; i++) values.isShared(fingerprint(`other ${i}`), undefined, start);
    };
    others(9_999);
    expect(opened(values, 0, 1)).toEqual([true]);
    others(10_000);
    expect(opened(values, 0, 1)).toEqual([false]);
  });
});
