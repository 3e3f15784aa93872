import { KeywheelError, Secret } from "@keywheel/pool";
import type { FieldRefusal } from "../contract/field-faults.ts";
import type { TokenRecord, TokenTerms } from "../store/store.ts";
import { type CatalogCore, refuseIfAny } from "./core.ts";
import { randomText } from "./ids.ts";
import { tokenHash } from "./token-hash.ts";

const shownPrefixLength = 7;

/** What a token is good for, as a caller says it. */
export type TokenWishes = Partial<Omit<TokenTerms, "name" | "providerIds">> & {
  /** Ids or slugs; null for all. */
  readonly providers?: readonly string[] | null | undefined;
};

/** Gateway tokens: what clients show. They are kept as SHA-256: 160 random bits need no slow hash. */
export class TokenBook {
  readonly #core: CatalogCore;
  readonly #byId = new Map<string, TokenRecord>();
  readonly #byHash = new Map<string, string>();
  readonly #used = new Map<string, number>();

  constructor(core: CatalogCore, records: readonly TokenRecord[]) {
    this.#core = core;
    for (const record of records) this.#hold(record);
  }

  get count(): number {
    return this.#byId.size;
  }

  /** Undefined for a token that is gone. */
  nameOf(tokenId: string): string | undefined {
    return this.#byId.get(tokenId)?.name;
  }

