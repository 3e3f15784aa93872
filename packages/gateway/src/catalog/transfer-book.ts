import { isKeywheelError, KeywheelError } from "@keywheel/pool";
import type { FieldFault, FieldRefusal } from "../contract/field-faults.ts";
import type {
  ExportDocument,
  ExportedProvider,
  ExportedSecret,
  ImportCall,
  ImportReport,
} from "../contract/transfer.ts";
import type { KeyRecord, KeySecret, ProviderRecord } from "../store/store.ts";
import { sameOrigin } from "./base-url.ts";
import { type CatalogCore, refusal, refuseIfAny } from "./core.ts";
import { openValues, sealValues } from "./export-seal.ts";
import { newKeyRecord } from "./key-plan.ts";
import { parseKeyText, showSecret } from "./key-text.ts";
import type { ProviderBook } from "./provider-book.ts";
import type { ProviderEntry } from "./provider-entry.ts";
import { cellOf, cellShownAs, differencesOf, differencesOfKey, isShownAs, type TakenSecret } from "./transfer-match.ts";

type Entry = ImportReport["entries"][number];

/** What an import comes to, before anything of it is done. */
interface ImportPlan {
  readonly report: Mutable<Omit<ImportReport, "applied">>;
  readonly providers: ProviderRecord[];
  readonly keys: KeyRecord[];
  readonly problems: FieldRefusal[];
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Takes providers, keys and settings out of this gateway, and in from another one. */
export class TransferBook {
  readonly #core: CatalogCore;
  readonly #providers: ProviderBook;

  constructor(core: CatalogCore, providers: ProviderBook) {
    this.#core = core;
    this.#providers = providers;
  }

  /** @param passphrase encrypts the values of the keys; without it they are masked */
  async export(passphrase: string | undefined): Promise<ExportDocument> {
    const values: string[] = [];
    const take = (secret: KeySecret): ExportedSecret => {
      if (secret.kind === "reference") return showSecret(secret);
      if (passphrase === undefined || secret.kind === "undecryptable") return { masked: showSecret(secret) };
      return { masked: secret.value.masked, secret: values.push(secret.value.reveal()) - 1 };
    };
    const providers = [...this.#core.entries()].map((entry) => exportProvider(entry, take));
    const exportedAt = new Date(this.#core.now()).toISOString();
    const frame = { format: "keywheel-export", version: 1, exported_at: exportedAt, providers } as const;
    return { ...frame, secrets: passphrase === undefined ? null : await sealValues(values, passphrase, frame) };
  }

  /**
   * Adds what is not here yet, all or nothing; nothing that is here is changed.
   *
   * @param raw the document as it came, to which its sealed values are bound
   * @throws KeywheelError validation_failed for a document that cannot be taken or a wrong passphrase, conflict where
   *   something is here with other settings, store_unavailable
   */
  async import(call: ImportCall, raw: Readonly<Record<string, unknown>>): Promise<ImportReport> {
    const { document, passphrase, dry_run: isDryRun = false, on_conflict: rule = "stop" } = call;
    const { secrets: _secrets, ...frame } = raw;
    const values =
      document.secrets === null || passphrase === undefined
        ? undefined
        : await openValues(document.secrets, passphrase, frame);
    const core = this.#core;
    return core.alone(async () => {
      const plan = this.#plan(document, values);
      refuseIfAny(plan.problems);
      const { report, providers, keys } = plan;
      if (isDryRun) return { applied: false, ...report };
      if (rule === "stop") refuseConflicts(report.entries);
      if (providers.length + keys.length > 0) await this.#apply(providers, keys);
      return { applied: true, ...report };
    });
  }

  async #apply(providers: readonly ProviderRecord[], keys: readonly KeyRecord[]): Promise<void> {
    const core = this.#core;
    await core.write((store) => store.insertProvidersAndKeys(providers, keys));
    const keysOf = Map.groupBy(keys, ({ providerId }) => providerId);
    for (const record of providers) {
      const entry = core.take(record);
      if (!keysOf.has(record.id)) await core.configure(entry);
      core.tell({ type: "provider-created", providerId: record.id, at: record.createdAt });
    }
    for (const [providerId, records] of keysOf) {
      const entry = core.find(providerId);
      if (entry) await core.takeUpKeys(entry, records);
    }
  }

  #plan(document: ExportDocument, values: readonly string[] | undefined): ImportPlan {
    const none = { added: 0, unchanged: 0, conflicts: 0, missing: 0 };
    const report = { providers: { ...none }, keys: { ...none }, entries: [] };
    const plan: ImportPlan = { report, providers: [], keys: [], problems: [] };
    const slugs = new Set<string>();
    for (const [at, provider] of document.providers.entries()) {
      const path = `document.providers.${at}`;
      if (slugs.has(provider.slug)) {
        plan.problems.push({
          path: `${path}.slug`,
          message: `The provider ${provider.slug} is in it twice`,
          code: "repeated",
        });
      }
      slugs.add(provider.slug);
      this.#planProvider(plan, { provider, path, values });
    }
    return plan;
  }

