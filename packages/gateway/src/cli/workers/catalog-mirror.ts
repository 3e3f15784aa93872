import { type Pool, Secret } from "@keywheel/pool";
import type { CatalogView, ProviderRuntime, TokenRecord } from "../../catalog/catalog.ts";
import { hasExpired } from "../../catalog/token-book.ts";
import { tokenHash } from "../../catalog/token-hash.ts";
import type { CatalogUpdate, ProviderSnapshot } from "./subjects.ts";

export interface MirrorDeps {
  /** A pool over the state that all processes share. */
  readonly createPool: (providerId: string) => Pool;
  readonly now: () => number;
  /** Told of every value before anything can show it. */
  readonly learnSecrets: (values: Iterable<Secret>) => void;
}

/** A worker's copy of the catalog, as far as requests need it; the primary process tells of every change. */
export class CatalogMirror implements CatalogView {
  readonly #deps: MirrorDeps;
  readonly #providers = new Map<string, MirroredProvider>();
  #slugs: ReadonlyMap<string, ProviderRuntime> = new Map();
  #tokens: ReadonlyMap<string, TokenRecord> = new Map();
  #uses = new Map<string, number>();
  #requiresToken = true;
  #last: Promise<void> = Promise.resolve();

  constructor(deps: MirrorDeps) {
    this.#deps = deps;
  }

  get requiresToken(): boolean {
    return this.#requiresToken;
  }

  bySlug(slug: string): ProviderRuntime | undefined {
    return this.#slugs.get(slug);
  }

  /** By its hash, so that how long it takes tells nothing about those there are. */
  findToken(text: string): TokenRecord | undefined {
    const token = this.#tokens.get(tokenHash(text));
    if (token === undefined) return undefined;
    const at = this.#deps.now();
    if (!hasExpired(token, at)) this.#uses.set(token.id, at);
    return token;
  }

  *secrets(): Iterable<Secret> {
    for (const provider of this.#providers.values()) yield* provider.secrets();
  }

  /** When tokens were used since the last call. */
  takeUses(): readonly { readonly id: string; readonly at: number }[] {
    const uses = [...this.#uses].map(([id, at]) => ({ id, at }));
    this.#uses = new Map();
    return uses;
  }

  /** Takes up a change; one after the other. Settles when the next request will see it. */
  apply(update: CatalogUpdate): Promise<void> {
    const applied = this.#last.then(() => this.#apply(update));
    this.#last = applied.catch(() => {});
    return applied;
  }

  async #apply({ providers, removed, tokens, requiresToken }: CatalogUpdate): Promise<void> {
    this.#requiresToken = requiresToken;
    if (tokens !== undefined) this.#tokens = new Map(tokens.map((token) => [token.hash, token]));
    const gone = removed.flatMap((id) => this.#providers.get(id) ?? []);
    for (const id of removed) this.#providers.delete(id);
    this.#index();
    for (const { pool } of gone) await pool.remove();
    await Promise.all(providers.map((snapshot) => this.#take(snapshot)));
    this.#index();
  }

  async #take(snapshot: ProviderSnapshot): Promise<void> {
    const { id } = snapshot.record;
    const known = this.#providers.get(id);
    const provider = known ?? new MirroredProvider(snapshot, this.#deps.createPool(id));
    // A key that is new must have its value before it can be chosen; one that goes keeps it for as long as it can be.
    const forget = known?.follow(snapshot);
    this.#deps.learnSecrets(provider.secrets());
    await provider.pool.configure(snapshot.entries, snapshot.policy);
    forget?.();
    this.#providers.set(id, provider);
  }

  #index(): void {
    const providers = [...this.#providers.values()];
    // A disabled one is found as well: it serves nobody, but its clients read its errors.
    this.#slugs = new Map(providers.map((provider) => [provider.record.slug, provider]));
  }
}

interface MirroredKey {
  readonly label: string;
  readonly value: Secret | undefined;
}

/** Requests under way hold it: it follows changes, as the provider in the primary process does. */
class MirroredProvider implements ProviderRuntime {
  readonly pool: Pool;
  record!: ProviderRuntime["record"];
  settings!: ProviderRuntime["settings"];
  baseUrl!: URL;
  hasKeys!: boolean;
  #keys: ReadonlyMap<string, MirroredKey> = new Map();
  #own: Secret | undefined;

  constructor(snapshot: ProviderSnapshot, pool: Pool) {
    this.pool = pool;
    this.follow(snapshot)();
  }

  /** @returns what lets go of keys that are there no more */
  follow({ record, settings, keys, providerKey }: ProviderSnapshot): () => void {
    this.record = record;
    this.settings = settings;
    this.baseUrl = new URL(record.baseUrl);
    this.hasKeys = keys.length > 0;
    this.#own = secretOrNone(providerKey);
    const now = new Map(keys.map(({ id, label, value }) => [id, { label, value: secretOrNone(value) }]));
    this.#keys = new Map([...this.#keys, ...now]);
    return () => {
      this.#keys = now;
    };
  }

  secretOf(keyId: string): Secret | undefined {
    return this.#keys.get(keyId)?.value;
  }

  labelOf(keyId: string): string {
    return this.#keys.get(keyId)?.label ?? "";
  }

  providerSecret(): Secret | undefined {
    return this.#own;
  }

  *secrets(): Iterable<Secret> {
    if (this.#own !== undefined) yield this.#own;
    for (const { value } of this.#keys.values()) if (value !== undefined) yield value;
  }
}

function secretOrNone(value: string | undefined): Secret | undefined {
  return value === undefined ? undefined : new Secret(value);
}
