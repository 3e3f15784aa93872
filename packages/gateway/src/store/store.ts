import type {
  DisabledRecord,
  Fingerprint,
  HealthRecord,
  Pin,
  RestoredBinding,
  Secret,
  StatusReason,
  TouchedSession,
} from "@keywheel/pool";
import type { RequestBlock } from "../requests/request-blocks.ts";

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
  /** Keys that share their limits, as the operator names them; empty for a key by itself. */
  readonly group: string;
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
  /** From when on it is refused; null for never. */
  readonly expiresAt: number | null;
  /** Requests in any 60 seconds; null for no limit. */
  readonly maxRequestsPerMinute: number | null;
  /** Requests at a time, streams until their end; null for no limit. */
  readonly maxConcurrent: number | null;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

/** What can be changed of a token. */
export type TokenTerms = Pick<
  TokenRecord,
  "name" | "providerIds" | "expiresAt" | "maxRequestsPerMinute" | "maxConcurrent"
>;

/** Where events are sent to. */
export interface WebhookRecord {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  /** Types of events; null for all. */
  readonly events: readonly string[] | null;
  readonly enabled: boolean;
  /** `gone`: the receiver has answered 410, and was switched off for it. */
  readonly disabledReason: "gone" | null;
  /** `whsec_…`, by which what is sent is signed. */
  readonly secret: KeySecret;
  /** Those that it had before, newest first: each signs beside it for a while. Empty where they cannot be read. */
  readonly formerSecrets: readonly FormerSecret[];
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface FormerSecret {
  readonly value: Secret;
  /** Epoch ms; from then on it signs nothing. */
  readonly until: number;
}

export type WebhookPatch = Partial<
  Pick<WebhookRecord, "name" | "url" | "events" | "enabled" | "disabledReason" | "secret" | "formerSecrets">
> &
  Pick<WebhookRecord, "updatedAt">;

/** An event on its way to one webhook. */
export interface QueuedDelivery {
  /** What the receiver knows it by, however often it comes. */
  readonly id: string;
  readonly webhookId: string;
  readonly type: string;
  readonly body: string;
  readonly createdAt: number;
  /** What became of it, if it was sent already. */
  readonly outcome?: Omit<DeliveryOutcome, "id">;
}

/** A pool that has nothing left to serve with, or has again. */
export interface PoolTurn {
  readonly providerId: string;
  readonly isExhausted: boolean;
  /** When it was seen, epoch ms. */
  readonly at: number;
}

export interface DeliveryRecord extends Omit<QueuedDelivery, "outcome"> {
  readonly attempts: number;
  /** When it is tried next; null once it is settled. */
  readonly nextAt: number | null;
  readonly delivered: boolean;
  /** What the receiver answered last; null if nothing. */
  readonly lastStatus: number | null;
  /** Why it was not delivered; without secrets. */
  readonly lastError: string | null;
  readonly lastAt: number | null;
}

export type DeliveryOutcome = Omit<DeliveryRecord, "webhookId" | "type" | "body" | "createdAt">;

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
  readonly webhooks: readonly WebhookRecord[];
  readonly health: readonly HealthRecord[];
}

export type ProviderPatch = Partial<Omit<ProviderRecord, "id" | "createdAt">>;

/** A new value never comes without its new version: the version is part of what the ciphertext is bound to. */
export type KeyPatch = Partial<
  Pick<KeyRecord, "label" | "weight" | "enabled" | "order" | "group" | "disabledReason" | "updatedAt">
> &
  (
    | { readonly secret: KeySecret; readonly secretVersion: number }
    | { readonly secret?: never; readonly secretVersion?: never }
  );

