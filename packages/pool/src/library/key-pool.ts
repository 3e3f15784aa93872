import { KeywheelError } from "../errors.ts";
import { type KeyStatus, type ShownReason, statusOf } from "../key-status.ts";
import { MemoryState } from "../memory/memory-state.ts";
import { Pool } from "../pool.ts";
import type { PoolEvent } from "../ports/events.ts";
import type { DisabledRecord, HealthRecord, StatusReason } from "../ports/journal.ts";
import type { Clock } from "../ports/clock.ts";
import type { KeySnapshot, SharedState, StatePolicy } from "../ports/shared-state.ts";
import { ownSessionHeader, sessionOf } from "../providers/sessions.ts";
import { healthy } from "../rules/cooldown.ts";
import type { EpochMs } from "../rules/time.ts";
import { startTimer } from "../transport/timer.ts";
import { entryOf, readKeys, type RingKey, type Variables } from "./key-ring.ts";
import { Faults, type KeyOptions, policyOf, type PoolOptions } from "./options.ts";
import type { FetchParts, PooledFetch } from "./pooled-fetch.ts";
import { withoutSecrets } from "./redact.ts";
import { isSnapshot, type KeyRecord, type PoolSnapshot, type PoolStore } from "./snapshot.ts";

/** An event by its type. */
export type PoolEventOf<Type extends PoolEvent["type"]> = Extract<PoolEvent, { readonly type: Type }>;

/** A key as people see it. It holds no secret. */
export interface KeyView {
  readonly id: string;
  readonly label: string;
  /** The value masked (`sk-…9f2c`), or `$NAME`. */
  readonly masked: string;
  readonly weight: number;
  readonly status: KeyStatus;
  /** Why it is not available, or its last failure until a success or a reset. */
  readonly reason: ShownReason | null;
  /** The end of a running cooldown, epoch ms. */
  readonly cooldownUntil: EpochMs | null;
  readonly consecutiveFailures: number;
  readonly boundSessions: number;
}

/**
 * The keys of one provider, and a `fetch` that uses them.
 *
 * A request goes out with the key whose turn it is, or with the key of its session. A key that is limited (429, 529) rests and
 * the request goes on with the next one; a key that is refused (401, 403) is out until `reset` or a new value. Whoever asked
 * sees the answer that came of it, or, with no key left, an error in the provider's own shape.
 */
export interface KeyPool extends AsyncDisposable {
  /** What it is called in events. */
  readonly name: string;

  /**
   * A `fetch` for the `fetch` option of an SDK, or for calls of one's own.
   *
   * Credentials that the SDK puts into the request are taken out; what it was given as its API key does not matter.
   *
   * @param session names what shall stay with one key, such as a chat; default: what the request itself tells (the header
   *   `x-keywheel-session`, headers and fields that clients use for it, the conversation that it continues)
   *
   * @example A call of one's own, that stays with one key
   * ```ts
   * import { createPool, providers } from "@keywheel/pool";
   *
   * const pool = createPool({ provider: providers.openai, keys: ["$OPENAI_KEY_1", "$OPENAI_KEY_2"] });
   * const response = await pool.fetch("chat-42")("https://api.openai.com/v1/chat/completions", {
   *   method: "POST",
   *   headers: { "content-type": "application/json" },
   *   body: JSON.stringify({ model: "gpt-5.5", messages: [{ role: "user", content: "Hello" }] }),
   *   signal: AbortSignal.timeout(60_000),
   * });
   * console.log(response.status, response.headers.get("x-keywheel-key"));
   * ```
   */
  fetch(session?: string): typeof globalThis.fetch;

  /** How the keys stand now, in the order of the wheel. */
  keys(): Promise<readonly KeyView[]>;
  /**
   * Replaces the keys. Those that stay, by id and value, keep cooldowns, counts and sessions; running requests end as they began.
   *
   * @throws KeywheelError `validation_failed`, and nothing is changed
   */
  setKeys(keys: readonly (string | KeyOptions)[]): Promise<void>;
  /** Clears cooldown, failure count and refusal of a key. @returns false if there is no such key */
  reset(keyId: string): Promise<boolean>;
  /** The ids of the keys that serve the next `count` turns, taking none. */
  preview(count: number): Promise<readonly string[]>;
  /** Lets go of a session that was named with `fetch(session)` or the header. @returns whether it was known */
  endSession(session: string): Promise<boolean>;

