import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BindingTable } from "./binding-table.ts";
import { fingerprint } from "./fingerprint.ts";

const dayMs = 86_400_000;

describe("BindingTable", () => {
  it("answers as a plain map does, whatever is bound, moved and ended", () => {
    const command = fc.record({ id: fc.nat(400), slot: fc.integer({ min: -1, max: 9 }) });
    fc.assert(
      fc.property(fc.array(command, { maxLength: 600 }), (commands) => {
        const table = new BindingTable(10_000);
        const twin = new Map<number, number>();
        for (const { id, slot } of commands) {
          const key = fingerprint(`session ${id}`);
          const before = twin.get(id);
          if (slot === -1) twin.delete(id);
          else twin.set(id, slot);
          if (slot !== -1) table.bind(key, slot, 1);
          const ended = slot === -1 && table.end(key);
          expect(ended).toBe(slot === -1 && before !== undefined);
        }
        for (let id = 0; id <= 400; id++) expect(table.peek(fingerprint(`session ${id}`))).toBe(twin.get(id) ?? -1);
        for (let slot = 0; slot < 10; slot++) {
          expect(table.countOf(slot)).toBe([...twin.values()].filter((each) => each === slot).length);
        }
        expect(table.size).toBe(twin.size);
      }),
      { numRuns: 50 },
    );
  });

  it("ends a binding after the idle time since its last use, not since it was made (case 82)", () => {
    const table = new BindingTable(100);
    const key = fingerprint("s");
    table.bind(key, 3, 0);

    for (let now = dayMs / 2; now <= 5 * dayMs; now += dayMs / 2) expect(table.use(key, now, dayMs)).toBe(3);
    expect(table.use(key, 6 * dayMs + 1, dayMs)).toBe(-1);
    expect(table.size).toBe(0);
    expect(table.countOf(3)).toBe(0);
  });

  it("holds a million bindings in bounded memory, and newcomers push out the least recently used (case 81)", () => {
    const table = new BindingTable(1_000_000);
    for (let id = 0; id < 1_200_000; id++) table.bind(fingerprint(`session ${id}`), id % 3, id);

    expect(table.size).toBeGreaterThan(1_000_000);
    expect(table.bytes).toBeLessThan(1_000_000 * 60);
    let recent = 0;
    for (let id = 1_190_000; id < 1_200_000; id++) if (table.peek(fingerprint(`session ${id}`)) === id % 3) recent++;
    expect(recent).toBeGreaterThan(9_990);

    for (let id = 1_200_000; id < 5_000_000; id++) table.bind(fingerprint(`session ${id}`), id % 3, id);
    expect(table.bytes).toBeLessThan(1_000_000 * 60);
    expect(table.countOf(0) + table.countOf(1) + table.countOf(2)).toBe(table.size);
  }, 60_000);
});

describe("fingerprint", () => {
  it("keeps a million ids apart, spread evenly over buckets", () => {
    const seen = new Set<string>();
    const buckets = new Uint32Array(256);
    for (let id = 0; id < 1_000_000; id++) {
      const { high, low } = fingerprint(`0193a5f0-7c1e-7000-8000-${id.toString(16).padStart(12, "0")}`);
      seen.add(`${high} ${low}`);
      buckets[low & 255] = (buckets[low & 255] ?? 0) + 1;
    }

    expect(seen.size).toBe(1_000_000);
    expect(Math.max(...buckets) / Math.min(...buckets)).toBeLessThan(1.3);
  }, 60_000);

  it("differs by seed", () => {
    expect(fingerprint("a", 1)).not.toEqual(fingerprint("a", 2));
  });
});