/** Changes of many things at once, as a file of configuration asks for them. */
export interface ConfigurationChange {
  readonly deletedProviders: readonly string[];
  readonly insertedProviders: readonly ProviderRecord[];
  readonly updatedProviders: readonly { readonly id: string; readonly patch: ProviderPatch }[];
  readonly deletedKeys: readonly string[];
  readonly insertedKeys: readonly KeyRecord[];
  readonly updatedKeys: readonly { readonly id: string; readonly patch: KeyPatch }[];
  readonly deletedTokens: readonly string[];
  readonly insertedTokens: readonly TokenRecord[];
  readonly updatedTokens: readonly { readonly id: string; readonly terms: TokenTerms }[];
  readonly meta: Readonly<Record<string, string>>;
}

/** What became of a key while it served, to be kept. */
export type KeyOutcome =
  | { readonly kind: "health"; readonly record: HealthRecord }
  | { readonly kind: "disable"; readonly record: DisabledRecord };

export interface SessionFilter {
  readonly providerId?: string;
  readonly keyId?: string;
  /** Part of the session's id, in either case. */
  readonly search?: string;
  /** From 1 up. */
  readonly limit: number;
  /** What the last page answered as `next`. */
  readonly cursor?: string;
}

export interface SessionPage {
  readonly sessions: readonly SessionRecord[];
  /** Undefined on the last page. */
  readonly next: string | undefined;
}

/** Whose binding ends in memory, now that its row is gone. */
export interface EndedSession {
  readonly providerId: string;
  readonly fingerprint: Fingerprint;
}

/** A request that has ended, as it is kept. */
export interface StoredRequest {
  /** Grows with each request that ends; no two have the same. */
  readonly seq: number;
  readonly id: string;
  readonly providerId: string | null;
  /** The key that the answer came from. */
  readonly keyId: string | null;
  /** Keys that it tried before, by which it is found as well. */
  readonly otherKeyIds: readonly string[];
  readonly sessionId: string | null;
  readonly status: number;
  readonly failed: boolean;
  /** Epoch ms. */
  readonly startedAt: number;
  /** Everything to be told of it, as JSON without line breaks. */
  readonly detail: string;
}

export interface RequestFilter {
  readonly providerId?: string;
  /** A key that it was served by, or tried. */
  readonly keyId?: string;
  readonly sessionId?: string;
  /** Inclusive. */
  readonly status?: { readonly from: number; readonly to: number };
  readonly failed?: boolean;
  /** True: only those that a key failed, whether or not another one served them. */
  readonly failover?: boolean;
  readonly beforeSeq?: number;
  /** From 1 up. */
  readonly limit: number;
}

