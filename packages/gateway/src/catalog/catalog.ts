import { KeywheelError, type Pool, type PoolEvent, type Secret, sessionValueHash } from "@keywheel/pool";
import type { ProviderSettings } from "../contract/settings.ts";
import type { KeyRecord, KeyTotals, ProviderRecord, TokenRecord } from "../store/store.ts";
import { CatalogCore, type CatalogDeps } from "./core.ts";
import { DeclaredBook } from "./declared/declared-book.ts";
import type { Resolution } from "./environment.ts";
import { followStored } from "./follow.ts";
import { KeyBook } from "./key-book.ts";
import { showSecret } from "./key-text.ts";
import { orWithout } from "./or-without.ts";
import { providerPresets, type ProviderPreset } from "./presets.ts";
import { ProviderBook } from "./provider-book.ts";
import type { ProviderEntry } from "./provider-entry.ts";
import { TokenBook } from "./token-book.ts";
import { TransferBook } from "./transfer-book.ts";
import { WebhookBook } from "./webhook-book.ts";

/** A provider as requests need it: everything resolved, nothing to be looked up in a database. */
export interface ProviderRuntime {
  readonly record: ProviderRecord;
  readonly settings: ProviderSettings;
  /** `record.baseUrl`, parsed once. */
  readonly baseUrl: URL;
  readonly pool: Pool;
  /** Whether the pool has any key at all (disabled ones count). */
  readonly hasKeys: boolean;
  /** The value of a pool key, resolved now; undefined when it cannot be. */
  secretOf(keyId: string): Secret | undefined;
  labelOf(keyId: string): string;
  /** The provider-level key, resolved now. @see contract §4 rule 10 */
  providerSecret(): Secret | undefined;
}

/** What the data plane asks of the catalog; synchronous, from memory. */
export interface CatalogView {
  /** Undefined also for a provider that is disabled. */
  bySlug(slug: string): ProviderRuntime | undefined;
  /** Whether clients must show a token. */
  readonly requiresToken: boolean;
  /** The token that this text is, or undefined. Constant-time in the stored hashes. Counts as a use of the token. */
  findToken(text: string): TokenRecord | undefined;
  /** All values that must never be shown, for the redactor. */
  secrets(): Iterable<Secret>;
}

/** How many pins of each kind are taken up at start; as many as are kept in the store. */
const pinsTakenUp = 500_000;

/**
 * Providers, keys and tokens in memory, the truth while the process runs.
 *
 * Reads are synchronous or ask the pool; every change goes to the store first (see CatalogCore). A change has taken effect
 * when its promise settles.
 */
export class Catalog implements CatalogView {
  readonly providers: ProviderBook;
  readonly keys: KeyBook;
  readonly tokens: TokenBook;
  readonly transfer: TransferBook;
  readonly declared: DeclaredBook;
  readonly webhooks: WebhookBook;
  readonly presets: readonly ProviderPreset[] = providerPresets;
  readonly #core: CatalogCore;
  #requiresToken = false;
  /** Keys that were refused since the stored state is being read; undefined while it is not. */
  #refusedSince: Set<string> | undefined;

