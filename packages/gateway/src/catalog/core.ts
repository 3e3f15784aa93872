import { type Clock, isKeywheelError, KeywheelError, type Pool, type Secret, type SharedState } from "@keywheel/pool";
import type { FieldFault, FieldRefusal } from "../contract/field-faults.ts";
import type { KeyRecord, ProviderRecord, Store, StoredState } from "../store/store.ts";
import { Managed } from "./declared/managed.ts";
import type { EnvironmentReader } from "./environment.ts";
import type { CatalogEvent } from "./events.ts";
import { createIdSource, type IdPrefix, type RandomBytes, randomText } from "./ids.ts";
import { Mutex } from "./mutex.ts";
import { type EntryContext, type KeyCell, ProviderEntry } from "./provider-entry.ts";
import { policyOf } from "./settings.ts";

export interface CatalogDeps {
  /** What `store.load()` answered. */
  readonly stored: StoredState;
  readonly store: Store;
  readonly state: SharedState;
  /** A pool over that very state; its id is the provider's. */
  readonly createPool: (providerId: string) => Pool;
  readonly clock: Clock;
  readonly environment: EnvironmentReader;
  /** Told of every change of the configuration, after it took effect and before it is answered. Must not throw. */
  readonly events: (event: CatalogEvent) => void;
  /** Fit for secrets: `randomBytes` of node:crypto. */
  readonly random: RandomBytes;
  /** Told of every value before anything can show it: the redactor's `learn`. */
  readonly learnSecrets?: (values: Iterable<Secret>) => void;
  /** Told of keys whose past is about to be cleared: what waits to be written about them must not undo it. */
  readonly forgetOutcomes?: (keyIds: readonly string[]) => void;
  /** `--require-token` */
  readonly requireToken: boolean;
  /** Writes down what waits to be written about keys. @returns false if that is not possible now */
  readonly writeOutcomes?: () => Promise<boolean>;
  /** Beyond loopback, the first token makes tokens required. */
  readonly boundToLoopback: boolean;
  readonly allowPrivateMetadata: boolean;
  /** Told of what went wrong in the background. */
  readonly warn?: (message: string, error: unknown) => void;
  /** Told what could not be read at the start, and is done without. */
  readonly onUnread?: (what: string, error: unknown) => void;
}

/** How often a change is planned while other gateways change the configuration as well. */
const mostTries = 10;

/**
 * What the books of the catalog share: providers and keys in memory, and the way in which they change.
 *
 * A change runs alone: it checks, writes the store in one transaction, then changes the memory, then the pool, then tells
 * of it. Until the store has answered nothing has changed, so a store that fails leaves everything as it was. What happens
 * to a key meanwhile (a refusal disables it) is not lost: patches name only what they change.
 */
export class CatalogCore {
  readonly deps: CatalogDeps;
  readonly newId: (prefix: IdPrefix) => string;
  /** What a file of configuration has in its hands. */
  readonly managed = new Managed();
  /** Takes up what other gateways have changed; to be called while nothing else runs. Set by the catalog. */
  catchUp: () => Promise<void> = async () => {};
  readonly #mutex = new Mutex();
  readonly #context: EntryContext;
  readonly #entries = new Map<string, ProviderEntry>();
  readonly #slugs = new Map<string, ProviderEntry>();
  readonly #owners = new Map<string, ProviderEntry>();

