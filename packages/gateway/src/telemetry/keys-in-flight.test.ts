import { expect, it } from "vitest";
import { KeysInFlight, sumCounts } from "./keys-in-flight.ts";

it("counts a request for the key that it is with now, until it ends", () => {
  const keys = new KeysInFlight();

  keys.asks("req_1", "key_a");
  keys.asks("req_2", "key_a");
  keys.asks("req_1", "key_b");
  expect(keys.counts()).toEqual(
    new Map([
      ["key_a", 1],
      ["key_b", 1],
    ]),
  );

  keys.ended("req_1");
  keys.ended("req_2");
  expect(keys.counts()).toEqual(new Map());
});

it("has nothing to count of a request that was refused before any key was asked", () => {
  const keys = new KeysInFlight();

  keys.ended("req_1");

  expect(keys.counts()).toEqual(new Map());
});

it("adds up what several processes have under way", () => {
  expect(
    sumCounts([
      new Map([["key_a", 1]]),
      new Map([
        ["key_a", 2],
        ["key_b", 3],
      ]),
    ]),
  ).toEqual(
    new Map([
      ["key_a", 3],
      ["key_b", 3],
    ]),
  );
});