export interface UsageCounts {
  readonly requests: number;
  readonly errors: number;
  /** Attempts after which another key was asked, or none was left. */
  readonly failovers: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** What was used in an hour or a minute. Empty texts for what it is not told apart by. */
export interface UsageSum extends UsageCounts {
  /** `detail`: minutes as hours are, told apart by everything; `minute`: by provider alone. */
  readonly span: "hour" | "minute" | "detail";
  /** Where the hour or minute begins. */
  readonly at: number;
  readonly providerId: string;
  readonly keyId: string;
  /** The key's label then. */
  readonly label: string;
  readonly tokenId: string;
  readonly model: string;
}

/** What a request was recognised by; `none`: nothing ties it to a key. */
export type AffinitySource = "session" | "conversation" | "object" | "none";

/** Requests of an hour by what tied them to their key and what became of that, and the input that their answers told. */
export interface AffinitySum {
  /** Where the hour begins; 0 where hours were summed up. */
  readonly at: number;
  readonly providerId: string;
  readonly source: AffinitySource;
  /** `kept` its key; `new`: there was none to keep; else why it had to leave it. */
  readonly fate: string;
  readonly requests: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

export interface AffinityQuery {
  /** Epoch ms, of whole hours. */
  readonly from: number;
  readonly to: number;
  readonly providerId?: string;
}

/** `time`: hours or minutes as they are kept; `day`: days in UTC. */
export type UsageGroup = "time" | "day" | "provider" | "key" | "label" | "token" | "model";

export interface UsageQuery {
  readonly span: UsageSum["span"];
  /** Inclusive. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  readonly by: readonly UsageGroup[];
  readonly providerId?: string;
  readonly keyId?: string;
  readonly limit: number;
}

/** Until when sums are kept: instants. */
export interface UsageLimits {
  readonly hours: number;
  readonly minutes: number;
  readonly details: number;
}

/** What was asked of a key, ever. */
export interface KeyTotals {
  readonly keyId: string;
  readonly requests: number;
  readonly successes: number;
  readonly failures: number;
  readonly lastUsedAt: number;
}

/** Where activity goes on after a restart. */
export interface StoredActivity {
  readonly lastSeq: number;
  /** Another one for each process that shares the database: what it numbers begins there, apart from the others. */
  readonly lane: number;
  readonly totals: readonly KeyTotals[];
}

/** What is to be added to the activity that is kept. */
export interface ActivityBatch {
  readonly requests: readonly RequestBlock[];
  readonly usage: readonly UsageSum[];
  readonly totals: readonly KeyTotals[];
  readonly affinity?: readonly AffinitySum[];
  /** Whether it has waited for the database already: of what is not late, a server that breaks down may lose a second's worth. */
  readonly isLate?: boolean;
}

/**
 * Of a database that several gateways share.
 *
 * A counter in the database grows in the same transaction as each change of the configuration. What was loaded here belongs
 * to one count: a change that was planned on an older one is refused (`isOutdated`) and changes nothing, so that whoever
 * planned it loads what there is and plans again.
 */
export interface ChangeFeed {
  /** Whether a write was refused because another gateway has changed the configuration since it was loaded here. */
  isOutdated(error: unknown): boolean;
  /** Whether there are changes of others that were not loaded here. @throws KeywheelError store_unavailable */
  hasNews(): Promise<boolean>;
  /** How often it was loaded: who keeps something beside the catalog looks again when this has grown. */
  loads(): number;
  /** Takes back that what was loaded is in memory: there are news until it is loaded again, and no change is planned on it. */
  distrust(): void;
  /** Calls back when others announce changes, perhaps once too often, and perhaps not at all: ask from time to time. */
  listen(onNews: () => void): { close(): Promise<void> };
}

/**
 * What must outlive the process: configuration, disabled keys, cooldowns, bindings.
 *
 * Every method is one transaction, unless it says otherwise, and settles when that is durable. Methods reject with a
 * KeywheelError: `conflict` for a slug, key value or id that is taken, `not_found`, `store_unavailable` when the database
 * cannot be used; it is used again by itself as soon as it can. Nothing here is asked while a request is being served,
 * but for `saveOutcomes` through the journal.
 *
 * While the master key is not the one that sealed what is stored, values are read as `undecryptable`, and whatever would
 * seal a new one rejects with `store_unavailable`.
 */
export interface Store {
  load(): Promise<StoredState>;

  insertProvider(provider: ProviderRecord): Promise<void>;
  updateProvider(id: string, patch: ProviderPatch): Promise<void>;
  /** Removes its keys, healths and sessions with it, the sessions before in parts. An unknown one is no error. */
  deleteProvider(id: string): Promise<void>;

  /**
   * All or none. Their order is their order of creation.
   *
   * @throws KeywheelError conflict with `details` naming the values held already by index (`keys.3`)
   */
  insertKeys(keys: readonly KeyRecord[]): Promise<void>;
  /** Providers, and keys of these or of others, all or none. @throws KeywheelError conflict */
  insertProvidersAndKeys(providers: readonly ProviderRecord[], keys: readonly KeyRecord[]): Promise<void>;
  /** All or none, any number. A new value removes the key's stored healths: they were learnt with the old one. */
  updateKeys(patches: readonly { readonly id: string; readonly patch: KeyPatch }[]): Promise<void>;
  /** Any number, with their healths and sessions, the sessions before in parts. Unknown ones are no error. */
  deleteKeys(ids: readonly string[]): Promise<void>;
  /** Which of these values (or references) the provider holds already: the id of the key that holds it, by index. */
  findHeld(providerId: string, secrets: readonly KeySecret[]): Promise<readonly (string | undefined)[]>;