  constructor(deps: CatalogDeps) {
    this.deps = deps;
    this.newId = createIdSource(deps.random);
    const { environment, clock, random } = deps;
    this.#context = {
      environment,
      markSalt: randomText(32, random),
      now: () => clock.now(),
      isManaged: (id) => this.managed.isManaged(id),
    };
  }

  now(): number {
    return this.deps.clock.now();
  }

  entries(): Iterable<ProviderEntry> {
    return this.#entries.values();
  }

  get providerCount(): number {
    return this.#entries.size;
  }

  bySlug(slug: string): ProviderEntry | undefined {
    return this.#slugs.get(slug);
  }

  /** @param idOrSlug ids hold an underscore and slugs cannot, so that the two never meet */
  find(idOrSlug: string): ProviderEntry | undefined {
    return this.#entries.get(idOrSlug) ?? this.#slugs.get(idOrSlug);
  }

  /** @throws KeywheelError unknown_provider */
  entry(idOrSlug: string): ProviderEntry {
    const entry = this.find(idOrSlug);
    if (!entry) throw new KeywheelError("unknown_provider");
    return entry;
  }

  /** @throws KeywheelError not_found */
  keyAndOwner(keyId: string): { readonly entry: ProviderEntry; readonly cell: KeyCell } {
    const entry = this.#owners.get(keyId);
    const cell = entry?.cell(keyId);
    if (!entry || !cell) throw new KeywheelError("not_found", "There is no such key");
    return { entry, cell };
  }

  ownerOf(keyId: string): ProviderEntry | undefined {
    return this.#owners.get(keyId);
  }

  /** Makes the provider known; its pool is configured by the caller. */
  take(record: ProviderRecord): ProviderEntry {
    const entry = new ProviderEntry(record, this.deps.createPool(record.id), this.#context);
    this.#entries.set(record.id, entry);
    this.#slugs.set(record.slug, entry);
    return entry;
  }

  rename(entry: ProviderEntry, record: ProviderRecord): void {
    this.#slugs.delete(entry.record.slug);
    entry.record = record;
    this.#slugs.set(record.slug, entry);
  }

  /** Of providers that are known; they may take each other's slugs. */
  renameAll(records: readonly ProviderRecord[]): void {
    const pairs = records.map((record) => ({ record, entry: this.entry(record.id) }));
    for (const { entry } of pairs) this.#slugs.delete(entry.record.slug);
    for (const { entry, record } of pairs) {
      entry.record = record;
      this.#slugs.set(record.slug, entry);
    }
  }

  drop(entry: ProviderEntry): void {
    this.#entries.delete(entry.record.id);
    this.#slugs.delete(entry.record.slug);
    for (const cell of entry.cells()) this.#owners.delete(cell.record.id);
  }

  own(keyId: string, entry: ProviderEntry | undefined): void {
    if (entry) this.#owners.set(keyId, entry);
    else this.#owners.delete(keyId);
  }

  /** Lets what is no change of the configuration run alone. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#mutex.run(work);
  }

  /**
   * Lets a change run alone, planned on what is stored as it begins: also one that turns out to change nothing has to be
   * true then. One that was planned while another gateway changed the configuration is planned anew, on what that one has
   * left: until its first write it must not have changed anything.
   *
   * @throws KeywheelError store_unavailable, and whatever `work` throws
   */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#mutex.run(async () => {
      if (await this.deps.store.feed?.hasNews()) await this.catchUp();
      for (let triesLeft = mostTries; ;) {
        try {
          return await work();
        } catch (error) {
          triesLeft -= 1;
          if (triesLeft === 0 || this.deps.store.feed?.isOutdated(error) !== true) throw error;
          await this.catchUp();
        }
      }
    });
  }

  /** @throws KeywheelError store_unavailable for anything that is not the caller's fault */
  async write<T>(work: (store: Store) => Promise<T>): Promise<T> {
    try {
      return await work(this.deps.store);
    } catch (error) {
      if (isKeywheelError(error)) throw error;
      throw new KeywheelError("store_unavailable", undefined, { cause: error });
    }
  }

  /** Hands the keys and settings of a provider to its pool. */
  async configure(entry: ProviderEntry): Promise<void> {
    entry.isConfigured = true;
    this.deps.learnSecrets?.(entry.secrets());
    await entry.pool.configure(entry.keyEntries(), policyOf(entry.settings));
  }

  /** Makes stored keys known, to the pool as well. */
  async takeUpKeys(entry: ProviderEntry, records: readonly KeyRecord[]): Promise<void> {
    // A person who has just set a variable expects the key that refers to it to be there at once.
    if (records.some(({ secret }) => secret.kind === "reference")) this.deps.environment.check();
    for (const record of records) {
      entry.add(record);
      this.own(record.id, entry);
    }
    await this.configure(entry);
    const keyIds = records.map(({ id }) => id);
    this.tell({ type: "key-created", providerId: entry.record.id, keyIds, at: this.now() });
  }

  tell(event: CatalogEvent): void {
    this.deps.events(event);
  }
}

/** The refusal of some fields; the first one's sentence stands for all. */
export function refusal(details: readonly FieldRefusal[]): KeywheelError {
  return new KeywheelError("validation_failed", details[0]?.message, { details });
}

/** @throws KeywheelError validation_failed if there is anything to refuse */
export function refuseIfAny(details: readonly FieldRefusal[]): void {
  if (details.length > 0) throw refusal(details);
}

export function conflict(path: string, code: FieldFault, message: string, hint?: string): KeywheelError {
  return new KeywheelError("conflict", message, {
    details: [{ path, message, code }],
    ...(hint === undefined ? {} : { hint }),
  });
}
