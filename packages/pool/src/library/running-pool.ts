import { PoolError } from "../errors.ts";
import { statusOf } from "../key-status.ts";
import { PlainState } from "../memory/plain-state.ts";
import { Pool } from "../pool.ts";
import type { PoolEvent } from "../ports/events.ts";
import type { Clock } from "../ports/clock.ts";
import type { Journal, StatusReason } from "../ports/journal.ts";
import type { Secret } from "../ports/secrets.ts";
import type { KeySnapshot, PoolState, StatePolicy } from "../ports/shared-state.ts";
import { healthy } from "../rules/cooldown.ts";
import { entryOf, readKeys, type RingKey, type Variables } from "./key-ring.ts";
import { checkShape, Faults, type KeyOptions, policyOf, type PoolOptions } from "./options.ts";
import { type FetchParts, PooledFetch } from "./pooled-fetch.ts";
import { withoutSecrets } from "./redact.ts";
import { isSnapshot, type KeyRecord, type PoolSnapshot } from "./snapshot.ts";
import type { KeyPool, KeyView } from "./key-pool.ts";
import { Listeners, type PoolEventOf } from "./listeners.ts";
import { StoreKeeper } from "./store-keeper.ts";

/** How often what is only kept for memory's sake is let go of, in requests. */
const sweepEvery = 1_000;
const defaultMaxSessions = 100_000;

const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

/** A pool as it runs in a program. */
export class RunningPool implements KeyPool {
  readonly name: string;
  readonly #pool: Pool;
  readonly #state: PoolState;
  /** The state, if it is of our own making. */
  readonly #memory: PlainState | undefined;
  readonly #clock: Clock;
  readonly #env: Variables;
  readonly #policy: StatePolicy;
  readonly #store: StoreKeeper | undefined;
  readonly #fetchParts: FetchParts;
  readonly #fetch: PooledFetch;
  readonly #listeners = new Listeners();
  /** Every value that was ever here: a running answer may still quote it. */
  readonly #values = new Set<string>();
  /** The value of each key that was ever here: it may have been chosen just before it was taken out. */
  readonly #secrets = new Map<string, Secret>();
  readonly #refused = new Map<string, StatusReason>();
  #keys: readonly RingKey[] = [];
  #ready: Promise<void> | undefined;
  #isClosed = false;
  #requests = 0;

  constructor(options: PoolOptions) {
    checkShape(options);
    const { provider, clock = systemClock, env = processEnvironment(), journal, store } = options;
    this.name = options.name ?? provider.slug;
    this.#clock = clock;
    this.#env = env;
    this.#policy = policyOf(options);
    this.#memory =
      options.state === undefined
        ? new PlainState({ clock, maxBindings: options.maxSessions ?? defaultMaxSessions })
        : undefined;
    this.#state = options.state ?? (this.#memory as PlainState);
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
      journal: this.#journalOver(journal),
      clock,
      events: (event) => this.#listeners.tell(event),
      redact: (text) => withoutSecrets(text, this.#values),
    });
    this.#fetchParts = this.#partsOf(options);
    this.#fetch = new PooledFetch(this.#fetchParts);
    this.#ready = this.#begin();
  }

  fetch(session?: string): typeof globalThis.fetch {
    return async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      if (++this.#requests % sweepEvery === 0) void this.#memory?.sweepIdle();
      return this.#fetch.serve(input, init, session);
    };
  }

  async keys(): Promise<readonly KeyView[]> {
    await this.#ready;
    const snapshots = new Map((await this.#pool.snapshot()).map((snapshot) => [snapshot.keyId, snapshot]));
    return this.#keys.map((key) => this.#view(key, snapshots.get(key.id)));
  }

  async setKeys(keys: readonly (string | KeyOptions)[]): Promise<void> {
    checkShape({ provider: this.#fetchParts.provider, keys });
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
    const print = this.#fetch.printOf(session);
    return print !== undefined && this.#pool.endSession(print);
  }

  on<Type extends PoolEvent["type"]>(type: Type, listener: (event: PoolEventOf<Type>) => void): () => void {
    return this.#listeners.add(type, listener);
  }

  async snapshot(): Promise<PoolSnapshot> {
    await this.#ready;
    return this.#takeSnapshot();
  }

  async restore(snapshot: PoolSnapshot): Promise<void> {
    if (!isSnapshot(snapshot)) {
      throw new PoolError("validation_failed", "What was given to `restore` is no snapshot of a pool", {
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

  #partsOf({ provider, baseURL, retry, fetch }: PoolOptions): FetchParts {
    return {
      pool: this.#pool,
      provider,
      baseURL: baseOf(baseURL),
      affinityEnabled: this.#policy.affinity.enabled,
      providerRetries: retry?.providerErrors ?? 0,
      // Looked up anew for each call: what instruments the global one may come later.
      fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
      clock: this.#clock,
      secretOf: (keyId) => this.#secrets.get(keyId),
      unresolved: () => this.#keys.flatMap(({ unresolved }) => (unresolved === undefined ? [] : [unresolved.message])),
      ready: () => this.#ready,
      isClosed: () => this.#isClosed,
      onAttempt: (requestId, attempt) =>
        this.#listeners.tell({ type: "attempt-ended", poolId: this.name, requestId, attempt }),
      onNotice: ({ notice, code, message }) =>
        this.#notice(notice ?? code, message === undefined ? undefined : this.#pool.redact(message)),
    };
  }

  #journalOver(journal: Journal | undefined): Journal {
    const write = async (written: Promise<void> | undefined): Promise<void> => {
      const told = written?.catch((error: unknown) => this.#notice("journal_failed", messageOf(error)));
      await Promise.all([told, this.#store?.save()]);
    };
    return {
      saveHealth: (record) => write(journal?.saveHealth(record)),
      disableKey: (record) => {
        this.#refused.set(record.keyId, record.reason);
        return write(journal?.disableKey(record));
      },
    };
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
    for (const { id, secret } of read) {
      if (secret === undefined) continue;
      this.#values.add(secret.reveal());
      this.#secrets.set(id, secret);
    }
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
      group: key.group,
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

  #notice(code: string, message: string | undefined): void {
    this.#listeners.tell({ type: "notice", poolId: this.name, code, message, at: this.#clock.now() });
  }
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
