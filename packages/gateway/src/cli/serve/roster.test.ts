import fc from "fast-check";
import { expect, it } from "vitest";
import { Roster } from "./roster.ts";

it("holds what was added and not removed, whatever the order", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 12 })), { maxLength: 80 }), (steps) => {
      const items = Array.from({ length: 13 }, (_, id) => ({ id, place: 0 }));
      const roster = new Roster<(typeof items)[number]>();
      const expected = new Set<number>();
      for (const [adds, id] of steps) {
        const item = items[id];
        if (item === undefined) continue;
        if (!adds) roster.remove(item);
        else if (!expected.has(id)) roster.add(item);
        if (adds) expected.add(id);
        else expected.delete(id);
      }

      expect(roster.size).toBe(expected.size);
      expect(new Set(roster.list().map(({ id }) => id))).toEqual(expected);
    }),
  );
});

it("lists what is in it as it is asked, so that what is listed may be removed", () => {
  const roster = new Roster();
  for (let count = 0; count < 3; count++) roster.add({ place: 0 });

  for (const item of roster.list()) roster.remove(item);

  expect(roster.size).toBe(0);
});
