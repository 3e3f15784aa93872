import type {
  DisabledRecord,
  HealthRecord,
  RestoredBinding,
  Secret,
  StatusReason,
  TouchedSession,
} from "@keywheel/pool";

/** How a key's value is held. */
export type KeySecret =
  | { readonly kind: "literal"; readonly value: Secret }
  /** `$NAME`, resolved when it is used. */
  | { readonly kind: "reference"; readonly name: string }
  /** Encrypted with another master key: shown, never sent, never disabled for it. */
  | { readonly kind: "undecryptable"; readonly masked: string };

export const providerKinds = ["openai", "anthropic", "gemini", "azure-openai", "openai-compatible"] as const;
export type ProviderKind = (typeof providerKinds)[number];

/** Settings as stored: what the operator set, defaults not filled in. Wire names, so that one schema serves both. */
export type StoredSettings = Readonly<Record<string, unknown>>;

export interface ProviderRecord {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly kind: ProviderKind;
  readonly preset: string | null;
  readonly baseUrl: string;
  readonly apiKey: KeySecret | null;
  readonly enabled: boolean;
  readonly settings: StoredSettings;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface KeyRecord {
  readonly id: string;
  readonly providerId: string;
  readonly secret: KeySecret;
  /** Grows by one with each new value. */
  readonly secretVersion: number;
  readonly label: string;
  readonly weight: number;
  readonly enabled: boolean;
  readonly order: number;
  /** Why the provider's refusal disabled it; null if it is enabled or a person disabled it. */
  readonly disabledReason: StatusReason | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface TokenRecord {
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the token, hex. */
  readonly hash: string;
  /** The first characters, to tell tokens apart. */
  readonly prefix: string;
  /** Provider ids it is limited to; null for all. */
  readonly providerIds: readonly string[] | null;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

export interface SessionRecord {
  readonly id: string;
  readonly carrier: string;
  readonly providerId: string;
  readonly keyId: string;
  readonly boundAt: number;
  readonly lastUsedAt: number;
  readonly requests: number;
}

/** Everything but sessions, read once at start. */
export interface StoredState {
  readonly providers: readonly ProviderRecord[];
  /** In wheel order: by `order`, then by creation. */
  readonly keys: readonly KeyRecord[];
  readonly tokens: readonly TokenRecord[];
  readonly health: readonly HealthRecord[];
}

export type ProviderPatch = Partial<Omit<ProviderRecord, "id" | "createdAt">>;
export type KeyPatch = Partial<Omit<KeyRecord, "id" | "providerId" | "createdAt">>;

/**
 * What must outlive the process: configuration, disabled keys, cooldowns, bindings.
 *
 * Every method is one transaction and settles when that is durable. Methods reject with a KeywheelError:
 * `conflict` for a slug, key value or id that is taken, `not_found`, `store_unavailable` when the database cannot be
 * used. Nothing here is asked while a request is being served, but for `disableKey` and `saveHealth` through the journal.
 */
export interface Store {
  load(): Promise<StoredState>;

  insertProvider(provider: ProviderRecord): Promise<void>;
  updateProvider(id: string, patch: ProviderPatch): Promise<void>;
  /** Removes its keys, healths and sessions with it. */
  deleteProvider(id: string): Promise<void>;

  /** All or none. @throws KeywheelError conflict with `details` naming the values held already by index (`keys.3`) */
  insertKeys(keys: readonly KeyRecord[]): Promise<void>;
  /** Any number of rows; statements are split below the database's limit of variables, in one transaction. */
  updateKeys(patches: readonly { readonly id: string; readonly patch: KeyPatch }[]): Promise<void>;
  deleteKeys(ids: readonly string[]): Promise<void>;
  /** Which of these values (or references) the provider holds already: the id of the key that holds it, by index. */
  findHeld(providerId: string, secrets: readonly KeySecret[]): Promise<readonly (string | undefined)[]>;

  saveHealth(records: readonly HealthRecord[]): Promise<void>;
  /** @returns false if the key is gone, was disabled before, or has another value by now */
  disableKey(record: DisabledRecord): Promise<boolean>;
  /** Removes stored healths of these keys (all models). */
  clearHealth(keyIds: readonly string[]): Promise<void>;

  insertToken(token: TokenRecord): Promise<void>;
  deleteToken(id: string): Promise<void>;
  touchTokens(used: readonly { readonly id: string; readonly at: number }[]): Promise<void>;

  /** Adds up: inserts new sessions, moves changed ones, adds the request counts. */
  saveSessions(touched: readonly TouchedSession[]): Promise<void>;
  /** Newest use first. `cursor` is what the last page answered. */
  listSessions(filter: {
    readonly providerId?: string;
    readonly keyId?: string;
    readonly search?: string;
    readonly limit: number;
    readonly cursor?: string;
  }): Promise<{ readonly sessions: readonly SessionRecord[]; readonly next: string | undefined }>;
  /** Removes the sessions with this id, or whose client sent this very value; answers their fingerprints to end them. */
  takeSessions(
    idOrValue: string,
  ): Promise<readonly { readonly providerId: string; readonly high: number; readonly low: number }[]>;
  deleteSessionsOfKeys(keyIds: readonly string[]): Promise<void>;
  deleteSessionsIdleSince(providerId: string, before: number): Promise<number>;
  /** Every stored binding that is still alive, in chunks. */
  readBindings(idleSince: (providerId: string) => number): AsyncIterable<readonly RestoredBinding[]>;

  getMeta(name: string): Promise<string | undefined>;
  setMeta(name: string, value: string | undefined): Promise<void>;

  /** Whether the last write went through, and if not, why (no secrets). */
  readonly trouble: string | undefined;
  close(): Promise<void>;
}
