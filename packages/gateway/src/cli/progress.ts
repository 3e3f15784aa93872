import { performance } from "node:perf_hooks";
import { displayWidth } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** Work that ends within this is over before anybody could read of it, ms. */
const patienceMs = 300;
const periodMs = 100;
const barWidth = 24;

/** What is shown of work while it goes on, and is gone afterwards. */
export interface Progress extends Disposable {
  /** How much of it is done; drawn with the next tick. */
  readonly at: (done: number, of?: number) => void;
}

/**
 * A line about work that takes a while, drawn on the standard error where somebody watches that; nothing at all elsewhere.
 *
 * @param words what is done, without an end: "Testing keys"
 * @param total of how many; undefined where that is not known: then the time is shown
 */
export function showProgress(
  terminal: Pick<Terminal, "canDraw" | "err" | "screen">,
  words: string,
  total?: number,
): Progress {
  if (!terminal.canDraw) return { at: () => {}, [Symbol.dispose]: () => {} };
  const beganAt = performance.now();
  let [done, all] = [0, total];
  let drawn = false;
  const draw = (): void => {
    const elapsedMs = performance.now() - beganAt;
    if (elapsedMs < patienceMs) return;
    terminal.err(`\r${lineOf({ words, done, all, elapsedMs }, terminal.screen.size().columns)}\u001b[K`);
    drawn = true;
  };
  const ticking = setInterval(draw, periodMs);
  ticking.unref();
  return {
    at(nowDone, of) {
      done = nowDone;
      all = of ?? all;
    },
    [Symbol.dispose]() {
      clearInterval(ticking);
      if (drawn) terminal.err("\r\u001b[K");
    },
  };
}

export interface ProgressState {
  readonly words: string;
  readonly done: number;
  readonly all: number | undefined;
  readonly elapsedMs: number;
}

/** `Testing keys [####········]  12 of 30`, no longer than the screen is wide; without the bar where that is narrow. */
export function lineOf({ words, done, all, elapsedMs }: ProgressState, columns: number): string {
  const seconds = `${Math.floor(elapsedMs / 1000)} s`;
  if (all === undefined || all === 0) return `${words} …  ${seconds}`.slice(0, columns - 1);
  const filled = Math.min(barWidth, Math.floor((done / all) * barWidth));
  const bar = `[${"#".repeat(filled)}${"·".repeat(barWidth - filled)}]`;
  const count = `${String(done).padStart(String(all).length)} of ${all}`;
  const whole = `${words} ${bar}  ${count}  ${seconds}`;
  return displayWidth(whole) < columns ? whole : `${words}  ${count}`.slice(0, columns - 1);
}