  /**
   * Writes down what became of keys, in this order. May be called twice with the same.
   *
   * A health that was learnt with another value of its key, or whose key is gone, is left out. A key is disabled unless
   * it is gone, was disabled before, or has another value by now.
   *
   * @returns by index, whether it took effect
   */
  saveOutcomes(outcomes: readonly KeyOutcome[]): Promise<readonly boolean[]>;
  /** Removes stored healths of these keys (all models). */
  clearHealth(keyIds: readonly string[]): Promise<void>;

  /**
   * Many changes in one transaction, all or none; sessions of what goes away before it, in parts. What goes away makes
   * room for what comes.
   *
   * @throws KeywheelError conflict, not_found
   */
  changeConfiguration(change: ConfigurationChange): Promise<void>;

  insertToken(token: TokenRecord): Promise<void>;
  /** An unknown one is no error. */
  updateToken(id: string, terms: TokenTerms): Promise<void>;
  /** An unknown one is no error. */
  deleteToken(id: string): Promise<void>;
  /** The instant never moves back. */
  touchTokens(used: readonly { readonly id: string; readonly at: number }[]): Promise<void>;

  insertWebhook(webhook: WebhookRecord): Promise<void>;
  /** @throws KeywheelError not_found */
  updateWebhook(id: string, patch: WebhookPatch): Promise<void>;
  /** With what waits to be sent to it. An unknown one is no error. */
  deleteWebhook(id: string): Promise<void>;
  /**
   * Keeps what is to be sent, due at once, or what was sent already. Leaves out those whose webhook is gone, and what would be more than `mostWaiting` of
   * one; an id that is there already is not taken again.
   *
   * @returns how many it took
   */
  insertDeliveries(deliveries: readonly QueuedDelivery[], mostWaiting: number): Promise<number>;
  /**
   * Keeps how a pool stands, and with it what is to be sent of that: both or neither. Of several that see the same, also over
   * gateways, one takes it.
   *
   * @returns how many deliveries it took; undefined, and takes none, if the pool stood so already or is gone
   */
  insertPoolTurn(
    turn: PoolTurn,
    deliveries: readonly QueuedDelivery[],
    mostWaiting: number,
  ): Promise<number | undefined>;
  /** Says that the recovery of these pools is watched for. Those that are not exhausted are left out. */
  watchExhaustedPools(providerIds: readonly string[], now: number): Promise<void>;
  /**
   * The exhausted pools for which nobody has watched since; the caller does from now on, and nobody else is given them.
   *
   * @returns the ids of their providers
   */
  takeOverExhaustedPools(instants: {
    readonly unwatchedSince: number;
    readonly now: number;
  }): Promise<readonly string[]>;
  /** Those that are due, oldest first; they are given to nobody else before `leaseUntil`, and are due again then. */
  takeDueDeliveries(limits: {
    readonly now: number;
    readonly leaseUntil: number;
    readonly limit: number;
    /** Webhooks whose deliveries are left where they are. */
    readonly except?: readonly string[];
  }): Promise<readonly DeliveryRecord[]>;
  /** When the next one is due; undefined if none waits. */
  nextDeliveryAt(): Promise<number | undefined>;
  /** An unknown one is no error. */
  saveDeliveryOutcome(outcome: DeliveryOutcome): Promise<void>;
  /** Newest first. */
  listDeliveries(webhookId: string, limit: number): Promise<readonly DeliveryRecord[]>;
  /** Of each webhook keeps the newest `keep` that are settled, and all that wait. */
  pruneDeliveries(keep: number): Promise<void>;

