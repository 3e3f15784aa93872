import type { OwnError } from "@keywheel/pool";
import { LoadGuard } from "../../data-plane/load-guard.ts";
import type { Log } from "../../telemetry/log.ts";
import { availableBytes, type LoadState, LoadWatch } from "../../telemetry/load-watch.ts";
import { connectionLimits } from "./open-files.ts";

export interface LoadRoomOptions {
  /** What the operator allows to be under way at once; default: as much as open files do. */
  readonly maxRequests?: number | undefined;
  /** What the operator lets this process use, MiB; default: three quarters of the machine's. */
  readonly maxMemoryMb?: number | undefined;
  readonly log: Log;
}

/** Whoever watches that the machine can carry what comes. */
export interface LoadRoom {
  readonly mostRunning: number;
  readonly mostConnections: number;
  /** What bodies of all requests together may take. */
  readonly bodyBytes: number;
  readonly state: () => LoadState;
  /** @param running requests under way, the one that asks included */
  readonly refusal: (running: number) => OwnError | undefined;
  readonly close: () => void;
}

const sampleEveryMs = 500;
const mostBodyBytes = 512 * 1024 * 1024;

export function openLoad({ maxRequests, maxMemoryMb, log }: LoadRoomOptions): LoadRoom {
  const limits = connectionLimits(maxRequests);
  const mostBytes = maxMemoryMb === undefined ? availableBytes() : maxMemoryMb * 1024 * 1024;
  const watch = new LoadWatch(mostBytes);
  const guard = new LoadGuard({ mostRunning: limits.mostRunning, now: () => performance.now() });
  let refused = 0;
  let told: LoadState["reason"];
  const sample = (): void => {
    guard.observe(watch.read());
    const { reason, loopDelayMs, memoryShare } = guard.state;
    if (reason === told) return;
    told = reason;
    const figures = { loopDelayMs: Math.round(loopDelayMs), memoryPercent: Math.round(memoryShare * 100) };
    // As loud as the beginning: who was told of that is to be told of the end.
    if (reason === undefined) log.warn({ ...figures, refused }, "No longer overloaded");
    else log.warn({ reason, ...figures, limit: limits.mostRunning }, "Overloaded: new requests are refused with 503");
    if (reason === undefined) refused = 0;
  };
  const timer = setInterval(sample, sampleEveryMs).unref();
  return {
    ...limits,
    bodyBytes: Math.min(mostBodyBytes, Math.floor(mostBytes / 4)),
    state: () => guard.state,
    refusal: (running) => {
      const error = guard.refusal(running);
      if (error !== undefined) refused++;
      return error;
    },
    close: () => {
      clearInterval(timer);
      watch.close();
    },
  };
}
