import type { ProviderKind } from "./store.ts";
import type { Generated } from "kysely";

// Column types that SQLite and PostgreSQL both have: booleans are 0 and 1, instants and counts `bigint`, JSON is text.
// A driver may answer a `bigint` as text; `toNumber` takes either.

export interface Database {
  readonly providers: ProviderTable;
  readonly keys: KeyTable;
  readonly key_healths: HealthTable;
  readonly tokens: TokenTable;
  readonly webhooks: WebhookTable;
  readonly webhook_deliveries: DeliveryTable;
  readonly exhausted_pools: ExhaustedPoolTable;
  readonly sessions: SessionTable;
  readonly pins: PinTable;
  readonly request_blocks: RequestBlockTable;
  readonly request_marks: RequestMarkTable;
  readonly usage_sums: UsageTable;
  readonly affinity_sums: AffinityTable;
  readonly key_totals: KeyTotalTable;
  readonly meta: MetaTable;
  readonly migrations: MigrationTable;
}

export type Flag = 0 | 1;

/** How a key's value is held. Exactly one of `sealed` and `reference` is set, as `kind` says. */
export interface SecretColumns {
  readonly secret_kind: "literal" | "reference";
  readonly secret_sealed: string | null;
  readonly secret_reference: string | null;
  /** Shown when the value cannot be opened. */
  readonly secret_masked: string | null;
}

/** As `SecretColumns`, all null when there is none. */
export type OptionalSecretColumns = { readonly [Column in keyof SecretColumns]: SecretColumns[Column] | null };

export interface ProviderTable extends OptionalSecretColumns {
  /** Order of creation. */
  readonly seq: Generated<number>;
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly kind: ProviderKind;
  readonly preset: string | null;
  readonly base_url: string;
  readonly enabled: Flag;
  readonly settings: string;
  readonly created_at: number;
  readonly updated_at: number;
}

export interface KeyTable extends SecretColumns {
  /** Order of creation: instants tie within a millisecond. */
  readonly seq: Generated<number>;
  readonly id: string;
  readonly provider_id: string;
  /** Unique in the provider: finds a value that is held already without opening any. */
  readonly fingerprint: string;
  readonly secret_version: number;
  readonly label: string;
  readonly weight: number;
  readonly enabled: Flag;
  readonly order: number;
  /** Not `group`, which is a word of SQL. */
  readonly group_name: string;
  readonly disabled_code: string | null;
  readonly disabled_http_status: number | null;
  readonly disabled_message: string | null;
  readonly disabled_at: number | null;
  /** When all bindings to the key ended at once; sessions bound before are as good as gone. */
  readonly bindings_ended_at: number | null;
  readonly created_at: number;
  readonly updated_at: number;
}

export interface HealthTable {
  readonly key_id: string;
  /** "" for the key as a whole. */
  readonly model: string;
  readonly secret_version: number;
  readonly failures: number;
  readonly cooldowns: number;
  readonly failures_seen: number;
  readonly cooled_at: number;
  readonly cool_until: number;
  readonly wait: string;
  readonly reason_code: string | null;
  readonly reason_http_status: number | null;
  readonly reason_message: string | null;
  readonly reason_at: number | null;
  /** The key whose limit it was, if it was another one's. */
  readonly reason_shared_from: string | null;
}

export interface TokenTable {
  readonly seq: Generated<number>;
  readonly id: string;
  readonly name: string;
  readonly hash: string;
  readonly prefix: string;
  /** A JSON list. */
  readonly provider_ids: string | null;
  readonly expires_at: number | null;
  readonly max_requests_per_minute: number | null;
  readonly max_concurrent: number | null;
  readonly created_at: number;
  readonly last_used_at: number | null;
}

export interface WebhookTable extends SecretColumns {
  readonly seq: Generated<number>;
  readonly id: string;
  readonly name: string;
  readonly url: string;
  /** A JSON list; null for all. */
  readonly events: string | null;
  readonly enabled: Flag;
  readonly disabled_reason: "gone" | null;
  /** Secrets before the last change, which sign beside the new one for a while: sealed JSON; null if there is none. */
  readonly former_sealed: string | null;
  readonly created_at: number;
  readonly updated_at: number;
}

/** What is to be sent, and what became of it. */
export interface DeliveryTable {
  readonly seq: Generated<number>;
  readonly id: string;
  readonly webhook_id: string;
  readonly type: string;
  /** As it is sent, to the last byte: it is signed. */
  readonly body: string;
  readonly created_at: number;
  readonly attempts: number;
  /** When it is tried next; null once it is settled. */
  readonly next_at: number | null;
  readonly delivered: Flag;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly last_at: number | null;
}

/** Pools of which webhooks were told that they are exhausted, and not yet that they have recovered. */
export interface ExhaustedPoolTable {
  readonly provider_id: string;
  readonly at: number;
  /** When a gateway that watches for its recovery said last that it does. */
  readonly watched_at: number;
}

export interface SessionTable {
  readonly seq: Generated<number>;
  readonly id: string;
  readonly value_hash: string;
  readonly carrier: string;
  readonly provider_id: string;
  readonly key_id: string;
  readonly fingerprint_high: number;
  readonly fingerprint_low: number;
  readonly bound_at: number;
  readonly last_used_at: number;
  readonly requests: number;
}

export interface PinTable {
  readonly provider_id: string;
  readonly kind: "object" | "conversation";
  readonly fingerprint_high: number;
  readonly fingerprint_low: number;
  readonly key_id: string;
  readonly at: number;
}

/** Requests, many in a row. No column refers to another table: what happened stays when keys and providers go. */
export interface RequestBlockTable {
  /** Order of their ends; tells the instant as well. */
  readonly last_seq: number;
  readonly first_seq: number;
  readonly first_started_at: number;
  /** How many. */
  readonly requests: number;
  /** @see RequestBlock */
  readonly data: Uint8Array;
}

/** What blocks are found by. */
export interface RequestMarkTable {
  readonly mark: string;
  readonly last_seq: number;
}

/** Empty texts for what a sum is not told apart by. */
export interface UsageTable {
  readonly span: "hour" | "minute" | "detail";
  /** Where the hour or minute begins. */
  readonly at: number;
  readonly provider_id: string;
  readonly key_id: string;
  readonly token_id: string;
  readonly model: string;
  /** The key's label then: it stays when the key goes, and when it is given another one. */
  readonly label: string;
  readonly requests: number;
  readonly errors: number;
  readonly failovers: number;
  readonly input_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
}

/** What became of requests that belonged to a key, by hour. */
export interface AffinityTable {
  /** Where the hour begins. */
  readonly at: number;
  readonly provider_id: string;
  readonly source: string;
  /** `kept`, `new`, or why they had to leave their key. */
  readonly fate: string;
  readonly requests: number;
  readonly input_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
}

export interface KeyTotalTable {
  readonly key_id: string;
  readonly requests: number;
  readonly successes: number;
  readonly failures: number;
  readonly last_used_at: number;
}

export interface MetaTable {
  readonly name: string;
  readonly value: string;
}

export interface MigrationTable {
  readonly name: string;
  readonly applied_at: number;
}