  /**
   * Calls back on what happens. Listeners are called at once, on the way of the request; what one throws is reported as an
   * uncaught error and harms no request.
   *
   * @example
   * ```ts
   * import { createPool, providers } from "@keywheel/pool";
   *
   * const pool = createPool({ provider: providers.openai, keys: ["$OPENAI_KEY_1", "$OPENAI_KEY_2"] });
   * const stop = pool.on("key-disabled", ({ keyId, reason, at }) => console.error(keyId, reason, new Date(at)));
   * stop();
   * ```
   *
   * @returns how to stop it
   */
  on<Type extends PoolEvent["type"]>(type: Type, listener: (event: PoolEventOf<Type>) => void): () => void;

  /** Where everything stands, as plain data without secrets. Sessions are in it unless the pool has a `state` of its own. */
  snapshot(): Promise<PoolSnapshot>;
  /**
   * Takes up a snapshot. Keys are found by id, and only if their value is still the same; what the snapshot does not know
   * stays as it is.
   *
   * @example
   * ```ts
   * import { createPool, providers } from "@keywheel/pool";
   *
   * const options = { provider: providers.openai, keys: ["$OPENAI_KEY_1", "$OPENAI_KEY_2"] };
   * const before = createPool(options);
   * const text = JSON.stringify(await before.snapshot());
   *
   * const after = createPool(options);
   * await after.restore(JSON.parse(text));
   * ```
   *
   * @throws KeywheelError `validation_failed` if it is no snapshot
   */
  restore(snapshot: PoolSnapshot): Promise<void>;

  /**
   * Saves what is to be saved and takes no more requests; those that run end as they would. May be called twice. The same as
   * `await using`.
   */
  close(): Promise<void>;
}

/**
 * Makes a pool of API keys of one provider.
 *
 * Nothing is sent, and nothing has to be waited for: requests wait themselves for a store that is still being read.
 *
 * @example With an SDK
 * ```ts
 * import { createPool, providers } from "@keywheel/pool";
 * import OpenAI from "openai";
 *
 * const pool = createPool({ provider: providers.openai, keys: ["$OPENAI_KEY_1", "$OPENAI_KEY_2", "$OPENAI_KEY_3"] });
 * const client = new OpenAI({ apiKey: "pool", fetch: pool.fetch() });
 * const models = await client.models.list();
 * console.log(models.data.map(({ id }) => id));
 * ```
 *
 * @example With weights, rules of its own and a server of one's own
 * ```ts
 * import { createPool, providers } from "@keywheel/pool";
 *
 * await using pool = createPool({
 *   provider: providers.openaiCompatible({ name: "My vLLM", baseURL: "http://localhost:8000/v1" }),
 *   keys: [{ apiKey: "$OPENAI_KEY_1", label: "Large", weight: 3 }, "$OPENAI_KEY_2"],
 *   cooldown: { baseMs: 10_000, capMs: 60_000, scope: "model" },
 *   retry: { providerErrors: 1 },
 * });
 * console.log(await pool.preview(4));
 * ```
 * @throws KeywheelError `validation_failed` that names every option that is wrong
 */
export function createPool(options: PoolOptions): KeyPool {
  return new RunningPool(options);
}

/** How long a store is waited for. @see contract §3, the journal's bound */
const storeWaitMs = 2_000;
/** How often what is only kept for memory's sake is let go of, in requests. */
const sweepEvery = 1_000;
const defaultMaxSessions = 100_000;

const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