  /** In order of creation. */
  list(): TokenRecord[] {
    return [...this.#byId.values()];
  }

  /**
   * The token that this text is. Found by its hash: how long that takes tells nothing about the hashes that are stored.
   * Counts as a use of the token, unless it has expired.
   */
  find(text: string): TokenRecord | undefined {
    const id = this.#byHash.get(tokenHash(text));
    const record = id === undefined ? undefined : this.#byId.get(id);
    if (!record) return undefined;
    const at = this.#core.now();
    if (hasExpired(record, at)) return record;
    this.#byId.set(record.id, { ...record, lastUsedAt: at });
    this.#used.set(record.id, at);
    return record;
  }

  /**
   * @param wishes what is left out does not limit it
   * @returns the record, and the token itself for the only time
   * @throws KeywheelError validation_failed, store_unavailable
   */
  add(name: string, wishes: TokenWishes = {}): Promise<{ record: TokenRecord; token: Secret }> {
    const core = this.#core;
    return core.alone(async () => {
      const text = `kw_${randomText(32, core.deps.random)}`;
      const at = core.now();
      const record: TokenRecord = {
        id: core.newId("tok"),
        hash: tokenHash(text),
        prefix: text.slice(0, shownPrefixLength),
        ...this.#termsOf({ ...unlimited, name }, wishes),
        createdAt: at,
        lastUsedAt: null,
      };
      await core.write((store) => store.insertToken(record));
      this.#hold(record);
      core.tell({ type: "token-created", tokenId: record.id, at });
      return { record, token: new Secret(text) };
    });
  }

  /**
   * Changes what is named, from the next request on; the token itself stays.
   *
   * @throws KeywheelError not_found, validation_failed, store_unavailable
   */
  change(tokenId: string, { name, ...wishes }: TokenWishes & { readonly name?: string }): Promise<TokenRecord> {
    const core = this.#core;
    return core.alone(async () => {
      const before = this.#byId.get(tokenId);
      if (!before) throw new KeywheelError("not_found", "There is no such token");
      core.managed.checkToken(tokenId, before.name);
      const terms = this.#termsOf({ ...before, ...(name === undefined ? {} : { name }) }, wishes);
      await core.write((store) => store.updateToken(tokenId, terms));
      // It may have been used meanwhile.
      const record = { ...(this.#byId.get(tokenId) ?? before), ...terms };
      this.#hold(record);
      core.tell({ type: "token-changed", tokenId, at: core.now() });
      return record;
    });
  }

  /** @throws KeywheelError not_found, store_unavailable */
  remove(tokenId: string): Promise<void> {
    const core = this.#core;
    return core.alone(async () => {
      const record = this.#byId.get(tokenId);
      if (!record) throw new KeywheelError("not_found", "There is no such token");
      core.managed.checkToken(tokenId, record.name);
      await core.write((store) => store.deleteToken(tokenId));
      this.#letGo(record);
      core.tell({ type: "token-deleted", tokenId, at: core.now() });
    });
  }

  /** A token was used in another process. */
  used(tokenId: string, at: number): void {
    const record = this.#byId.get(tokenId);
    if (record === undefined) return;
    const lastUsedAt = latest(record.lastUsedAt, at) ?? at;
    this.#byId.set(tokenId, { ...record, lastUsedAt });
    this.#used.set(tokenId, lastUsedAt);
  }

  /** Writes down when tokens were used since the last call. A failure leaves it for the next one. */
  async flushUses(): Promise<void> {
    const used = [...this.#used].map(([id, at]) => ({ id, at }));
    if (used.length === 0) return;
    await this.#core.deps.store.touchTokens(used);
    for (const { id, at } of used) if (this.#used.get(id) === at) this.#used.delete(id);
  }

  /** Makes the tokens in memory those that are stored, after another gateway has changed them. */
  follow(records: readonly TokenRecord[]): void {
    const core = this.#core;
    const at = core.now();
    const stored = new Set(records.map(({ id }) => id));
    for (const record of this.list()) {
      if (stored.has(record.id)) continue;
      this.#letGo(record);
      core.tell({ type: "token-deleted", tokenId: record.id, at });
    }
    for (const record of records) {
      const held = this.#byId.get(record.id);
      const lastUsedAt = latest(held?.lastUsedAt ?? null, record.lastUsedAt);
      this.#hold({ ...record, lastUsedAt });
      if (held === undefined) core.tell({ type: "token-created", tokenId: record.id, at });
      else if (termsText(held) !== termsText(record)) core.tell({ type: "token-changed", tokenId: record.id, at });
    }
  }

  #letGo(record: TokenRecord): void {
    this.#byId.delete(record.id);
    this.#byHash.delete(record.hash);
    this.#used.delete(record.id);
  }

  #hold(record: TokenRecord): void {
    this.#byId.set(record.id, record);
    this.#byHash.set(record.hash, record.id);
  }

  #termsOf(before: TokenTerms, wishes: TokenWishes): TokenTerms {
    const { providers, expiresAt = before.expiresAt } = wishes;
    // What is stored already may come back with the rest, though it has passed.
    if (expiresAt !== null && expiresAt !== before.expiresAt && expiresAt <= this.#core.now()) {
      refuseIfAny([{ path: "expires_at", message: "Expected `expires_at` to lie in the future", code: "in_past" }]);
    }
    return {
      name: before.name,
      providerIds: providers === undefined ? before.providerIds : this.#providerIdsOf(providers, before.providerIds),
      expiresAt,
      maxRequestsPerMinute: orBefore(wishes.maxRequestsPerMinute, before.maxRequestsPerMinute),
      maxConcurrent: orBefore(wishes.maxConcurrent, before.maxConcurrent),
    };
  }

  /** @param before ids that may be named though their provider is gone */
  #providerIdsOf(providers: readonly string[] | null, before: readonly string[] | null): readonly string[] | null {
    if (providers === null) return null;
    const problems: FieldRefusal[] = [];
    const ids = providers.map((idOrSlug, index) => {
      const entry = this.#core.find(idOrSlug);
      const path = `providers.${index}`;
      if (!entry && before?.includes(idOrSlug)) return idOrSlug;
      if (!entry)
        problems.push({
          path,
          message: `Expected \`${path}\` to be a provider's id or slug`,
          code: "no_such_provider",
        });
      return entry?.record.id ?? "";
    });
    refuseIfAny(problems);
    return [...new Set(ids)];
  }
}

const unlimited = { providerIds: null, expiresAt: null, maxRequestsPerMinute: null, maxConcurrent: null } as const;

function orBefore<T>(wished: T | undefined, before: T): T {
  return wished === undefined ? before : wished;
}

function termsText({ name, providerIds, expiresAt, maxRequestsPerMinute, maxConcurrent }: TokenTerms): string {
  return JSON.stringify([name, providerIds, expiresAt, maxRequestsPerMinute, maxConcurrent]);
}

function latest(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.max(one, other);
}

export function hasExpired({ expiresAt }: TokenRecord, now: number): boolean {
  return expiresAt !== null && now >= expiresAt;
}
