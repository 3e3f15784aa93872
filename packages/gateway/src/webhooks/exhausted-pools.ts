import type { Clock } from "@keywheel/pool";
import type { ActivityEvent } from "../activity/events.ts";
import type { CatalogEvent } from "../catalog/events.ts";
import type { Store } from "../store/store.ts";
import type { PoolTold } from "./outbox.ts";

export interface ExhaustedPoolsDeps {
  readonly tell: (told: PoolTold) => void;
  readonly provider: (id: string) => { readonly id: string; readonly slug: string; readonly name: string } | undefined;
  /** Whether a request to the provider would find a key now. */
  readonly canServe: (providerId: string) => Promise<boolean>;
  readonly store: Pick<Store, "watchExhaustedPools" | "takeOverExhaustedPools">;
  readonly clock: Pick<Clock, "now">;
  /** Takes every secret out of a text. */
  readonly redact: (text: string) => string;
}

type NoticeEvent = Extract<ActivityEvent, { readonly type: "notice" }>;

/** What says that a pool has nothing left to serve with. */
const exhaustion: ReadonlySet<string> = new Set(["pool_exhausted", "no_usable_key", "all_keys_refused"]);

const lookEveryMs = 1_000;
/** So often it is said that a recovery is watched for, and looked for pools that nobody watches any more; … */
const watchEveryMs = 5_000;
/** … and so often where there is nothing to watch for. What a former process left is found in the first minute. */
const idleEveryMs = 30_000;
const firstMs = 60_000;
/** Whoever has not said so for longer is gone. */
const unwatchedMs = 15_000;

/**
 * Tells that a pool has nothing left to serve with, and that it has again: each once.
 *
 * That it was told lies in the store. So the recovery is told after a restart as well, by the process that comes next or by
 * another gateway on the same database; and of gateways that see the same one tells of it.
 */
export class ExhaustedPools {
  readonly #deps: ExhaustedPoolsDeps;
  /** Providers whose recovery this process watches for. */
  readonly #watched = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #watchedAt = -Infinity;
  readonly #startedAt: number;

  constructor(deps: ExhaustedPoolsDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
  }

  /** Takes up what a former process has left. */
  start(): void {
    this.#timer = setInterval(() => void this.look(), lookEveryMs).unref();
  }

  /** Runs on the request path: quick, and never throws. */
  notice({ code, providerId, message, facts, resolvedAt, at }: NoticeEvent): void {
    // That a notice is over does not say that there is a key: it may only not have been seen for a while.
    if (providerId === undefined || resolvedAt !== undefined || !exhaustion.has(code)) return;
    if (this.#watched.has(providerId)) return;
    const provider = this.#deps.provider(providerId);
    if (provider === undefined) return;
    this.#watched.add(providerId);
    const keys = { total: facts.total ?? facts.keys ?? null, resting: facts.resting ?? null };
    const data = { provider, reason: code, message: this.#deps.redact(message), keys };
    this.#deps.tell({ turn: { providerId, isExhausted: true, at }, type: "pool.exhausted", data, at });
  }

  catalogEvent(event: CatalogEvent): void {
    if (event.type === "provider-deleted") this.#watched.delete(event.providerId);
  }

  /** Looks whether pools have recovered. Never rejects; a call while one is under way waits for that one. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  /** May be called twice. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    await this.#takeOver();
    await Promise.all([...this.#watched].map((providerId) => this.#lookAt(providerId)));
  }

  async #lookAt(providerId: string): Promise<void> {
    try {
      if (!(await this.#deps.canServe(providerId))) return;
    } catch {
      // It is looked at again in a second; who asks for a key is told what is wrong.
      return;
    }
    const provider = this.#deps.provider(providerId);
    if (!this.#watched.delete(providerId) || provider === undefined) return;
    const at = this.#deps.clock.now();
    this.#deps.tell({ turn: { providerId, isExhausted: false, at }, type: "pool.recovered", data: { provider }, at });
  }

  async #takeOver(): Promise<void> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const isIdle = this.#watched.size === 0 && now - this.#startedAt > firstMs;
    if (now - this.#watchedAt < (isIdle ? idleEveryMs : watchEveryMs)) return;
    this.#watchedAt = now;
    try {
      await store.watchExhaustedPools([...this.#watched], now);
      const taken = await store.takeOverExhaustedPools({ unwatchedSince: now - unwatchedMs, now });
      for (const providerId of taken) this.#watched.add(providerId);
    } catch {
      // The store says itself that it is away; what it holds is there when it is back.
    }
  }
}
