import type { PoolEvent, StatusReason } from "@keywheel/pool";
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
  /** When it was changed last, epoch ms: the same at every gateway that has the present configuration. */
  readonly updatedAt: number;
  /** `updatedAt` as it was before it was disabled for a refusal; undefined if that was elsewhere or before the start. */
  readonly refusedFrom: number | undefined;
}

export interface WebhookWatchDeps {
  readonly tell: (told: Told & { readonly type: WebhookEvent }) => void;
  readonly provider: (id: string) => { readonly id: string; readonly slug: string; readonly name: string } | undefined;
  readonly key: (id: string) => WatchedKey | undefined;
  /** Keys that are disabled for a refusal as it starts. */
  readonly refusedKeys: Iterable<string>;
  /** Takes every secret out of a text. */
  readonly redact: (text: string) => string;
}

/** Looks at what goes by for what webhooks are told of keys. Its methods run on the request path: quick, and they never throw. */
export class WebhookWatch {
  readonly #deps: WebhookWatchDeps;
  /** Keys that were refused: one that is enabled again has recovered. */
  readonly #refused: Set<string>;

  constructor(deps: WebhookWatchDeps) {
    this.#deps = deps;
    this.#refused = new Set(deps.refusedKeys);
  }

  poolEvent(event: PoolEvent): void {
    if (event.type === "key-disabled") {
      const { keyId, reason, httpStatus, at } = event;
      this.#refused.add(keyId);
      const message = event.message === undefined ? null : this.#deps.redact(event.message);
      const facts = { reason, http_status: httpStatus, message };
      // Each gateway that is refused with it has an instant of its own; what it was before is one for all.
      const mark = `${keyId} ${this.#deps.key(keyId)?.refusedFrom ?? at}`;
      this.#tellOfKey("key.disabled", event.poolId, { keyId, facts, at, mark });
    } else if (event.type === "key-recovered") {
      const { keyId, at } = event;
      this.#tellOfKey("key.recovered", event.poolId, { keyId, facts: { after: "cooldown" }, at });
    }
  }

  catalogEvent(event: CatalogEvent): void {
    if (event.type === "key-deleted") for (const keyId of event.keyIds) this.#refused.delete(keyId);
    // A variable that has another value now says so of its provider.
    if (event.type === "provider-changed") for (const keyId of this.#refused) this.#look(keyId, event.at);
    if (event.type === "key-changed") for (const keyId of event.keyIds) this.#look(keyId, event.at);
  }

  /** Whether a key was disabled for a refusal elsewhere, or is on again after one. */
  #look(keyId: string, at: number): void {
    const key = this.#deps.key(keyId);
    if (key === undefined) return void this.#refused.delete(keyId);
    if (!key.enabled) {
      if (key.disabledReason !== null) this.#refused.add(keyId);
      return;
    }
    if (!this.#refused.delete(keyId)) return;
    const mark = `${keyId} ${key.updatedAt}`;
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
