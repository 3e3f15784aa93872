import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { queryKeys } from "../api/query-keys.ts";
import { Refresher } from "./refresher.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const finished = { id: "1", type: "request-finished", at: "2026-01-01T00:00:00.000Z" } as const;

/** A page that shows usage, whose answer takes `answerMs` to come. */
function aPage(answerMs: number) {
  const client = new QueryClient();
  let asked = 0;
  const observer = new QueryObserver(client, {
    queryKey: queryKeys.usage,
    queryFn: async () => {
      const number = ++asked;
      await new Promise((answer) => setTimeout(answer, answerMs));
      return number;
    },
  });
  const stop = observer.subscribe(() => undefined);
  return { client, stop, asked: () => asked, shown: () => observer.getCurrentResult().data };
}

it("asks anew for what an event made out of date", async () => {
  const page = aPage(10);
  const refresher = new Refresher(page.client);
  await vi.advanceTimersByTimeAsync(100);

  refresher.note(finished);
  await vi.advanceTimersByTimeAsync(400);

  expect([page.asked(), page.shown()]).toEqual([2, 2]);
  page.stop();
});

// Under steady traffic an answer that took longer than the pause between two refreshes was begun anew before it came, and
// the page stood still for as long as the traffic lasted.
it("lets a slow answer come while events go on, and asks again after it", async () => {
  const page = aPage(1_000);
  const refresher = new Refresher(page.client);
  await vi.advanceTimersByTimeAsync(1_100);

  for (let at = 0; at < 5_000; at += 50) {
    refresher.note(finished);
    await vi.advanceTimersByTimeAsync(50);
  }
  expect(page.shown()).toBeGreaterThanOrEqual(4);
  await vi.advanceTimersByTimeAsync(3_000);

  expect(page.shown()).toBe(page.asked());
  page.stop();
});

it("looks again after a first answer that was under way when the event came", async () => {
  const page = aPage(500);
  const refresher = new Refresher(page.client);

  refresher.note(finished);
  await vi.advanceTimersByTimeAsync(2_000);

  expect([page.asked(), page.shown()]).toEqual([2, 2]);
  page.stop();
});

it("asks for nothing more once it is stopped", async () => {
  const client = new QueryClient();
  void client.query({ queryKey: queryKeys.keys("prv_a"), queryFn: () => new Promise(() => undefined) });
  const refresher = new Refresher(client);
  refresher.noteKeys("prv_a", ["key_a"]);
  await vi.advanceTimersByTimeAsync(100);

  refresher.stop();

  expect(vi.getTimerCount()).toBe(0);
});
