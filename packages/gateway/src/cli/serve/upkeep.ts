import type { Clock } from "@keywheel/pool";
import type { Log } from "../../telemetry/log.ts";
import type { Activity } from "../../activity/activity.ts";
import type { SessionWriter } from "./session-writer.ts";

export interface UpkeepDeps {
  readonly sessions: Pick<SessionWriter, "flush">;
  readonly activity: Pick<Activity, "flush" | "prune">;
  readonly checkNotices: () => void;
  /** Every provider's id, and how long its sessions may be idle. */
  readonly idleTimes: () => Iterable<{ readonly providerId: string; readonly idleTtlMs: number }>;
  readonly deleteSessionsIdleSince: (providerId: string, before: number) => Promise<number>;
  /** Lets go of what has idled out in memory. */
  readonly sweepIdle: () => Promise<number>;
  /** Lets go of pins beyond what is kept. */
  readonly prunePins: (
    kind: "object" | "conversation",
    limits: { readonly keep: number; readonly before: number },
  ) => Promise<number>;
  readonly flushTokenUses: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  /** Default: `setInterval`, not keeping the process alive. @returns what ends it */
  readonly every?: (ms: number, work: () => void) => () => void;
}

/** What is lost of bindings and usage by a `kill -9` is less than a second (contract §4 rule 12). */
const sessionsEveryMs = 500;
const noticesEveryMs = 1000;
const tokensEveryMs = 5000;
const pruneEveryMs = 60_000;
/** Idle sessions are looked for this often at the least and at the most; between them ten times in an idle time. */
const idleEveryMs = { least: 1_000, most: 60_000 };
/** Providers keep files, batches and responses for a month or less unless told otherwise; twice that is enough. */
const objectsKeptMs = 60 * 86_400_000;
const pinsKept = 500_000;
/** A wall clock that jumps ahead by more than this is doubted for a while: what it makes old is not let go of yet. */
const jumpMs = 300_000;
const doubtMs = 3_600_000;

/** What has to be done again and again while the gateway runs, apart from the requests. */
export class Upkeep {
  readonly #deps: UpkeepDeps;
  readonly #ends: (() => void)[] = [];
  /** What runs now: a slow disk must not pile up calls of the same kind. */
  readonly #busy = new Set<string>();
  #lastIdleMono: number;
  #lastSeen: { readonly wall: number; readonly mono: number };
  #doubtedUntilMono = -Infinity;

  constructor(deps: UpkeepDeps) {
    this.#deps = deps;
    this.#lastIdleMono = deps.clock.monotonic();
    this.#lastSeen = this.#lookAtClock();
  }

  start(): void {
    const every = this.#deps.every ?? everyUnreferenced;
    this.#ends.push(
      every(sessionsEveryMs, () => {
        this.#once("sessions", () => this.#deps.sessions.flush());
        this.#once("activity", () => this.#deps.activity.flush());
      }),
      every(noticesEveryMs, () => this.#deps.checkNotices()),
      every(idleEveryMs.least, () => {
        if (this.#isClockSound() && this.#isIdleDue()) this.#once("idle sessions", () => this.removeIdle());
      }),
      every(tokensEveryMs, () => this.#once("token uses", () => this.#deps.flushTokenUses())),
      every(pruneEveryMs, () => {
        if (this.#isClockSound()) this.#once("old activity", () => this.#deps.activity.prune());
      }),
    );
  }

  /** Removes the sessions that were not used for as long as their provider's settings allow. */
  async removeIdle(): Promise<void> {
    this.#lastIdleMono = this.#deps.clock.monotonic();
    await this.#deps.sweepIdle();
    const now = this.#deps.clock.now();
    let longestIdleMs = 0;
    for (const { providerId, idleTtlMs } of this.#deps.idleTimes()) {
      longestIdleMs = Math.max(longestIdleMs, idleTtlMs);
      const count = await this.#deps.deleteSessionsIdleSince(providerId, now - idleTtlMs);
      if (count > 0) this.#deps.log.debug({ providerId, count }, "Removed idle sessions");
    }
    await this.#deps.prunePins("conversation", { keep: pinsKept, before: now - longestIdleMs });
    await this.#deps.prunePins("object", { keep: pinsKept, before: now - objectsKeptMs });
  }

  /** Ends the timers and writes down what is left; what cannot be written is lost. May be called twice. */
  async stop(): Promise<void> {
    for (const end of this.#ends.splice(0)) end();
    await this.#deps.sessions.flush();
    await this.#deps.activity.flush();
    await this.#deps.flushTokenUses().catch((error: unknown) => this.#warn("token uses", error));
  }

  /**
   * Whether the wall clock can be believed. One that was set wrong, for a minute, by a month, would have everything let go of
   * that is older; a machine that slept does no harm by keeping it an hour longer.
   */
  #isClockSound(): boolean {
    const before = this.#lastSeen;
    this.#lastSeen = this.#lookAtClock();
    const { wall, mono } = this.#lastSeen;
    const aheadMs = wall - before.wall - (mono - before.mono);
    if (aheadMs > jumpMs) this.#doubtedUntilMono = mono + doubtMs;
    else if (aheadMs < -jumpMs) this.#doubtedUntilMono = -Infinity;
    return mono >= this.#doubtedUntilMono;
  }

  #lookAtClock(): { readonly wall: number; readonly mono: number } {
    return { wall: this.#deps.clock.now(), mono: this.#deps.clock.monotonic() };
  }

  #isIdleDue(): boolean {
    let shortestMs = Infinity;
    for (const { idleTtlMs } of this.#deps.idleTimes()) shortestMs = Math.min(shortestMs, idleTtlMs);
    const everyMs = Math.min(Math.max(shortestMs / 10, idleEveryMs.least), idleEveryMs.most);
    return this.#deps.clock.monotonic() - this.#lastIdleMono >= everyMs;
  }

  #once(what: string, work: () => Promise<unknown>): void {
    if (this.#busy.has(what)) return;
    this.#busy.add(what);
    void work()
      .catch((error: unknown) => this.#warn(what, error))
      .finally(() => this.#busy.delete(what));
  }

  #warn(what: string, error: unknown): void {
    this.#deps.log.warn({ err: error, what }, "The database did not take what is written down regularly");
  }
}

function everyUnreferenced(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms).unref();
  return () => clearInterval(timer);
}
