import { randomBytes } from "node:crypto";
import type { Clock, Fingerprint, KeyEntry, ViewedState, StatePolicy } from "@keywheel/pool";
import { newSharedPool, type SharedPool, signatureOf, takeAnswer, takePush, wireConfiguration } from "./shared-pool.ts";
import type { StateLink } from "./state-link.ts";
import { type Answer, bindingName, type Push, toWireCell } from "./wire.ts";
import { within } from "./within.ts";

export interface SharedPoolsOptions {
  readonly memory: ViewedState;
  readonly clock: Clock;
  /** How long a decision is waited for before it is made here. */
  readonly patienceMs: number;
  /** Called when the server goes away (with why) and when it is back (undefined). */
  readonly onTrouble: (trouble: string | undefined) => void;
  /** Called when everything is in step again. */
  readonly onBack: () => void;
}

/** What a question to a pool carries. */
export interface Asked {
  readonly body?: unknown;
  /** Names of bindings that it is about. */
  readonly names?: readonly string[];
  readonly patienceMs?: number;
}

/** What bringing everything back into step may take at the most before it is tried again. */
const syncMs = 2_000;
const retryMs = 100;
const lookMs = 10;
const beatMs = 1_000;
/** A pool is forgotten when nobody has kept it for 30 days. */
const keepMs = 60_000;
const cellsAtOnce = 200;
const mostEnded = 10_000;

/**
 * The pools at the server, and this process's view of them.
 *
 * Nobody waits for a server that is away: a question is then answered with undefined, and decided in memory. When it is
 * back, first what was decided here is told (no failure is forgotten, no deadline moved back), then what others did is
 * taken up, and only then is the server asked again.
 */
export class SharedPools {
  readonly #options: SharedPoolsOptions;
  readonly #pools = new Map<string, SharedPool>();
  #link: StateLink | undefined;
  #isUp = false;
  #trouble: string | undefined = "not connected yet";
  #isRecovering = false;
  #isClosed = false;
  readonly #beat: NodeJS.Timeout;
  /** Names this process where it tells others. */
  readonly #self = randomBytes(6).toString("hex");

  constructor(options: SharedPoolsOptions) {
    this.#options = options;
    this.#beat = setInterval(() => void this.#checkPools(), beatMs);
    this.#beat.unref();
  }

