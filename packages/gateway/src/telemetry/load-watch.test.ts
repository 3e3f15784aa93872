import { afterEach, expect, it } from "vitest";
import { availableBytes, LoadWatch } from "./load-watch.ts";

const open: LoadWatch[] = [];
afterEach(() => open.splice(0).forEach((watch) => watch.close()));

function aWatch(mostBytes = 64 * 1024 ** 3): LoadWatch {
  const watch = new LoadWatch(mostBytes);
  open.push(watch);
  return watch;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it("tells how late the event loop is, each time anew", async () => {
  const watch = aWatch();
  await pause(50);
  watch.read();
  // Whatever else this machine does, each round is late by this much at least.
  for (let round = 0; round < 4; round++) {
    block(200);
    await pause(1);
  }
  const busy = watch.read().loopDelayMs;
  await pause(300);
  const idle = watch.read().loopDelayMs;

  expect(busy).toBeGreaterThan(120);
  expect(idle).toBeLessThan(busy / 2);
});

it("counts what buffers hold", () => {
  const watch = aWatch(1024 ** 3);
  const before = watch.read().memoryShare;
  const held = Buffer.alloc(256 * 1024 ** 2);
  const during = watch.read().memoryShare;

  expect(during - before).toBeGreaterThan(0.2);
  expect(during - before).toBeLessThan(0.3);
  expect(held.length).toBe(256 * 1024 ** 2);
});

it("may use a part of what the machine has, and no more", () => {
  expect(availableBytes()).toBeGreaterThan(64 * 1024 ** 2);
  expect(availableBytes()).toBeLessThan(2 ** 50);
});