  #planProvider(
    plan: ImportPlan,
    call: { provider: ExportedProvider; path: string; values: readonly string[] | undefined },
  ): void {
    const { provider, path, values } = call;
    const own = provider.api_key === null ? null : takeSecret(plan, provider.api_key, { path, values });
    const entry = this.#core.bySlug(provider.slug);
    const record = this.#recordOf(plan, { provider, path, apiKey: secretIn(own), isHere: entry !== undefined });
    if (record === undefined) return;
    const tell = (outcome: Entry["outcome"], reason: string | null): void => {
      plan.report.entries.push({ outcome, provider: provider.slug, key: null, reason });
    };
    const ownIsMissing = own !== null && "missing" in own && !isShownAs(entry?.record.apiKey, own.missing);
    if (ownIsMissing) {
      plan.report.providers.missing += 1;
      tell("missing", `Its own key ${own.missing} is not in the file: set it with \`keywheel provider set\``);
    }

    let target: { readonly id: string; readonly entry: ProviderEntry | undefined } = {
      id: record.id,
      entry: undefined,
    };
    let foreign: string | undefined;
    if (entry === undefined) {
      plan.providers.push(record);
      plan.report.providers.added += 1;
      tell("added", null);
    } else {
      target = { id: entry.record.id, entry };
      const differences = differencesOf(entry.record, record, own);
      if (differences.length === 0) plan.report.providers.unchanged += 1;
      else {
        plan.report.providers.conflicts += 1;
        tell("conflict", `It is here with another ${differences.join(", ")}`);
      }
      if (!sameOrigin(entry.record.baseUrl, record.baseUrl)) foreign = "Its provider leads to another host here";
    }
    planKeys(plan, { core: this.#core, provider, path, values, target, foreign });
  }

  /** The record that would be made; problems are noted under the path of the document. */
  #recordOf(
    plan: ImportPlan,
    call: { provider: ExportedProvider; path: string; apiKey: KeySecret | null; isHere: boolean },
  ): ProviderRecord | undefined {
    const { slug, name, kind, preset, base_url, enabled, settings } = call.provider;
    try {
      const body = { slug, name, kind, preset, base_url, enabled, settings };
      return { ...this.#providers.recordOf(body, { slugIsTaken: call.isHere }), apiKey: call.apiKey };
    } catch (error) {
      if (!isKeywheelError(error) || error.details.length === 0) throw error;
      plan.problems.push(
        ...error.details.map(({ path, message, code, params = {} }) => ({
          // Every refusal of a provider has one of ours; an error's type does not say so.
          code: (code ?? "refused") as FieldFault,
          params,
          path: `${call.path}.${path}`,
          message: `${slug}: ${message}`,
        })),
      );
      return undefined;
    }
  }
}

interface KeysCall {
  readonly core: CatalogCore;
  readonly provider: ExportedProvider;
  readonly path: string;
  readonly values: readonly string[] | undefined;
  readonly target: { readonly id: string; readonly entry: ProviderEntry | undefined };
  /** Why no key may be added to the provider that is here. */
  readonly foreign: string | undefined;
}

function planKeys(plan: ImportPlan, call: KeysCall): void {
  const { core, provider, target, foreign } = call;
  const { keys, entries } = plan.report;
  const seen = new Set<string>();
  for (const [at, key] of provider.keys.entries()) {
    const path = `${call.path}.keys.${at}`;
    const taken = takeSecret(plan, key.api_key, { path, values: call.values });
    const shown = "missing" in taken ? taken.missing : showSecret(taken.secret);
    const tell = (outcome: Entry["outcome"], reason: string | null): void => {
      entries.push({ outcome, provider: provider.slug, key: { api_key: shown, label: key.label }, reason });
    };
    const held = "missing" in taken ? cellShownAs(target.entry, key, shown) : cellOf(target.entry, taken.secret);
    if (held !== undefined) {
      const differences = differencesOfKey(held.record, key);
      if (differences.length === 0) keys.unchanged += 1;
      else {
        keys.conflicts += 1;
        tell("conflict", `It is here with another ${differences.join(", ")}`);
      }
      continue;
    }
    if ("missing" in taken) {
      keys.missing += 1;
      tell("missing", "Its value is not in the file");
      continue;
    }
    const mark = taken.secret.kind === "literal" ? taken.secret.value.reveal() : shown;
    if (seen.has(mark)) {
      plan.problems.push({ path, message: `${provider.slug}: The key ${shown} is in it twice`, code: "repeated" });
      continue;
    }
    seen.add(mark);
    if (foreign !== undefined) {
      keys.conflicts += 1;
      tell("conflict", foreign);
      continue;
    }
    const { label, weight, enabled, order, group = "" } = key;
    plan.keys.push(
      newKeyRecord({
        id: core.newId("key"),
        providerId: target.id,
        secret: taken.secret,
        fields: { label, weight, enabled, order, group },
        at: core.now(),
      }),
    );
    keys.added += 1;
    tell("added", null);
  }
}

function exportProvider(entry: ProviderEntry, take: (secret: KeySecret) => ExportedSecret): ExportedProvider {
  const { slug, name, kind, preset, baseUrl, enabled, settings, apiKey } = entry.record;
  return {
    slug,
    name,
    kind,
    preset: preset as ExportedProvider["preset"],
    base_url: baseUrl,
    enabled,
    settings,
    api_key: apiKey === null ? null : take(apiKey),
    keys: entry.cells().map(({ record }) => ({
      api_key: take(record.secret),
      label: record.label,
      weight: record.weight,
      enabled: record.enabled,
      order: record.order,
      // An older Keywheel can take in a document that has none.
      ...(record.group === "" ? {} : { group: record.group }),
    })),
  };
}

function takeSecret(
  plan: ImportPlan,
  exported: ExportedSecret,
  { path, values }: { readonly path: string; readonly values: readonly string[] | undefined },
): TakenSecret {
  const text = typeof exported === "string" ? exported : valueAt(values, exported.secret);
  if (text === undefined) return { missing: typeof exported === "string" ? "" : exported.masked };
  const parsed = parseKeyText(text);
  if (parsed.ok) return { secret: parsed.secret };
  plan.problems.push({ path: `${path}.api_key`, ...parsed.fault });
  return { missing: "…" };
}

function valueAt(values: readonly string[] | undefined, at: number | undefined): string | undefined {
  if (values === undefined || at === undefined) return undefined;
  const value = values[at];
  if (typeof value === "string") return value;
  throw refusal([{ path: "document.secrets", message: "The export names a value that is not in it", code: "refused" }]);
}

function secretIn(taken: TakenSecret | null): KeySecret | null {
  return taken !== null && "secret" in taken ? taken.secret : null;
}

function refuseConflicts(entries: readonly Entry[]): void {
  const conflicts = entries.filter(({ outcome }) => outcome === "conflict");
  const [first] = conflicts;
  if (first === undefined) return;
  const details = conflicts.map(({ provider, key, reason }) => ({
    path: "document.providers",
    message: `${provider}${key === null ? "" : ` ${key.api_key}`}: ${reason ?? ""}`,
  }));
  throw new KeywheelError("conflict", "Some of it is here already, and differs: nothing was imported", {
    details,
    hint: 'Send `on_conflict: "keep"` to leave those as they are here and import the rest.',
  });
}
