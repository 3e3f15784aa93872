import { hash } from "node:crypto";
import {
  type KeyEntry,
  type KeySnapshot,
  type Pool,
  type Secret,
  type ShownStatus,
  statusOf,
  type Unresolved,
} from "@keywheel/pool";
import type { ProviderSettings } from "../contract/settings.ts";
import type { KeyRecord, KeySecret, ProviderRecord } from "../store/store.ts";
import type { ProviderRuntime } from "./catalog.ts";
import type { EnvironmentReader } from "./environment.ts";
import { showSecret } from "./key-text.ts";
import { effectiveSettings } from "./settings.ts";

/** Attempts with a key; at the start, those that were written down. */
export interface KeyStats {
  requests: number;
  successes: number;
  failures: number;
  lastUsedAt: number | null;
}

/** A key with what the catalog alone knows of it. */
export interface KeyCell {
  record: KeyRecord;
  /** Grows with creation: the order of keys whose `order` is the same. */
  readonly sequence: number;
  readonly stats: KeyStats;
  /** Of a reference: the mark of the value that it had last, so that a new one is noticed. */
  lastValue: string | undefined;
  unresolved: Unresolved | undefined;
  /** Whose key it is, as the provider's answers say; told anew after a restart. */
  organization: string | undefined;
  /** Its record's `updatedAt` before this process disabled it for a refusal. */
  refusedFrom: number | undefined;
  /** Of that organization, where they say it. */
  project: string | undefined;
}

/** A key as people see it. */
export interface KeyView extends ShownStatus {
  readonly record: KeyRecord;
  /** The value masked, or the reference. */
  readonly masked: string;
  readonly consecutiveFailures: number;
  readonly boundSessions: number;
  readonly organization: string | null;
  readonly project: string | null;
  /** The key whose limit it rests for, where it is another one's of its group. */
  readonly sharedFrom: { readonly keyId: string; readonly label: string; readonly masked: string | null } | null;
  readonly stats: Readonly<KeyStats>;
  /** Whether a file of configuration has it in its hands. */
  readonly isManaged: boolean;
}

export interface EntryContext {
  readonly environment: EnvironmentReader;
  /** Of this process: values are compared by their marks, so that they lie about in one place only. */
  readonly markSalt: string;
  readonly now: () => number;
  /** Whether a file of configuration has a provider or a key in its hands, by its id. */
  readonly isManaged: (id: string) => boolean;
}

/** One provider in memory: its record, its keys and its pool. Changed by the catalog alone. */
export class ProviderEntry implements ProviderRuntime {
  readonly pool: Pool;
  /** Whether the pool was told of it. */
  isConfigured = false;
  readonly #context: EntryContext;
  readonly #cells = new Map<string, KeyCell>();
  /** Who holds a value or a reference. */
  readonly #held = new Map<string, string>();
  #record: ProviderRecord;
  #settings: ProviderSettings;
  #baseUrl: URL;
  #inOrder: readonly KeyCell[] | undefined;
  #nextSequence = 0;

  constructor(record: ProviderRecord, pool: Pool, context: EntryContext) {
    this.pool = pool;
    this.#context = context;
    this.#record = record;
    this.#settings = effectiveSettings(record.settings);
    this.#baseUrl = new URL(record.baseUrl);
  }

  get record(): ProviderRecord {
    return this.#record;
  }

  set record(record: ProviderRecord) {
    this.#record = record;
    this.#settings = effectiveSettings(record.settings);
    this.#baseUrl = new URL(record.baseUrl);
  }

  get settings(): ProviderSettings {
    return this.#settings;
  }

  get baseUrl(): URL {
    return this.#baseUrl;
  }

  /** The provider-level key masked, or the reference. */
  get maskedApiKey(): string | null {
    return this.#record.apiKey === null ? null : showSecret(this.#record.apiKey);
  }

  get isManaged(): boolean {
    return this.#context.isManaged(this.#record.id);
  }

  get hasKeys(): boolean {
    return this.#cells.size > 0;
  }

  secretOf(keyId: string): Secret | undefined {
    const cell = this.#cells.get(keyId);
    return cell && this.#resolve(cell.record.secret);
  }

  labelOf(keyId: string): string {
    return this.#cells.get(keyId)?.record.label ?? "";
  }

  providerSecret(): Secret | undefined {
    return this.#record.apiKey === null ? undefined : this.#resolve(this.#record.apiKey);
  }

  cell(keyId: string): KeyCell | undefined {
    return this.#cells.get(keyId);
  }

