import { expect, it } from "vitest";
import type { KeyTestResult } from "../contract/key.ts";
import { mostTestsAtOnce, testMany } from "./key-tests.ts";

const ids = Array.from({ length: 100 }, (_, at) => `key_${at}`);
const outcome = (ok: boolean): KeyTestResult => ({
  ok,
  http_status: ok ? 200 : 401,
  code: "",
  message: null,
  duration_ms: 1,
});
const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("tries every key once, a few at a time, and answers in their order", async () => {
  let running = 0;
  let most = 0;
  const tried: string[] = [];

  const results = await testMany(
    ids,
    async (id) => {
      tried.push(id);
      most = Math.max(most, ++running);
      // The later ones are quicker.
      for (let turns = 100 - tried.length; turns > 0; turns--) await turnOfLoop();
      running--;
      return outcome(id.endsWith("7"));
    },
    new AbortController().signal,
  );

  expect(most).toBe(mostTestsAtOnce);
  expect(tried).toEqual(ids);
  expect(results.map(({ id }) => id)).toEqual(ids);
  expect(results.filter(({ ok }) => ok)).toHaveLength(10);
});

it("tries no further key once nobody waits for it", async () => {
  const abort = new AbortController();
  const tried: string[] = [];

  const results = await testMany(
    ids,
    async (id) => {
      tried.push(id);
      if (tried.length === 20) abort.abort();
      await turnOfLoop();
      return outcome(true);
    },
    abort.signal,
  );

  expect(tried.length).toBeLessThan(20 + mostTestsAtOnce);
  expect(results.map(({ id }) => id)).toEqual(tried);
});

it("does nothing where no key is meant", async () => {
  expect(await testMany([], () => Promise.reject(new Error("none")), new AbortController().signal)).toEqual([]);
});
