import { KeywheelError, Secret } from "@keywheel/pool";
import type { WebhookPatch, WebhookRecord } from "../store/store.ts";
import { type CatalogCore, refuseIfAny } from "./core.ts";
import { parseWebhookUrl } from "./webhook-url.ts";

/** What a caller wants of a webhook. */
export interface WebhookWishes {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  /** Types of events; null for all. */
  readonly events?: readonly string[] | null | undefined;
  readonly enabled?: boolean | undefined;
}

/** Events are rare, and each is sent to all of them. */
const mostWebhooks = 50;
/** Between the 24 and 64 bytes of the specification. @see https://www.standardwebhooks.com */
const secretBytes = 32;

/** Each is a signature more in a header. */
const mostFormer = 4;

/** Where events are sent to. */
export class WebhookBook {
  readonly #core: CatalogCore;
  readonly #byId = new Map<string, WebhookRecord>();

  constructor(core: CatalogCore, records: readonly WebhookRecord[]) {
    this.#core = core;
    this.follow(records);
  }

  get count(): number {
    return this.#byId.size;
  }

  /** In order of creation. */
  list(): readonly WebhookRecord[] {
    return [...this.#byId.values()];
  }

  find(id: string): WebhookRecord | undefined {
    return this.#byId.get(id);
  }

  /** @throws KeywheelError not_found */
  get(id: string): WebhookRecord {
    const record = this.#byId.get(id);
    if (record === undefined) throw new KeywheelError("not_found", "There is no such webhook");
    return record;
  }

  /**
   * @returns the record, and the secret that signs what is sent there, for the only time
   * @throws KeywheelError validation_failed, conflict, store_unavailable
   */
  add(wishes: WebhookWishes & { readonly url: string }): Promise<{ record: WebhookRecord; secret: Secret }> {
    const core = this.#core;
    return core.alone(async () => {
      const url = this.#urlOf(wishes.url);
      if (this.#byId.size >= mostWebhooks) {
        const hint = "Remove one that is not needed any more.";
        throw new KeywheelError("conflict", `There are ${mostWebhooks} webhooks already, which is the most`, { hint });
      }
      const secret = this.#newSecret();
      const at = core.now();
      const record: WebhookRecord = {
        id: core.newId("whk"),
        name: wishes.name ?? "",
        url,
        events: eventsOf(wishes.events ?? null),
        enabled: wishes.enabled ?? true,
        disabledReason: null,
        secret: { kind: "literal", value: secret },
        formerSecrets: [],
        createdAt: at,
        updatedAt: at,
      };
      core.deps.learnSecrets?.([secret]);
      await core.write((store) => store.insertWebhook(record));
      this.#byId.set(record.id, record);
      return { record, secret };
    });
  }

  /** Changes what is named; the secret stays. @throws KeywheelError not_found, validation_failed, store_unavailable */
  change(id: string, { url, events, name, enabled }: WebhookWishes): Promise<WebhookRecord> {
    return this.#patch(id, () => ({
      ...(name === undefined ? {} : { name }),
      ...(url === undefined ? {} : { url: this.#urlOf(url) }),
      ...(events === undefined ? {} : { events: eventsOf(events) }),
      ...(enabled === undefined ? {} : { enabled, disabledReason: null }),
    }));
  }

  /**
   * Gives it another secret. The former ones sign beside it: the present one for so long, those before it for as long as was
   * said of them; with 0 none does any more.
   *
   * @param overlapMs 0 to 7 days
   * @returns the record, and the new secret, for the only time
   * @throws KeywheelError not_found, conflict, store_unavailable
   */
  async rotate(id: string, overlapMs: number): Promise<{ record: WebhookRecord; secret: Secret }> {
    const secret = this.#newSecret();
    const record = await this.#patch(id, (before) => {
      const now = this.#core.now();
      const present = before.secret.kind === "literal" ? [{ value: before.secret.value, until: now + overlapMs }] : [];
      const formerSecrets =
        overlapMs === 0 ? [] : [...present, ...before.formerSecrets].filter(({ until }) => until > now);
      if (formerSecrets.length > mostFormer) {
        const hint = "Wait until one is over, or end them all: a new secret without an overlap.";
        throw new KeywheelError("conflict", `${mostFormer} former secrets sign beside the present one already`, {
          hint,
        });
      }
      this.#core.deps.learnSecrets?.([secret]);
      return { secret: { kind: "literal", value: secret }, formerSecrets };
    });
    return { record, secret };
  }

  /** Its receiver has said that it is gone for good. @throws KeywheelError not_found, store_unavailable */
  async switchOff(id: string): Promise<void> {
    await this.#patch(id, () => ({ enabled: false, disabledReason: "gone" }));
  }

  /** What waits to be sent there goes with it. @throws KeywheelError not_found, store_unavailable */
  remove(id: string): Promise<void> {
    return this.#core.alone(async () => {
      this.get(id);
      await this.#core.write((store) => store.deleteWebhook(id));
      this.#byId.delete(id);
    });
  }

  /** Makes those in memory the stored ones. */
  follow(records: readonly WebhookRecord[]): void {
    this.#core.deps.learnSecrets?.(
      records.flatMap(({ secret, formerSecrets }) => [
        ...(secret.kind === "literal" ? [secret.value] : []),
        ...formerSecrets.map(({ value }) => value),
      ]),
    );
    this.#byId.clear();
    for (const record of records) this.#byId.set(record.id, record);
  }

  #newSecret(): Secret {
    return new Secret(`whsec_${Buffer.from(this.#core.deps.random(secretBytes)).toString("base64")}`);
  }

  #patch(id: string, plan: (before: WebhookRecord) => Omit<WebhookPatch, "updatedAt">): Promise<WebhookRecord> {
    const core = this.#core;
    return core.alone(async () => {
      const before = this.get(id);
      const patch = { ...plan(before), updatedAt: core.now() };
      await core.write((store) => store.updateWebhook(id, patch));
      const record = { ...before, ...patch };
      this.#byId.set(id, record);
      return record;
    });
  }

  #urlOf(text: string): string {
    const { allowPrivateMetadata } = this.#core.deps;
    const parsed = parseWebhookUrl(text, { allowPrivateMetadata });
    if (parsed.ok) return parsed.url;
    refuseIfAny([{ path: "url", message: parsed.problem, code: parsed.code }]);
    throw new Error("a refused URL was not refused");
  }
}

function eventsOf(events: readonly string[] | null): readonly string[] | null {
  return events === null ? null : [...new Set(events)];
}
