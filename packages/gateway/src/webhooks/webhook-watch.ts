import type { PoolEvent, StatusReason } from "@keywheel/pool";
import type { ActivityEvent } from "../activity/events.ts";
import type { CatalogEvent } from "../catalog/events.ts";
import type { WebhookEvent } from "../contract/webhook.ts";
import type { Told } from "./outbox.ts";

/** A key as others are told of it. */
export interface WatchedKey {
  readonly providerId: string;
  readonly label: string;
  readonly enabled: boolean;
  /** Why the provider's refusal disabled it. */
  readonly disabledReason: StatusReason | null;
}

export interface WebhookWatchDeps {
  readonly tell: (told: Told & { readonly type: WebhookEvent }) => void;
  readonly provider: (id: string) => { readonly id: string; readonly slug: string; readonly name: string } | undefined;
  readonly key: (id: string) => WatchedKey | undefined;
  /** Keys that are disabled for a refusal as it starts. */
  readonly refusedKeys: Iterable<{ readonly id: string; readonly at: number }>;
  /** Takes every secret out of a text. */
  readonly redact: (text: string) => string;
}

type NoticeEvent = Extract<ActivityEvent, { readonly type: "notice" }>;

/** What says that a pool has nothing left to serve with. */
const exhaustion: ReadonlySet<string> = new Set(["pool_exhausted", "no_usable_key", "all_keys_refused"]);

/** Looks at what goes by for what webhooks are told of. Its methods run on the request path: quick, and they never throw. */
export class WebhookWatch {
  readonly #deps: WebhookWatchDeps;
  /** Keys that were refused, and when: one that is enabled again has recovered. */
  readonly #refused: Map<string, number>;
  /** By provider, what is said of it. */
  readonly #exhausted = new Map<string, Set<string>>();

  constructor(deps: WebhookWatchDeps) {
    this.#deps = deps;
    this.#refused = new Map([...deps.refusedKeys].map(({ id, at }) => [id, at]));
  }

  poolEvent(event: PoolEvent): void {
    if (event.type === "key-disabled") {
      const { keyId, reason, httpStatus, at } = event;
      this.#refused.set(keyId, at);
      const message = event.message === undefined ? null : this.#deps.redact(event.message);
      const facts = { reason, http_status: httpStatus, message };
      this.#tellOfKey("key.disabled", event.poolId, { keyId, facts, at, mark: `${keyId} ${at}` });
    } else if (event.type === "key-recovered") {
      const { keyId, at } = event;
      this.#tellOfKey("key.recovered", event.poolId, { keyId, facts: { after: "cooldown" }, at });
    }
  }

  catalogEvent(event: CatalogEvent): void {
    if (event.type === "key-deleted") for (const keyId of event.keyIds) this.#refused.delete(keyId);
    if (event.type === "provider-deleted") this.#exhausted.delete(event.providerId);
    // A variable that has another value now says so of its provider.
    if (event.type === "provider-changed") for (const keyId of this.#refused.keys()) this.#look(keyId, event.at);
    if (event.type === "key-changed") for (const keyId of event.keyIds) this.#look(keyId, event.at);
  }

  notice({ code, providerId, message, facts, resolvedAt, at }: NoticeEvent): void {
    if (providerId === undefined || !exhaustion.has(code)) return;
    const said = this.#exhausted.get(providerId) ?? new Set();
    const wasExhausted = said.size > 0;
    if (resolvedAt === undefined) said.add(code);
    else said.delete(code);
    this.#exhausted.set(providerId, said);
    const isExhausted = said.size > 0;
    if (wasExhausted === isExhausted) return;
    const provider = this.#deps.provider(providerId);
    if (provider === undefined) return;
    if (!isExhausted) return this.#deps.tell({ type: "pool.recovered", data: { provider }, at });
    const keys = { total: facts.total ?? facts.keys ?? null, resting: facts.resting ?? null };
    this.#deps.tell({
      type: "pool.exhausted",
      data: { provider, reason: code, message: this.#deps.redact(message), keys },
      at,
    });
  }

  /** Whether a key was disabled for a refusal elsewhere, or is on again after one. */
  #look(keyId: string, at: number): void {
    const key = this.#deps.key(keyId);
    if (key === undefined) return void this.#refused.delete(keyId);
    if (!key.enabled) {
      if (key.disabledReason !== null) this.#refused.set(keyId, key.disabledReason.at);
      return;
    }
    const refusedAt = this.#refused.get(keyId);
    if (refusedAt === undefined) return;
    this.#refused.delete(keyId);
    const mark = `${keyId} ${refusedAt}`;
    this.#tellOfKey("key.recovered", key.providerId, { keyId, facts: { after: "refusal" }, at, mark });
  }

  #tellOfKey(
    type: WebhookEvent,
    providerId: string,
    {
      keyId: id,
      facts,
      ...when
    }: { readonly keyId: string; readonly facts: object; readonly at: number; readonly mark?: string },
  ): void {
    const provider = this.#deps.provider(providerId);
    if (provider === undefined) return;
    const label = this.#deps.redact(this.#deps.key(id)?.label ?? "");
    this.#deps.tell({ type, data: { provider, key: { id, label }, ...facts }, ...when });
  }
}
