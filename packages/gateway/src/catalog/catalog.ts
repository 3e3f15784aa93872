import type { ErrorCode, KeySnapshot, Pool, Secret } from "@keywheel/pool";
import type { KeyRecord, ProviderRecord, TokenRecord } from "../store/store.ts";
import type { ProviderSettings } from "../contract/settings.ts";

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

/** What an environment reference comes to at this moment. */
export type Resolution =
  | { readonly kind: "resolved"; readonly value: Secret }
  | { readonly kind: "unset" | "empty" | "unsendable"; readonly message: string };

/** Where `$NAME` is looked up: the process's environment and the env file, read anew when it changes. */
export interface EnvironmentReader {
  resolve(name: string): Resolution;
  /** Called when the values may have changed. */
  onChange(listener: () => void): void;
}

/** What the data plane asks of the catalog; synchronous, from memory. */
export interface CatalogView {
  bySlug(slug: string): ProviderRuntime | undefined;
  /** Whether clients must show a token. */
  readonly requiresToken: boolean;
  /** The token that this text is, or undefined. Constant-time in the stored hashes. */
  findToken(text: string): TokenRecord | undefined;
  /** All values that must never be shown, for the redactor. */
  secrets(): Iterable<Secret>;
}

export type { ErrorCode, KeyRecord, KeySnapshot, ProviderRecord, TokenRecord };