  /** In wheel order. */
  cells(): readonly KeyCell[] {
    this.#inOrder ??= [...this.#cells.values()].sort(
      (one, other) => one.record.order - other.record.order || one.sequence - other.sequence,
    );
    return this.#inOrder;
  }

  /** The key that holds this value or reference; another master key's values are not known. */
  holderOf(secret: KeySecret): string | undefined {
    const mark = this.#markOf(secret);
    return mark === undefined ? undefined : this.#held.get(mark);
  }

  add(record: KeyRecord): void {
    const stats = { requests: 0, successes: 0, failures: 0, lastUsedAt: null };
    this.#cells.set(record.id, {
      record,
      sequence: this.#nextSequence++,
      stats,
      lastValue: undefined,
      unresolved: undefined,
      organization: undefined,
      refusedFrom: undefined,
      project: undefined,
    });
    this.#hold(record);
    this.#inOrder = undefined;
  }

  change(keyId: string, patch: Partial<KeyRecord>): void {
    const cell = this.#cells.get(keyId);
    if (!cell) return;
    if (patch.secret) this.#letGo(cell.record);
    if (patch.order !== undefined && patch.order !== cell.record.order) this.#inOrder = undefined;
    cell.record = { ...cell.record, ...patch };
    if (patch.secret) {
      this.#hold(cell.record);
      cell.lastValue = undefined;
      cell.organization = undefined;
      cell.project = undefined;
    }
  }

  remove(keyId: string): void {
    const cell = this.#cells.get(keyId);
    if (!cell) return;
    this.#letGo(cell.record);
    this.#cells.delete(keyId);
    this.#inOrder = undefined;
  }

  /** The keys as the pool needs them; looks up every reference. */
  keyEntries(): KeyEntry[] {
    return this.cells().map((cell) => {
      const value = this.#lookUp(cell);
      // Not laid over another mark: what a new value means is settled by `lookAgain` alone.
      cell.lastValue ??= value;
      const { id, weight, enabled, secretVersion, group } = cell.record;
      const entry = { id, weight, enabled, secretVersion, resolved: cell.unresolved === undefined };
      return group === "" ? entry : { ...entry, group };
    });
  }

  /** What a change of the environment means: references with another value than before, and whether anything changed. */
  lookAgain(): { readonly changed: boolean; readonly replaced: readonly KeyCell[] } {
    let changed = false;
    const replaced: KeyCell[] = [];
    for (const cell of this.#cells.values()) {
      if (cell.record.secret.kind !== "reference") continue;
      const before = cell.unresolved?.message;
      const value = this.#lookUp(cell);
      if (before !== cell.unresolved?.message) changed = true;
      if (value === undefined || value === cell.lastValue) continue;
      changed = true;
      if (cell.lastValue !== undefined) replaced.push(cell);
      cell.lastValue = value;
    }
    return { changed, replaced };
  }

  view(cell: KeyCell, snapshot: KeySnapshot | undefined): KeyView {
    const shown = statusOf(cell.record, snapshot, cell.unresolved, this.#context.now());
    return {
      ...shown,
      sharedFrom: this.#sharedFrom(shown.reason?.sharedFrom),
      record: cell.record,
      masked: showSecret(cell.record.secret),
      consecutiveFailures: snapshot?.health.failures ?? 0,
      boundSessions: snapshot?.boundSessions ?? 0,
      organization: cell.organization ?? null,
      project: cell.project ?? null,
      stats: { ...cell.stats },
      isManaged: this.#context.isManaged(cell.record.id),
    };
  }

  /** Every value that must not be seen. */
  *secrets(): Iterable<Secret> {
    const own = this.providerSecret();
    if (own) yield own;
    for (const { record } of this.#cells.values()) {
      const value = this.#resolve(record.secret);
      if (value) yield value;
    }
  }

  #sharedFrom(keyId: string | undefined): KeyView["sharedFrom"] {
    if (keyId === undefined) return null;
    const record = this.#cells.get(keyId)?.record;
    return { keyId, label: record?.label ?? "", masked: record === undefined ? null : showSecret(record.secret) };
  }

  #resolve(secret: KeySecret): Secret | undefined {
    if (secret.kind === "literal") return secret.value;
    if (secret.kind === "undecryptable") return undefined;
    const resolution = this.#context.environment.resolve(secret.name);
    return resolution.kind === "resolved" ? resolution.value : undefined;
  }

  /** Brings `unresolved` up to date. @returns the mark of a reference's value */
  #lookUp(cell: KeyCell): string | undefined {
    const { secret } = cell.record;
    if (secret.kind === "literal") {
      cell.unresolved = undefined;
      return undefined;
    }
    if (secret.kind === "undecryptable") {
      const message =
        "It was encrypted with another master key: start with that one, or delete the key and add it again";
      cell.unresolved ??= { code: "undecryptable", message, since: this.#context.now() };
      return undefined;
    }
    const resolution = this.#context.environment.resolve(secret.name);
    if (resolution.kind === "resolved") {
      cell.unresolved = undefined;
      return this.#mark(resolution.value.reveal());
    }
    const { message } = resolution;
    if (cell.unresolved?.message !== message) {
      cell.unresolved = { code: "unresolved", message, since: this.#context.now() };
    }
    return undefined;
  }

  #hold(record: KeyRecord): void {
    const mark = this.#markOf(record.secret);
    if (mark !== undefined) this.#held.set(mark, record.id);
  }

  #letGo(record: KeyRecord): void {
    const mark = this.#markOf(record.secret);
    if (mark !== undefined) this.#held.delete(mark);
  }

  #markOf(secret: KeySecret): string | undefined {
    if (secret.kind === "undecryptable") return undefined;
    return secret.kind === "reference" ? showSecret(secret) : this.#mark(secret.value.reveal());
  }

  #mark(value: string): string {
    return hash("sha256", this.#context.markSalt + value, "base64");
  }
}
