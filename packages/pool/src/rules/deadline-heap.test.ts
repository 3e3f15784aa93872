import fc from "fast-check";
import { expect, it } from "vitest";
import { DeadlineHeap } from "./deadline-heap.ts";

it("gives what is due soonest first, and nothing that is not", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000)), fc.nat(1_000), (deadlines, now) => {
      const heap = new DeadlineHeap<number>();
      for (const at of deadlines) heap.add(at, at);

      const taken: number[] = [];
      for (let item = heap.takeDue(now); item !== undefined; item = heap.takeDue(now)) taken.push(item);

      expect(taken).toEqual(deadlines.filter((at) => at <= now).sort((a, b) => a - b));
      expect(heap.size).toBe(deadlines.length - taken.length);
    }),
  );
});
