import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { onStopSignal } from "./signals.ts";

const signals = ["SIGTERM", "SIGINT"] as const;
let before: Function[] = [];

beforeEach(() => {
  before = signals.flatMap((signal) => process.listeners(signal));
  vi.useFakeTimers();
});

afterEach(() => {
  for (const signal of signals) {
    for (const listener of process.listeners(signal)) if (!before.includes(listener)) process.off(signal, listener);
  }
  vi.useRealTimers();
});

it("stops once for a wish that a launcher and a terminal both hand on, and cuts short at a second one", () => {
  const said: string[] = [];
  void onStopSignal({
    stop: (signal) => {
      said.push(`stop ${signal}`);
      return new Promise(() => {});
    },
    cut: () => said.push("cut"),
  });

  process.emit("SIGINT", "SIGINT");
  process.emit("SIGTERM", "SIGTERM");
  vi.advanceTimersByTime(1500);
  process.emit("SIGINT", "SIGINT");

  expect(said).toEqual(["stop SIGINT", "cut"]);
});

it("settles when the stop has ended, and fails with it", async () => {
  const failing = onStopSignal({ stop: () => Promise.reject(new Error("no disk")), cut: () => {} });

  process.emit("SIGTERM", "SIGTERM");

  await expect(failing).rejects.toThrow("no disk");
});