  /** Why decisions are made here alone; undefined while they are shared. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  use(link: StateLink): void {
    this.#link = link;
    void this.#recover();
  }

  /** Settles when decisions are shared, or after `ms`. */
  async waitUntilShared(ms: number): Promise<void> {
    const till = performance.now() + ms;
    while (this.#trouble !== undefined && performance.now() < till) await pause(10);
  }

  async configure(id: string, keys: readonly KeyEntry[], policy: StatePolicy): Promise<void> {
    const known = this.#pools.get(id);
    if (known === undefined) this.#pools.set(id, newSharedPool(id, keys, policy));
    else Object.assign(known, { keys, policy, signature: signatureOf(keys, policy) });
    const pool = this.#pools.get(id);
    if (pool === undefined || !this.#isUp) return;
    try {
      await this.#bringIntoStep(pool);
    } catch (error) {
      this.lose(error);
    }
  }

  async remove(id: string): Promise<void> {
    if (!this.#pools.delete(id) || !this.#isUp || this.#link === undefined) return;
    try {
      await within(this.#link.remove(id), this.#options.patienceMs);
    } catch (error) {
      this.lose(error);
    }
  }

  affinityOf(id: string): StatePolicy["affinity"] | undefined {
    return this.#pools.get(id)?.policy.affinity;
  }

  /** One decision of the server's, taken up here. @returns undefined if it must be made here */
  async ask(id: string, decision: string, asked: Asked = {}): Promise<Answer | undefined> {
    const pool = this.#pools.get(id);
    if (pool === undefined || !this.#isUp || !pool.isInStep) return undefined;
    try {
      const answer = await this.#run(pool, decision, asked);
      if (answer.n === pool.born) return answer;
      void this.#bringBack(pool);
    } catch (error) {
      this.lose(error);
    }
    return undefined;
  }

  /** Something was decided here without the server: it is told when it is back. */
  hasNews(id: string): void {
    const pool = this.#pools.get(id);
    if (pool !== undefined) pool.hasNews = true;
  }

  /** What was stored is taken up here: the server may not know it. */
  retell(id: string): void {
    const pool = this.#pools.get(id);
    if (pool === undefined || pool.hasNews) return;
    pool.hasNews = true;
    setImmediate(() => void this.#retellNow(pool));
  }

  /** A session was ended without the server. */
  hasEnded(id: string, session: Fingerprint): void {
    const pool = this.#pools.get(id);
    if (pool === undefined || pool.ended.size >= mostEnded) return;
    pool.ended.set(bindingName("s", session), session);
    pool.hasNews = true;
  }

  /** Takes up all that others did up to `version`. */
  async catchUp(id: string, version: number): Promise<void> {
    const pool = this.#pools.get(id);
    if (pool === undefined || pool.seen >= version) return;
    await this.ask(id, "pull", { body: { since: pool.seen }, patienceMs: syncMs });
  }

  /** What another instance did. */
  takePush(push: Push): void {
    const pool = this.#pools.get(push.p);
    if (pool === undefined) return;
    try {
      this.#takePush(pool, push);
    } catch (error) {
      // It has our form and is none of ours: all is asked for anew.
      this.lose(error);
    }
  }

  /** The server does not answer as it should: decisions are made here until it does. */
  lose(cause: unknown): void {
    if (this.#isClosed) return;
    const why = cause instanceof Error ? cause.message : String(cause);
    this.#isUp = false;
    for (const pool of this.#pools.values()) pool.isInStep = false;
    if (this.#trouble === undefined) {
      this.#trouble = why;
      this.#options.onTrouble(why);
    }
    void this.#recover();
  }

  /** Why it cannot be reached, while it cannot. */
  explain(why: string): void {
    if (this.#trouble !== undefined) this.#trouble = why;
  }

  close(): void {
    this.#isClosed = true;
    this.#isUp = false;
    clearInterval(this.#beat);
    this.#link?.close();
  }

  #takePush(pool: SharedPool, push: Push): void {
    if (pool.isInStep && push.n !== pool.born) return void this.#bringBack(pool);
    const isGap = takePush(pool, this.#options.memory, { push, isOwn: push.o === this.#self });
    if (isGap) void this.catchUp(pool.id, push.v);
  }

  async #recover(): Promise<void> {
    if (this.#isRecovering) return;
    this.#isRecovering = true;
    while (!this.#isClosed && !(await this.#tryToRecover()))
      await pause(this.#link?.isReady === true ? retryMs : lookMs);
    this.#isRecovering = false;
  }

  async #tryToRecover(): Promise<boolean> {
    const link = this.#link;
    if (link?.isReady !== true) return false;
    try {
      const start = performance.now();
      await link.ping();
      const tookMs = Math.round(performance.now() - start);
      // Who is asked would be waited for in vain, again and again.
      if (tookMs > this.#options.patienceMs) throw new Error(`it answers only after ${tookMs} ms`);
      for (const pool of this.#pools.values()) await this.#bringIntoStep(pool);
    } catch (error) {
      this.explain(error instanceof Error ? error.message : String(error));
      return false;
    }
    const isComplete = [...this.#pools.values()].every((pool) => pool.isInStep && !pool.hasNews);
    if (!link.isReady || !isComplete || this.#isClosed) return false;
    const wasAway = this.#trouble !== undefined;
    this.#trouble = undefined;
    this.#isUp = true;
    if (wasAway) this.#options.onTrouble(undefined);
    this.#options.onBack();
    return true;
  }

  async #bringIntoStep(pool: SharedPool): Promise<void> {
    const patienceMs = syncMs;
    const { signature } = pool;
    await this.#run(pool, "configure", { body: wireConfiguration(pool), patienceMs });
    do {
      pool.hasNews = false;
      await this.#tellNews(pool);
      // It may be another pool, whose versions have begun anew.
      pool.taken.clear();
      const pulled = await this.#run(pool, "pull", { body: { since: 0 }, patienceMs });
      pool.told.clear();
      pool.born = pulled.n;
      pool.seen = pulled.v;
    } while (pool.hasNews);
    pool.isInStep = true;
    // It was configured once more meanwhile.
    if (pool.signature !== signature) await this.#bringIntoStep(pool);
  }

  async #tellNews(pool: SharedPool): Promise<void> {
    const patienceMs = syncMs;
    const moved = this.#options.memory.view.movedCells(pool.id);
    for (let at = 0; at < moved.length; at += cellsAtOnce) {
      const body = moved
        .slice(at, at + cellsAtOnce)
        .map(({ keyId, state }) => ({ id: keyId, cell: toWireCell(state) }));
      await this.#run(pool, "merge", { body, patienceMs });
    }
    for (const name of pool.ended.keys()) {
      await this.#run(pool, "end", { names: [name], patienceMs });
      pool.ended.delete(name);
    }
  }

  /** @throws if there is no answer in time, or none that makes sense */
  async #run(pool: SharedPool, decision: string, asked: Asked): Promise<Answer> {
    const { clock, patienceMs } = this.#options;
    if (this.#link === undefined) throw new Error("not connected yet");
    const { body, names = [] } = asked;
    const shape =
      decision === "configure" ? { signature: pool.signature, born: randomBytes(6).toString("hex") } : undefined;
    const call = { poolId: pool.id, decision, now: clock.now(), origin: this.#self, body, names };
    const running = this.#link.run(shape === undefined ? call : { ...call, shape });
    const answer = await within(running, asked.patienceMs ?? patienceMs);
    if (answer.missing === true) return answer;
    takeAnswer(pool, this.#options.memory, { answer, names: decision === "touch" ? [] : names });
    return answer;
  }

  /** The server has forgotten the pool: it was emptied, or another gateway has deleted the provider a moment ago. */
  async #bringBack(pool: SharedPool): Promise<void> {
    if (!this.#isUp || !pool.isInStep) return;
    pool.isInStep = false;
    try {
      await this.#bringIntoStep(pool);
    } catch (error) {
      this.lose(error);
    }
  }

  async #retellNow(pool: SharedPool): Promise<void> {
    if (!this.#isUp || !pool.isInStep || !pool.hasNews) return;
    try {
      await this.#bringIntoStep(pool);
    } catch (error) {
      this.lose(error);
    }
  }

  /** Keeps the pools alive, finds out what was missed, and that the server is silent. */
  async #checkPools(): Promise<void> {
    const link = this.#link;
    if (!this.#isUp || link === undefined) return;
    try {
      await within(link.ping(), syncMs);
    } catch (error) {
      return this.lose(error);
    }
    for (const pool of this.#pools.values()) {
      await this.#retellNow(pool);
      const version = await this.#look(pool);
      if (version === undefined || version <= pool.seen) continue;
      // What was done a moment ago is on its way.
      await pause(retryMs);
      await this.catchUp(pool.id, version);
    }
  }

  /**
   * How far the pool is at the server. Read there without a decision: a thousand gateways look at every pool once a second.
   *
   * @returns undefined if that is not known, or the pool has to be brought back first
   */
  async #look(pool: SharedPool): Promise<number | undefined> {
    const link = this.#link;
    if (link === undefined || !this.#isUp || !pool.isInStep) return undefined;
    const now = this.#options.clock.monotonic();
    if (now - pool.keptAt >= keepMs) {
      const answer = await this.ask(pool.id, "beat", { patienceMs: syncMs });
      if (answer !== undefined) pool.keptAt = now;
      return answer?.v;
    }
    try {
      const { version, born } = await within(link.look(pool.id), syncMs);
      if (born === pool.born) return version;
      void this.#bringBack(pool);
    } catch (error) {
      this.lose(error);
    }
    return undefined;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
