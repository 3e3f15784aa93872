import { setTimeout as pause } from "node:timers/promises";
import type { PoolEvent } from "@keywheel/pool";
import { expect, it } from "vitest";
import { Relay } from "./relay.ts";
import type { Doings } from "./subjects.ts";

const recovered = (keyId: string): PoolEvent => ({ type: "key-recovered", poolId: "p", keyId, at: 1 });
const keysOf = (doings: Doings): string[] =>
  doings.events.map((event) => (event.type === "key-recovered" ? event.keyId : ""));

function aRelay(send: (doings: Doings) => Promise<unknown>, uses: Doings["tokenUses"] = []) {
  let lost = 0;
  const relay = new Relay({ send, takeUses: () => uses, onLost: (count) => (lost += count) });
  return { relay, lost: () => lost };
}

it("tells many at once, in their order, a few milliseconds later", async () => {
  const sent: Doings[] = [];
  const { relay } = aRelay(async (doings) => sent.push(doings));

  for (const key of ["a", "b", "c"]) relay.event(recovered(key));
  expect(sent).toEqual([]);
  await pause(50);

  expect(sent.map(keysOf)).toEqual([["a", "b", "c"]]);
});

it("sends one batch after the other, and settles when all are taken", async () => {
  const taken: string[][] = [];
  const { relay } = aRelay(async (doings) => {
    await pause(20);
    taken.push(keysOf(doings));
  });

  relay.event(recovered("a"));
  const first = relay.flush();
  relay.event(recovered("b"));
  await Promise.all([first, relay.flush()]);

  expect(taken).toEqual([["a"], ["b"]]);
});

it("sends nothing when there is nothing, and goes on afterwards", async () => {
  let count = 0;
  const { relay } = aRelay(async () => count++);

  await relay.flush();
  await relay.flush();
  relay.event(recovered("a"));
  await relay.flush();

  expect(count).toBe(1);
});

it("tells of tokens that were used, though nothing else happened", async () => {
  const sent: Doings[] = [];
  const { relay } = aRelay(async (doings) => sent.push(doings), [{ id: "tok_1", at: 5 }]);

  await relay.flush();

  expect(sent).toEqual([{ events: [], requests: [], tokenUses: [{ id: "tok_1", at: 5 }] }]);
});

it("holds no more than it may while nobody takes anything, and says what it lets go of", async () => {
  const { relay, lost } = aRelay(() => new Promise(() => {}));
  relay.event(recovered("first"));
  void relay.flush();

  for (let count = 0; count < 120_000; count++) relay.event(recovered("x"));

  expect(lost()).toBeGreaterThanOrEqual(70_000);
  expect(lost()).toBeLessThan(80_000);
});
