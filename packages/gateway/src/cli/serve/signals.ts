import { constants } from "node:os";

/** Not SIGHUP: a handler of ours would undo `nohup`. */
const stopSignals = ["SIGTERM", "SIGINT"] as const;

/** A launcher and a terminal may both hand on one and the same wish to stop. */
const sameWishMs = 1000;

export interface StopActions {
  /** Begins the stop, once. */
  readonly stop: (signal: NodeJS.Signals) => Promise<void>;
  /** Called at the second signal: do not wait any longer. */
  readonly cut: () => void;
}

/** Waits for a signal to stop, and settles when that is done. A second one cuts short, a third one ends the process. */
export function onStopSignal({ stop, cut }: StopActions): Promise<void> {
  return new Promise((resolve, reject) => {
    let count = 0;
    let lastAt = 0;
    const onSignal = (signal: NodeJS.Signals): void => {
      const now = performance.now();
      if (count > 0 && now - lastAt < sameWishMs) return;
      lastAt = now;
      count++;
      if (count === 1) stop(signal).then(resolve, reject);
      else if (count === 2) cut();
      else process.exit(128 + constants.signals[signal]);
    };
    for (const signal of stopSignals) process.on(signal, onSignal);
  });
}