  /**
   * Takes up what was stored: providers, keys, their healths, the bindings of sessions. Before the first request.
   *
   * @throws whatever the store throws while bindings are read
   */
  static async open(deps: CatalogDeps): Promise<Catalog> {
    const catalog = new Catalog(deps);
    // What changes in the environment meanwhile waits for its turn.
    deps.environment.onChange(() => void catalog.#environmentChanged());
    await catalog.#core.inTurn(() => catalog.#restore());
    return catalog;
  }

  private constructor(deps: CatalogDeps) {
    this.#core = new CatalogCore(deps);
    this.#core.catchUp = () => this.#catchUp();
    this.providers = new ProviderBook(this.#core);
    this.keys = new KeyBook(this.#core);
    this.tokens = new TokenBook(this.#core, deps.stored.tokens);
    this.transfer = new TransferBook(this.#core, this.providers);
    this.declared = new DeclaredBook(this.#core, this.tokens);
    this.webhooks = new WebhookBook(this.#core, deps.stored.webhooks);
  }

  bySlug(slug: string): ProviderRuntime | undefined {
    return this.#core.bySlug(slug);
  }

  /** A provider by its id, disabled ones too: for what operators do, not for requests. */
  byId(id: string): ProviderRuntime | undefined {
    return this.#core.find(id);
  }

  /** Undefined for a key that is gone. */
  labelOfKey(keyId: string): string | undefined {
    return this.#core.ownerOf(keyId)?.labelOf(keyId);
  }

  /** Undefined for a key that is gone. */
  recordOfKey(keyId: string): KeyRecord | undefined {
    return this.#core.ownerOf(keyId)?.cell(keyId)?.record;
  }

  /** When the key was changed last before this process disabled it for a refusal, epoch ms. */
  refusedFrom(keyId: string): number | undefined {
    return this.#core.ownerOf(keyId)?.cell(keyId)?.refusedFrom;
  }

  /** Masked; undefined for a key that is gone. */
  maskedOfKey(keyId: string): string | undefined {
    const cell = this.#core.ownerOf(keyId)?.cell(keyId);
    return cell && showSecret(cell.record.secret);
  }

  /** Once it does, it does: revoking the last token of a gateway that others reach must not let everybody in. */
  get requiresToken(): boolean {
    const { requireToken, boundToLoopback } = this.#core.deps;
    this.#requiresToken ||= requireToken || (!boundToLoopback && this.tokens.count > 0);
    return this.#requiresToken;
  }

  findToken(text: string): TokenRecord | undefined {
    return this.tokens.find(text);
  }

  /** What a key `$NAME` would come to, for a person who types it. */
  peekVariable(name: string): Resolution["kind"] {
    return this.#core.deps.environment.peek(name).kind;
  }

  *secrets(): Iterable<Secret> {
    for (const entry of this.#core.entries()) yield* entry.secrets();
  }

  /**
   * Ends a session: the next request of it takes a turn on the wheel.
   *
   * @param idOrValue the session's id, or the very value that the client sent
   * @returns whether there was one
   * @throws KeywheelError store_unavailable
   */
  async endSession(idOrValue: string): Promise<boolean> {
    const core = this.#core;
    const ended = await core.write((store) =>
      store.takeSessions({ id: idOrValue, valueHash: sessionValueHash(idOrValue) }),
    );
    for (const { providerId, fingerprint } of ended) await core.find(providerId)?.pool.endSession(fingerprint);
    if (ended.length === 0) return false;
    const providerIds = [...new Set(ended.map(({ providerId }) => providerId))];
    core.tell({ type: "session-ended", sessionId: idOrValue, providerIds, at: core.now() });
    return true;
  }

  /** Takes up what other gateways on the same database have changed. @throws KeywheelError store_unavailable */
  catchUp(): Promise<void> {
    return this.#core.inTurn(() => this.#catchUp());
  }

  /** Takes up what keys did before the process was started. Before the first request. */
  restoreStats(totals: readonly KeyTotals[]): void {
    for (const { keyId, requests, successes, failures, lastUsedAt } of totals) {
      const stats = this.#core.ownerOf(keyId)?.cell(keyId)?.stats;
      if (stats) Object.assign(stats, { requests, successes, failures, lastUsedAt });
    }
  }

  /** To be called with every event of the pools: keeps what people see of the keys in step. Never throws. */
  observe(event: PoolEvent): void {
    if (event.type === "key-disabled") this.#keyDisabled(event);
    if (event.type === "attempt-ended") this.#attemptEnded(event);
    if (event.type === "organization-seen") this.#organizationSeen(event);
  }

  #keyDisabled({ keyId, reason: code, httpStatus, message, at }: PoolEvent & { type: "key-disabled" }): void {
    this.#refusedSince?.add(keyId);
    const entry = this.#core.ownerOf(keyId);
    const cell = entry?.cell(keyId);
    if (entry === undefined || cell?.record.enabled !== true) return;
    cell.refusedFrom = cell.record.updatedAt;
    entry.change(keyId, {
      enabled: false,
      disabledReason: { code, httpStatus, message: message ?? null, at },
      updatedAt: at,
    });
  }

  #organizationSeen({ keyId, organization, project, at }: PoolEvent & { type: "organization-seen" }): void {
    const entry = this.#core.ownerOf(keyId);
    const cell = entry?.cell(keyId);
    if (entry === undefined || cell === undefined) return;
    if (cell.organization === organization && cell.project === project) return;
    cell.organization = organization;
    cell.project = project;
    this.#core.tell({ type: "key-changed", providerId: entry.record.id, keyIds: [keyId], at });
  }

  #attemptEnded({ attempt }: PoolEvent & { type: "attempt-ended" }): void {
    const stats = this.#core.ownerOf(attempt.keyId)?.cell(attempt.keyId)?.stats;
    if (!stats) return;
    stats.requests += 1;
    // Those of several processes are told in any order.
    stats.lastUsedAt = Math.max(stats.lastUsedAt ?? 0, attempt.startedAt);
    if (attempt.outcome === "client_gone") return;
    const succeeded = attempt.status !== undefined && attempt.status < 400;
    stats[succeeded ? "successes" : "failures"] += 1;
  }

  async #restore(): Promise<void> {
    const { stored, store, state } = this.#core.deps;
    await this.declared.restore();
    for (const record of stored.providers) this.#core.take(record);
    for (const record of stored.keys) {
      const entry = this.#core.find(record.providerId);
      if (!entry) throw new Error(`stored key ${record.id} belongs to no provider`);
      entry.add(record);
      this.#core.own(record.id, entry);
    }
    for (const entry of this.#core.entries()) await this.#core.configure(entry);
    for (const { poolId, keyId, secretVersion, model, health, reason } of stored.health) {
      const cell = this.#core.ownerOf(keyId)?.cell(keyId);
      if (cell?.record.secretVersion === secretVersion) state.restoreHealth(poolId, keyId, model, health, reason);
    }
    const now = this.#core.now();
    const idleSince = (providerId: string): number =>
      now - (this.#core.find(providerId)?.settings.affinity.idleTtlMs ?? 0);
    await this.#orWithout("sessions", async () => {
      for await (const bindings of store.readBindings(idleSince)) state.restoreBindings(bindings);
    });
    await this.#orWithout("conversations", async () => {
      const conversations = await store.readPins("conversation", pinsTakenUp);
      state.restorePins(conversations.filter(({ poolId, at }) => at >= idleSince(poolId)));
    });
    await this.#orWithout("stored objects", async () => state.restorePins(await store.readPins("object", pinsTakenUp)));
  }

  #orWithout(what: string, read: () => Promise<void>): Promise<void> {
    const { onUnread } = this.#core.deps;
    return orWithout(undefined, read, { onTrouble: (error) => onUnread?.(what, error) });
  }

  async #catchUp(): Promise<void> {
    const { store, writeOutcomes } = this.#core.deps;
    const refused = new Set<string>();
    this.#refusedSince = refused;
    try {
      // What keys were refused before is in what is read then.
      if (writeOutcomes && !(await writeOutcomes())) throw new KeywheelError("store_unavailable");
      const stored = await store.load();
      await followStored(this.#core, stored, (keyId) => refused.has(keyId));
      this.tokens.follow(stored.tokens);
      this.webhooks.follow(stored.webhooks);
    } catch (error) {
      store.feed?.distrust();
      throw error;
    } finally {
      this.#refusedSince = undefined;
    }
  }

  async #environmentChanged(): Promise<void> {
    try {
      await this.#core.alone(async () => {
        for (const entry of this.#core.entries()) await this.#lookAgain(entry);
      });
    } catch (error) {
      this.#core.deps.warn?.("could not take up a change of the environment", error);
    }
  }

  /** A reference whose value changed is a key with a new value: a refusal of the old one says nothing about it. */
  async #lookAgain(entry: ProviderEntry): Promise<void> {
    const { changed, replaced } = entry.lookAgain();
    if (!changed) return;
    const at = this.#core.now();
    const patches = replaced.map(({ record }) => {
      const refused = !record.enabled && record.disabledReason?.code === "authentication_failed";
      const revived = record.enabled || refused ? { enabled: true, disabledReason: null } : {};
      const { secret, secretVersion } = record;
      return { id: record.id, patch: { ...revived, secret, secretVersion: secretVersion + 1, updatedAt: at } };
    });
    if (patches.length > 0) {
      try {
        await this.#core.deps.store.updateKeys(patches);
        for (const { id, patch } of patches) entry.change(id, patch);
      } catch (error) {
        // The new value is sent all the same; only what was learnt about the old one stays with the key.
        this.#core.deps.warn?.("could not write down that an environment variable changed", error);
      }
    }
    await this.#core.configure(entry);
    this.#core.tell({ type: "provider-changed", providerId: entry.record.id, at });
  }
}

export type { CatalogDeps } from "./core.ts";
export type { KeyView } from "./provider-entry.ts";
export type { ProviderRecord, TokenRecord };