  /** Adds up: inserts new sessions, moves changed ones, adds the request counts. Leaves out those whose key is gone. */
  saveSessions(touched: readonly TouchedSession[]): Promise<void>;
  /** Newest use first. A session used between two pages is on neither twice; it may be on none. */
  listSessions(filter: SessionFilter): Promise<SessionPage>;
  /** Removes the sessions with this id, or whose client sent the value with this hash (`SessionRef.valueHash`). */
  takeSessions(session: { readonly id: string; readonly valueHash: string }): Promise<readonly EndedSession[]>;
  /** In parts: each is a transaction of its own, so that other writes get their turn. */
  deleteSessionsOfKeys(keyIds: readonly string[]): Promise<void>;
  /** In parts. @returns how many */
  deleteSessionsIdleSince(providerId: string, before: number): Promise<number>;
  /** Every stored binding that was used at or after `idleSince` of its provider, in chunks, in no particular order. */
  readBindings(idleSince: (providerId: string) => number): AsyncIterable<readonly RestoredBinding[]>;

  /** What was pinned; a later pin of the same fingerprint takes its place. */
  savePins(pins: readonly Pin[]): Promise<void>;
  /** The newest `limit` of a kind, oldest first; no conversation whose key has ended its bindings since. */
  readPins(kind: Pin["kind"], limit: number): Promise<readonly Pin[]>;
  /** Keeps the newest `keep` of a kind, and of those none that is older than `before`. In parts. @returns how many went */
  prunePins(kind: Pin["kind"], limits: { readonly keep: number; readonly before: number }): Promise<number>;

  /** Keeps requests, and adds to sums and totals. */
  saveActivity(batch: ActivityBatch): Promise<void>;
  /** Newest first. */
  listRequests(filter: RequestFilter): Promise<readonly StoredRequest[]>;
  findRequest(id: string): Promise<StoredRequest | undefined>;
  /** Keeps the newest `keep`, and of those none from before `beforeSeq`. In parts. @returns how many went */
  pruneRequests(limits: { readonly keep: number; readonly beforeSeq: number }): Promise<number>;
  /** Summed up by groups and in their order. A label beside `key` is the last by the alphabet that the key had. */
  readUsage(query: UsageQuery): Promise<readonly UsageSum[]>;
  /** Hours summed up, by provider, source and fate. */
  readAffinity(query: AffinityQuery): Promise<readonly AffinitySum[]>;
  /** What the process that goes on from here has to know: the last `seq` given (0 if none was), totals of the keys there are. */
  loadActivity(): Promise<StoredActivity>;
  /** Removes sums of older hours (those of affinity as well), minutes and details, and totals of keys that are gone since. In parts. */
  pruneUsage(before: UsageLimits): Promise<number>;

  getMeta(name: string): Promise<string | undefined>;
  /** @param options `tells`: other gateways on the same database are to look at it */
  setMeta(name: string, value: string | undefined, options?: { readonly tells: boolean }): Promise<void>;
  /** Sets what is not set yet. @returns what is set now, by whomever */
  setMetaOnce(name: string, value: string): Promise<string>;
  /**
   * Of the gateways on one database, one does what is to be done once for all of them.
   *
   * @param everyMs how often it is to be done at the most
   * @returns whether it is this one's to do now; always where this process has the database alone
   */
  claim(task: string, everyMs: number): Promise<boolean>;

  /** How gateways on one database hear of each other's changes; undefined where this process has the database alone. */
  readonly feed?: ChangeFeed | undefined;

  /** Why nothing can be written at the moment, or what is damaged; undefined while all is well. It clears by itself. */
  readonly trouble: StoreTrouble | undefined;
  /** Lets what was begun finish. May be called twice. */
  close(): Promise<void>;
}

/** What keeps a database from being used as it should; without secrets. */
export interface StoreTrouble {
  /** What is wrong. */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
  /** Whether stored data cannot be read. It stays until a look at the whole database finds nothing. */
  readonly isDamage: boolean;
}

/** A store on this machine, and what its master key says. */
export interface OpenedStore extends Store {
  /** False while the stored values were sealed with another master key. @see Store */
  readonly masterKeyMatches: boolean;
  /** What the command line on the same machine signs in with. */
  readonly operatorToken: string;
}
