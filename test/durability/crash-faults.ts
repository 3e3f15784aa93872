import { closeSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { FaultSpan } from "./crash-model.ts";
import type { Dice } from "./dice.ts";
import type { FaultyDisk } from "./faulty-disk.ts";

/** `none` leaves time for what is written a little later; `refusals` begins with a disk that refuses writes. */
export type FaultPlan = "none" | "refusals" | "dice";

export interface FaultOptions {
  readonly plan: FaultPlan;
  readonly databaseFile: string;
  readonly disk: FaultyDisk;
  readonly dice: Dice;
  readonly isOver: () => boolean;
  /** A folder on the same small file system, to be filled up; undefined where the disk is not ours to fill. */
  readonly fillable: string | undefined;
}

/** Puts something in the way of the database now and then, until the process is killed. */
export async function faultsUntilKilled(options: FaultOptions, spans: FaultSpan[]): Promise<void> {
  const { plan, dice, isOver, fillable } = options;
  if (plan === "none") return;
  if (plan === "refusals") await oneFault("read-only", 3_000, options, spans);
  const kinds = ["locked", "full", "read-only", ...(fillable === undefined ? [] : ["filled", "filled"])];
  // In every other life there is peace enough for what is written a little later.
  const longestPeaceMs = dice.pick([600, 4_000]);
  while (!isOver()) {
    await sleepUnless(isOver, dice.between(0, longestPeaceMs));
    if (isOver()) return;
    const kind = dice.pick(kinds);
    // Now and then longer than the two seconds that a request waits for its database.
    const lengthMs = dice.next() < 0.2 ? dice.between(2_500, 4_000) : dice.between(50, 900);
    await oneFault(kind, lengthMs, options, spans);
  }
}

async function oneFault(kind: string, lengthMs: number, options: FaultOptions, spans: FaultSpan[]): Promise<void> {
  const span = { kind, from: performance.now(), to: Infinity };
  spans.push(span);
  await during(kind, lengthMs, options);
  span.to = performance.now();
}

async function during(kind: string, lengthMs: number, options: FaultOptions): Promise<void> {
  const { disk, isOver } = options;
  if (kind === "locked") return whileLocked(options.databaseFile, () => sleepUnless(isOver, lengthMs));
  if (kind === "filled") return whileFilled(options.fillable ?? "", () => sleepUnless(isOver, lengthMs));
  disk.set(kind === "full" ? "full" : "read-only");
  await sleepUnless(isOver, lengthMs);
  disk.set("well");
}

async function whileLocked(file: string, work: () => Promise<void>): Promise<void> {
  const other = new DatabaseSync(file);
  try {
    other.exec("PRAGMA busy_timeout = 100");
    other.exec("BEGIN EXCLUSIVE");
    await work();
    other.exec("ROLLBACK");
  } catch (error) {
    // The gateway writes just now: then it has the lock, and nothing is in its way.
    if (!(error instanceof Error && /locked/.test(error.message))) throw error;
  } finally {
    other.close();
  }
}

async function whileFilled(folder: string, work: () => Promise<void>): Promise<void> {
  const ballast = join(folder, "ballast");
  fill(ballast);
  try {
    await work();
  } finally {
    rmSync(ballast, { force: true });
  }
}

/** Writes until there is no room for one byte more. */
function fill(path: string): void {
  const descriptor = openSync(path, "w");
  try {
    for (const size of [1 << 20, 1 << 12, 1]) writeAll(descriptor, Buffer.alloc(size));
  } finally {
    closeSync(descriptor);
  }
}

function writeAll(descriptor: number, piece: Buffer): void {
  try {
    for (;;) writeSync(descriptor, piece);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  }
}

/** A disk so small that it must have been made to be filled. */
export function isFillable(folder: string): boolean {
  const { blocks, bsize } = statfsSync(folder);
  return blocks * bsize <= 64 * 1024 * 1024;
}

async function sleepUnless(isOver: () => boolean, ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (!isOver() && performance.now() < end) await sleep(Math.min(20, end - performance.now() + 1));
}