class RunningPool implements KeyPool {
  readonly name: string;
  readonly #pool: Pool;
  readonly #state: SharedState;
  /** The state, if it is of our own making. */
  readonly #memory: MemoryState | undefined;
  readonly #clock: Clock;
  readonly #env: Variables;
  readonly #policy: StatePolicy;
  readonly #store: StoreKeeper | undefined;
  readonly #fetchParts: FetchParts;
  #fetch: Promise<PooledFetch> | undefined;
  readonly #listeners = new Map<string, Set<(event: never) => void>>();
  /** Every value that was ever here: a running answer may still quote it. */
  readonly #values = new Set<string>();
  readonly #refused = new Map<string, StatusReason>();
  #keys: readonly RingKey[] = [];
  #ready: Promise<void> | undefined;
  #isClosed = false;
  #requests = 0;

  constructor(options: PoolOptions) {
    const { provider, clock = systemClock, env = processEnvironment(), journal, store } = options;
    this.name = options.name ?? provider.slug;
    this.#clock = clock;
    this.#env = env;
    this.#policy = policyOf(options);
    const maxSessions = options.maxSessions ?? defaultMaxSessions;
    this.#memory =
      options.state === undefined
        ? new MemoryState({ clock, maxBindings: maxSessions, maxPins: maxSessions })
        : undefined;
    this.#state = options.state ?? (this.#memory as MemoryState);
    this.#keys = this.#read(options.keys);
    this.#store =
      store === undefined
        ? undefined
        : new StoreKeeper(
            store,
            () => this.#takeSnapshot(),
            (error) => this.#notice("store_failed", messageOf(error)),
          );
    this.#pool = new Pool(this.name, {
      state: this.#state,
      journal: {
        saveHealth: async (record: HealthRecord) => {
          await Promise.all([journal?.saveHealth(record), this.#store?.save()]);
        },
        disableKey: async (record: DisabledRecord) => {
          this.#refused.set(record.keyId, record.reason);
          await Promise.all([journal?.disableKey(record), this.#store?.save()]);
        },
      },
      clock,
      events: (event) => this.#tell(event),
      redact: (text) => withoutSecrets(text, this.#values),
    });
    const ownFetch = options.fetch;
    this.#fetchParts = {
      pool: this.#pool,
      provider,
      baseURL: baseOf(options.baseURL),
      affinityEnabled: this.#policy.affinity.enabled,
      providerRetries: options.retry?.providerErrors ?? 0,
      // Looked up anew for each call: what instruments the global one may come later.
      fetch: ownFetch ?? ((input, init) => globalThis.fetch(input, init)),
      clock,
      secretOf: (keyId) => this.#keys.find(({ id }) => id === keyId)?.secret,
      unresolved: () => this.#keys.flatMap(({ unresolved }) => (unresolved === undefined ? [] : [unresolved.message])),
      ready: () => this.#ready,
      isClosed: () => this.#isClosed,
      onAttempt: (requestId, attempt) => this.#tell({ type: "attempt-ended", poolId: this.name, requestId, attempt }),
      onNotice: ({ notice, code, message }) =>
        this.#notice(notice ?? code, message === undefined ? undefined : this.#pool.redact(message)),
    };
    this.#ready = this.#begin();
  }

  fetch(session?: string): typeof globalThis.fetch {
    return async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      if (++this.#requests % sweepEvery === 0) void this.#sweep();
      this.#fetch ??= this.#loadFetch();
      return (await this.#fetch).serve(input, init, session);
    };
  }

  async keys(): Promise<readonly KeyView[]> {
    await this.#ready;
    const snapshots = new Map((await this.#pool.snapshot()).map((snapshot) => [snapshot.keyId, snapshot]));
    return this.#keys.map((key) => this.#view(key, snapshots.get(key.id)));
  }

  async setKeys(keys: readonly (string | KeyOptions)[]): Promise<void> {
    const read = this.#read(keys);
    await this.#ready;
    for (const { id, secretVersion } of this.#keys) {
      if (read.find((key) => key.id === id)?.secretVersion !== secretVersion) this.#refused.delete(id);
    }
    this.#keys = read;
    await this.#configure();
    await this.#store?.save();
  }

  async reset(keyId: string): Promise<boolean> {
    await this.#ready;
    if (this.#refused.delete(keyId)) await this.#configure();
    const isKnown = await this.#pool.reset(keyId);
    if (isKnown) await this.#store?.save();
    return isKnown;
  }

  async preview(count: number): Promise<readonly string[]> {
    await this.#ready;
    return this.#pool.preview(count);
  }

  async endSession(session: string): Promise<boolean> {
    await this.#ready;
    const named = sessionOf(`${this.name}\n`, (name) => (name === ownSessionHeader ? session : undefined), new Map());
    return named !== undefined && this.#pool.endSession(named.fingerprint);
  }

  on<Type extends PoolEvent["type"]>(type: Type, listener: (event: PoolEventOf<Type>) => void): () => void {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  async snapshot(): Promise<PoolSnapshot> {
    await this.#ready;
    return this.#takeSnapshot();
  }

  async restore(snapshot: PoolSnapshot): Promise<void> {
    if (!isSnapshot(snapshot)) {
      throw new KeywheelError("validation_failed", "What was given to `restore` is no snapshot of a pool", {
        hint: "Give what `snapshot()` gave, as it was.",
      });
    }
    await this.#ready;
    await this.#takeUp(snapshot);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#ready;
    await this.#store?.save();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** What is printed of it: enough to know it by. */
  toJSON(): object {
    return { name: this.name, keys: this.#keys.map(({ id }) => id) };
  }

  /**
   * More than half of the library is about requests and what answers mean. A page need not load it before there is a request;
   * where a program is one file, it is in it.
   */
  async #loadFetch(): Promise<PooledFetch> {
    try {
      const { PooledFetch } = await import("./pooled-fetch.ts");
      return new PooledFetch(this.#fetchParts);
    } catch (error) {
      // A page that was offline for a moment must not stay without it.
      this.#fetch = undefined;
      throw error;
    }
  }

  async #begin(): Promise<void> {
    await this.#configure();
    try {
      const stored = await this.#store?.load();
      if (isSnapshot(stored)) await this.#takeUp(stored);
    } catch (error) {
      // Without what was stored the pool serves as a new one does.
      this.#notice("store_failed", messageOf(error));
    }
    this.#ready = undefined;
  }

  #read(keys: readonly (string | KeyOptions)[]): readonly RingKey[] {
    const read = readKeys(keys, { env: this.#env, now: this.#clock.now(), before: this.#keys });
    for (const { secret } of read) if (secret !== undefined) this.#values.add(secret.reveal());
    return read;
  }

  async #configure(): Promise<void> {
    await this.#pool.configure(
      this.#keys.map((key) => entryOf(key, this.#refused.has(key.id))),
      this.#policy,
    );
  }

  #view(key: RingKey, snapshot: KeySnapshot | undefined): KeyView {
    const refused = this.#refused.get(key.id);
    const { status, reason, cooldownUntil } = statusOf(
      {
        enabled: key.enabled && refused === undefined,
        disabledReason: key.enabled ? (refused ?? null) : null,
        updatedAt: key.changedAt,
      },
      snapshot,
      key.unresolved,
      this.#clock.now(),
    );
    return {
      id: key.id,
      label: key.label,
      masked: key.masked,
      weight: key.weight,
      status,
      reason,
      cooldownUntil,
      consecutiveFailures: snapshot?.health.failures ?? 0,
      boundSessions: snapshot?.boundSessions ?? 0,
    };
  }

  async #takeSnapshot(): Promise<PoolSnapshot> {
    const snapshots = new Map((await this.#pool.snapshot()).map((snapshot) => [snapshot.keyId, snapshot]));
    const keys = this.#keys.map((key): KeyRecord => {
      const known = snapshots.get(key.id);
      const refused = this.#refused.get(key.id);
      return {
        id: key.id,
        masked: key.secret?.masked ?? "",
        health: known?.health ?? healthy,
        ...(known?.reason === undefined ? {} : { reason: known.reason }),
        ...(refused === undefined ? {} : { refused }),
        models: (known?.models ?? []).map(({ model, health, reason }) => ({
          model,
          health,
          ...(reason === undefined ? {} : { reason }),
        })),
      };
    });
    const bound = this.#memory?.bindings(this.name) ?? { sessions: [], pins: [] };
    return {
      version: 1,
      takenAt: this.#clock.now(),
      keys,
      sessions: bound.sessions.map(({ fingerprint: { high, low }, keyId, lastUsedAt }) => [
        high,
        low,
        keyId,
        lastUsedAt,
      ]),
      pins: bound.pins.map(({ kind, fingerprint: { high, low }, keyId, at }) => [kind, high, low, keyId, at]),
    };
  }

  async #takeUp({ keys, sessions, pins }: PoolSnapshot): Promise<void> {
    const poolId = this.name;
    const same = keys.filter(({ id, masked }) =>
      this.#keys.some((key) => key.id === id && key.secret?.masked === masked),
    );
    for (const { id, refused } of same) if (refused !== undefined) this.#refused.set(id, refused);
    await this.#configure();
    for (const { id, health, reason, models } of same) {
      this.#state.restoreHealth(poolId, id, "", health, reason);
      for (const one of models) this.#state.restoreHealth(poolId, id, one.model, one.health, one.reason);
    }
    const isSame = new Set(same.map(({ id }) => id));
    this.#state.restoreBindings(
      sessions.flatMap(([high, low, keyId, lastUsedAt]) =>
        isSame.has(keyId) ? [{ poolId, fingerprint: { high, low }, keyId, lastUsedAt }] : [],
      ),
    );
    this.#state.restorePins(
      pins.flatMap(([kind, high, low, keyId, at]) =>
        isSame.has(keyId) ? [{ poolId, kind, fingerprint: { high, low }, keyId, at }] : [],
      ),
    );
  }

  #tell(event: PoolEvent): void {
    for (const listener of this.#listeners.get(event.type) ?? []) {
      try {
        listener(event as never);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  #notice(code: string, message: string | undefined): void {
    this.#tell({ type: "notice", poolId: this.name, code, message, at: this.#clock.now() });
  }

  /** Nobody writes down who was bound: what waits for that is let go of, as is what has idled out. */
  async #sweep(): Promise<void> {
    await this.#memory?.sweepIdle();
    this.#memory?.drainTouchedSessions(Number.MAX_SAFE_INTEGER);
    this.#memory?.drainPins(Number.MAX_SAFE_INTEGER);
  }
}

/** Saves snapshots, one at a time: what changes meanwhile is in the next. */
class StoreKeeper {
  readonly #store: PoolStore;
  readonly #take: () => Promise<PoolSnapshot>;
  readonly #onFault: (error: unknown) => void;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(store: PoolStore, take: () => Promise<PoolSnapshot>, onFault: (error: unknown) => void) {
    this.#store = store;
    this.#take = take;
    this.#onFault = onFault;
  }

  async load(): Promise<unknown> {
    return this.#store.load();
  }

  /** Settles when all that holds now is saved, or has been waited for long enough; never rejects. */
  async save(): Promise<void> {
    this.#next ??= this.#after(this.#running);
    await soon(this.#next);
  }

  async #after(before: Promise<void> | undefined): Promise<void> {
    await before;
    this.#running = this.#next;
    this.#next = undefined;
    try {
      await this.#store.save(await this.#take());
    } catch (error) {
      this.#onFault(error);
    }
  }
}

async function soon(promise: Promise<void>): Promise<void> {
  let stop = (): void => {};
  const over = new Promise<void>((resolve) => {
    stop = startTimer(resolve, storeWaitMs, { holdsProcess: false });
  });
  await Promise.race([promise, over]);
  stop();
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function baseOf(baseURL: string | undefined): URL | undefined {
  if (baseURL === undefined) return undefined;
  const url = URL.parse(baseURL);
  const faults = new Faults();
  if (url === null || !/^https?:$/.test(url.protocol))
    faults.add("baseURL", `Expected \`baseURL\` to be an http or https URL, got ${JSON.stringify(baseURL)}`);
  faults.check();
  return url ?? undefined;
}

/** The variables of the process, where there is one. Deno asks its user only for those that are read. */
function processEnvironment(): Variables {
  return (globalThis as { readonly process?: { readonly env?: Variables } }).process?.env ?? {};
}
