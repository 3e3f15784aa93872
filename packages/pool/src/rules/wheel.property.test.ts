import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Wheel } from "./wheel.ts";

const weights = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 40 });

describe("Wheel", () => {
  it("serves each usable key exactly its weight in any window of one cycle, after any history of changes", () => {
    const history = fc.array(fc.oneof(fc.constant("turn" as const), fc.tuple(fc.nat(39), fc.boolean())), {
      maxLength: 120,
    });
    fc.assert(
      fc.property(weights, history, (weights, history) => {
        const wheel = new Wheel(weights);
        const usable = weights.map(() => true);
        weights.forEach((_, position) => wheel.setUsable(position, true));
        for (const step of history) {
          if (step === "turn") wheel.take();
          else if (step[0] < weights.length) {
            usable[step[0]] = step[1];
            wheel.setUsable(step[0], step[1]);
          }
        }
        const expected = weights.map((weight, position) => (usable[position] ? weight : 0));
        const cycle = expected.reduce((sum, weight) => sum + weight, 0);
        const served = weights.map(() => 0);
        for (let turn = 0; turn < cycle; turn++) {
          const position = wheel.take();
          served[position] = (served[position] ?? 0) + 1;
        }

        expect(served).toEqual(expected);
        expect(wheel.take() === -1).toBe(cycle === 0);
      }),
    );
  });

  it("never picks an unusable or excluded key, and previews what it then does", () => {
    const changes = fc.array(fc.tuple(fc.nat(39), fc.boolean(), fc.array(fc.nat(39), { maxLength: 4 })), {
      maxLength: 100,
    });
    fc.assert(
      fc.property(weights, changes, (weights, changes) => {
        const wheel = new Wheel(weights);
        const usable = new Set<number>();
        for (const [at, present, excludedList] of changes) {
          const position = at % weights.length;
          wheel.setUsable(position, present);
          if (present) usable.add(position);
          else usable.delete(position);
          const excluded = new Set(excludedList.map((each) => each % weights.length));
          const free = [...usable].filter((each) => !excluded.has(each));
          const previewed = wheel.preview(1)[0] ?? -1;

          const picked = wheel.take(excluded);

          expect(free.length === 0 ? [-1] : free).toContain(picked);
          expect(excluded.has(previewed) ? previewed : picked).toBe(previewed);
        }
      }),
    );
  });
});
