import type { FieldRefusal } from "../contract/field-faults.ts";
import type { ProviderCreate, ProviderPatchBody } from "../contract/provider.ts";
import type { KeySecret, ProviderPatch, ProviderRecord } from "../store/store.ts";
import { sameOrigin } from "./base-url.ts";
import { type CatalogCore, conflict, refuseIfAny } from "./core.ts";
import { showSecret } from "./key-text.ts";
import type { ProviderEntry } from "./provider-entry.ts";
import { apiKeyOf, baseUrlOf, checkSlug, type RecordGround, recordOf, settingsOf } from "./provider-record.ts";

/** Providers: what may be said of them, and how they change. */
export class ProviderBook {
  readonly #core: CatalogCore;
  readonly #ground: RecordGround;

  constructor(core: CatalogCore) {
    this.#core = core;
    this.#ground = {
      allowPrivateMetadata: core.deps.allowPrivateMetadata,
      newId: core.newId,
      now: () => core.now(),
      hasSlug: (slug) => core.bySlug(slug) !== undefined,
    };
  }

  /** In order of creation. */
  list(): ProviderEntry[] {
    return [...this.#core.entries()];
  }

  /** By id or slug. */
  find(idOrSlug: string): ProviderEntry | undefined {
    return this.#core.find(idOrSlug);
  }

  /** @throws KeywheelError unknown_provider */
  get(idOrSlug: string): ProviderEntry {
    return this.#core.entry(idOrSlug);
  }

  /** @throws KeywheelError validation_failed, conflict, store_unavailable */
  add(body: ProviderCreate): Promise<ProviderEntry> {
    const core = this.#core;
    return core.alone(async () => {
      const record = this.recordOf(body);
      await core.write((store) => store.insertProvider(record));
      const entry = core.take(record);
      await core.configure(entry);
      core.tell({ type: "provider-created", providerId: record.id, at: record.createdAt });
      return entry;
    });
  }

  /** @throws KeywheelError unknown_provider, validation_failed, conflict, store_unavailable */
  change(idOrSlug: string, body: ProviderPatchBody): Promise<ProviderEntry> {
    const core = this.#core;
    return core.alone(async () => {
      const entry = core.entry(idOrSlug);
      const patch = this.#patchOf(entry, body);
      if (Object.keys(patch).length === 0) return entry;
      core.managed.checkProvider(entry.record, patch);
      const at = core.now();
      await core.write((store) => store.updateProvider(entry.record.id, { ...patch, updatedAt: at }));
      core.rename(entry, { ...entry.record, ...patch, updatedAt: at });
      await core.configure(entry);
      core.tell({ type: "provider-changed", providerId: entry.record.id, at });
      return entry;
    });
  }

  /** Removes the provider with its keys and sessions. @throws KeywheelError unknown_provider, store_unavailable */
  remove(idOrSlug: string): Promise<void> {
    const core = this.#core;
    return core.alone(async () => {
      const entry = core.entry(idOrSlug);
      const { id, slug } = entry.record;
      core.managed.checkRemoval(id, `The provider ${slug}`);
      await core.write((store) => store.deleteProvider(id));
      core.drop(entry);
      await entry.pool.remove();
      core.tell({ type: "provider-deleted", providerId: id, at: core.now() });
    });
  }

  /**
   * The record that a body makes; nothing is changed.
   *
   * @param slugIsTaken whether it is only to be compared with the provider of that slug
   * @throws KeywheelError validation_failed, conflict
   */
  recordOf(body: ProviderCreate, options?: { readonly slugIsTaken?: boolean }): ProviderRecord {
    return recordOf(this.#ground, body, options);
  }

  #patchOf(entry: ProviderEntry, body: ProviderPatchBody): ProviderPatch {
    const { record } = entry;
    const problems: FieldRefusal[] = [];
    const differs = (path: string, sent: unknown, held: unknown): void => {
      if (sent !== undefined && sent !== held)
        problems.push({ path, message: `\`${path}\` cannot be changed`, code: "read_only" });
    };
    differs("id", body.id, record.id);
    differs("created_at", body.created_at, new Date(record.createdAt).toISOString());
    const baseUrl = body.base_url === undefined ? undefined : baseUrlOf(this.#ground, body.base_url, problems);
    const apiKey = apiKeyOf(body.api_key, problems);
    const settings = body.settings === undefined ? undefined : settingsOf(record.settings, body.settings, problems);
    refuseIfAny(problems);
    if (body.slug !== undefined) checkSlug(this.#ground, body.slug, record.slug);
    if (baseUrl !== undefined) checkHostChange(entry, baseUrl, apiKey, body.confirm_host_change === true);
    return changesOf(record, {
      slug: body.slug,
      name: body.name,
      kind: body.kind,
      preset: body.preset,
      baseUrl,
      apiKey,
      enabled: body.enabled,
      settings,
    });
  }
}

/** A new place for the keys needs a word of consent: they would be sent there with the next request. */
function checkHostChange(
  entry: ProviderEntry,
  baseUrl: string,
  apiKey: KeySecret | null | undefined,
  confirmed: boolean,
): void {
  if (confirmed || sameOrigin(entry.record.baseUrl, baseUrl)) return;
  // A provider-level key that this very call brings, or takes away, is none that was stored for the old host.
  const holdsKey = entry.record.apiKey !== null && apiKey === undefined;
  if (!entry.hasKeys && !holdsKey) return;
  const [from, to] = [entry.baseUrl.host, new URL(baseUrl).host];
  const message = `The stored keys of this provider would be sent to ${to} instead of ${from}`;
  throw conflict("base_url", "host_change", message, "If that is meant, send `confirm_host_change: true` with it.");
}

function changesOf(
  record: ProviderRecord,
  sent: { [Name in keyof ProviderPatch]: ProviderPatch[Name] | undefined },
): ProviderPatch {
  const changed = Object.entries(sent).filter(([name, value]) => {
    const held = record[name as keyof ProviderRecord];
    return value !== undefined && !isSame(value, held);
  });
  return Object.fromEntries(changed) as ProviderPatch;
}

function isSame(value: unknown, held: unknown): boolean {
  if (typeof value !== "object" || value === null || typeof held !== "object" || held === null) return value === held;
  // A value that was typed anew counts as new, also when it shows the same; a reference that came back from GET does not.
  if ("kind" in value && "kind" in held) {
    const [one, other] = [value as KeySecret, held as KeySecret];
    return one.kind === "reference" && other.kind === "reference" && showSecret(one) === showSecret(other);
  }
  return JSON.stringify(value) === JSON.stringify(held);
}
