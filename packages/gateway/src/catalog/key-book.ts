import type { KeySnapshot } from "@keywheel/pool";
import type { FieldRefusal } from "../contract/field-faults.ts";
import type { KeyCreate, KeyPatchBody, KeyStatus } from "../contract/key.ts";
import type { KeyRecord, KeySecret } from "../store/store.ts";
import { type CatalogCore, conflict, refusal, refuseIfAny } from "./core.ts";
import { maxImportLines, parseImportText } from "./import-text.ts";
import { type ImportOutcome, nameOf, showImported, sift } from "./key-import.ts";
import { newKeyRecord, newSecretOf, planChange, type PlannedChange, problemsOfReadOnly, secretOf } from "./key-plan.ts";
import type { KeyCell, KeyView, ProviderEntry } from "./provider-entry.ts";

export type BulkAction = "enable" | "disable" | "delete" | "reset";

/** Which keys of a provider an action is meant for. */
export interface KeySelection {
  readonly ids?: readonly string[];
  readonly where?: { readonly status?: KeyStatus; readonly reason?: string };
}

export interface ImportOptions {
  /** Tells what would happen and changes nothing. */
  readonly dryRun: boolean;
  /** Of all the keys that are added; default none. */
  readonly group?: string | undefined;
}

/** What is nothing to the pool. */
const noShape: ReadonlySet<string> = new Set(["label", "updatedAt"]);

/** Keys: what may be said of them, and how they change. */
export class KeyBook {
  readonly #core: CatalogCore;

  constructor(core: CatalogCore) {
    this.#core = core;
  }

  /** In wheel order. @throws KeywheelError unknown_provider */
  async list(provider: string): Promise<KeyView[]> {
    return this.#viewsOf(this.#core.entry(provider));
  }

  /** @throws KeywheelError not_found */
  async get(keyId: string): Promise<KeyView> {
    const { entry, cell } = this.#core.keyAndOwner(keyId);
    return this.#viewOf(entry, cell);
  }

  /** The next turns of the wheel as key ids, taking none. @throws KeywheelError unknown_provider */
  async preview(provider: string, turns: number): Promise<readonly string[]> {
    return this.#core.entry(provider).pool.preview(turns);
  }

  /** @throws KeywheelError unknown_provider, validation_failed, conflict, store_unavailable */
  add(provider: string, body: KeyCreate): Promise<KeyView> {
    const core = this.#core;
    return core.alone(async () => {
      const entry = core.entry(provider);
      const secret = secretOf(body.api_key);
      this.#checkFree(entry, secret, undefined);
      const { label = "", weight = 1, enabled = true, order = 0, group = "" } = body;
      const record = this.#newRecord(entry, secret, { label, weight, enabled, order, group });
      await core.write((store) => store.insertKeys([record]));
      await core.takeUpKeys(entry, [record]);
      return this.get(record.id);
    });
  }

  /**
   * Adds the keys of a pasted list; what cannot be taken is told line by line and stops nothing.
   *
   * @throws KeywheelError unknown_provider, validation_failed, store_unavailable
   */
  import(provider: string, text: string, { dryRun, group = "" }: ImportOptions): Promise<ImportOutcome> {
    const core = this.#core;
    return core.alone(async () => {
      const entry = core.entry(provider);
      const parsed = parseImportText(text);
      if (parsed.keys.length + parsed.skipped.length > maxImportLines) {
        const message = `Expected \`text\` to hold at most ${maxImportLines} keys: import the rest with another call`;
        throw refusal([{ path: "text", message, code: "too_many_keys", params: { max: maxImportLines } }]);
      }
      const { fresh, skipped } = sift(entry, parsed);
      const understood = fresh.map(showImported);
      if (dryRun || fresh.length === 0) return { added: [], understood, skipped };
      const records = fresh.map(({ secret, label, weight }) =>
        this.#newRecord(entry, secret, { label, weight, enabled: true, order: 0, group }),
      );
      await core.write((store) => store.insertKeys(records));
      await core.takeUpKeys(entry, records);
      const added = new Set(records.map(({ id }) => id));
      const views = await this.#viewsOf(entry);
      return { added: views.filter(({ record }) => added.has(record.id)), understood, skipped };
    });
  }

  /** @throws KeywheelError not_found, validation_failed, conflict, store_unavailable */
  change(keyId: string, body: KeyPatchBody): Promise<KeyView> {
    const core = this.#core;
    return core.alone(async () => {
      const { entry, cell } = core.keyAndOwner(keyId);
      const status = body.status === undefined ? undefined : (await this.#viewOf(entry, cell)).status;
      refuseIfAny(problemsOfReadOnly(cell.record, status, body));
      const planned = this.#plan(entry, cell.record, body);
      core.managed.checkKey(cell.record, planned.patch);
      if (Object.keys(planned.patch).length > 0) await this.#apply(entry, new Map([[keyId, planned]]));
      return this.#viewOf(entry, cell);
    });
  }

  /** @throws KeywheelError not_found, store_unavailable */
  remove(keyId: string): Promise<void> {
    return this.#core.alone(() => this.#remove(this.#core.keyAndOwner(keyId).entry, [keyId]));
  }

  /** Clears cooldown and failure count; a disabled key stays disabled. @throws KeywheelError not_found, store_unavailable */
  reset(keyId: string): Promise<KeyView> {
    const core = this.#core;
    return core.alone(async () => {
      const { entry, cell } = core.keyAndOwner(keyId);
      await this.#reset(entry, [keyId]);
      return this.#viewOf(entry, cell);
    });
  }

  /**
   * Puts keys in an order: they get 0, 1, 2 … Keys that are not named follow after them, as they stand.
   *
   * @throws KeywheelError unknown_provider, validation_failed, store_unavailable
   */
  order(provider: string, ids: readonly string[]): Promise<KeyView[]> {
    const core = this.#core;
    return core.alone(async () => {
      const entry = core.entry(provider);
      refuseIfAny(problemsOfIds(entry, ids));
      const named = new Set(ids);
      const rest = entry.cells().filter(({ record }) => !named.has(record.id));
      const at = core.now();
      const moved = [...ids, ...rest.map(({ record }) => record.id)]
        .map((id, order) => ({ id, patch: { order, updatedAt: at } }))
        .filter(({ id, patch }) => entry.cell(id)?.record.order !== patch.order);
      for (const { id, patch } of moved) {
        const record = entry.cell(id)?.record;
        if (record !== undefined) core.managed.checkKey(record, patch);
      }
      if (moved.length > 0) {
        await core.write((store) => store.updateKeys(moved));
        for (const { id, patch } of moved) entry.change(id, patch);
        await core.configure(entry);
        core.tell({ type: "key-order-changed", providerId: entry.record.id, at });
      }
      return this.#viewsOf(entry);
    });
  }

  /**
   * Does one thing to many keys, all or none.
   *
   * @returns the ids of the keys that it was meant for
   * @throws KeywheelError unknown_provider, validation_failed, store_unavailable
   */
  bulk(provider: string, action: BulkAction, selection: KeySelection): Promise<readonly string[]> {
    const core = this.#core;
    return core.alone(async () => {
      const entry = core.entry(provider);
      const ids = await this.#select(entry, selection);
      if (ids.length === 0) return ids;
      if (action === "delete") await this.#remove(entry, ids);
      else if (action === "reset") await this.#reset(entry, ids);
      else await this.#switch(entry, ids, action === "enable");
      return ids;
    });
  }

  /**
   * The keys that a selection means.
   *
   * @throws KeywheelError unknown_provider, validation_failed
   */
  select(provider: string, selection: KeySelection): Promise<readonly string[]> {
    return this.#select(this.#core.entry(provider), selection);
  }

  async #select(entry: ProviderEntry, { ids, where }: KeySelection): Promise<readonly string[]> {
    if ((ids === undefined) === (where === undefined)) {
      throw refusal([
        { path: "ids", message: "Expected either `ids` or `where`, to say which keys are meant", code: "no_selection" },
      ]);
    }
    if (ids !== undefined) {
      refuseIfAny(problemsOfIds(entry, ids));
      return ids;
    }
    const { status, reason } = where ?? {};
    if (status === undefined && reason === undefined) {
      throw refusal([
        { path: "where", message: "Expected `where` to name a `status` or a `reason`", code: "no_selection" },
      ]);
    }
    const views = await this.#viewsOf(entry);
    return views
      .filter((view) => status === undefined || view.status === status)
      .filter((view) => reason === undefined || (view.status !== "available" && view.reason?.code === reason))
      .map((view) => view.record.id);
  }

  async #switch(entry: ProviderEntry, ids: readonly string[], enabled: boolean): Promise<void> {
    const changes = new Map<string, PlannedChange>();
    for (const id of ids) {
      const cell = entry.cell(id);
      const planned = cell && this.#plan(entry, cell.record, { enabled });
      if (!planned || Object.keys(planned.patch).length === 0) continue;
      this.#core.managed.checkKey(cell.record, planned.patch);
      changes.set(id, planned);
    }
    if (changes.size > 0) await this.#apply(entry, changes);
  }

  #plan(entry: ProviderEntry, record: KeyRecord, body: KeyPatchBody): PlannedChange {
    const secret = body.api_key === undefined ? undefined : newSecretOf(record.secret, body.api_key);
    if (secret) this.#checkFree(entry, secret, record.id);
    return planChange(record, body, secret, this.#core.now());
  }

  async #apply(entry: ProviderEntry, changes: ReadonlyMap<string, PlannedChange>): Promise<void> {
    const core = this.#core;
    const at = core.now();
    const patches = [...changes].map(([id, { patch }]) => ({ id, patch: { ...patch, updatedAt: at } }));
    const cleared = [...changes].filter(([, change]) => change.clears).map(([id]) => id);
    // Cleared first: if the second write fails, a key that is still disabled has lost a cooldown that meant nothing.
    const revived = cleared.filter((id) => changes.get(id)?.patch.secret === undefined);
    core.deps.forgetOutcomes?.(cleared);
    if (revived.length > 0) await core.write((store) => store.clearHealth(revived));
    await core.write((store) => store.updateKeys(patches));
    for (const { id, patch } of patches) entry.change(id, patch);
    if (patches.some(({ patch }) => patch.secret?.kind === "reference")) core.deps.environment.check();
    const isShape = patches.some(({ patch }) => Object.keys(patch).some((name) => !noShape.has(name)));
    // Begun together: no request may find a key that is on again and still rests.
    if (isShape) await Promise.all([core.configure(entry), ...cleared.map((id) => entry.pool.reset(id))]);
    core.tell({ type: "key-changed", providerId: entry.record.id, keyIds: [...changes.keys()], at });
  }

  async #remove(entry: ProviderEntry, ids: readonly string[]): Promise<void> {
    const core = this.#core;
    for (const id of ids) core.managed.checkRemoval(id, `The key ${nameOf(entry, id)}`);
    await core.write((store) => store.deleteKeys(ids));
    for (const id of ids) {
      entry.remove(id);
      core.own(id, undefined);
    }
    await core.configure(entry);
    core.tell({ type: "key-deleted", providerId: entry.record.id, keyIds: ids, at: core.now() });
  }

  async #reset(entry: ProviderEntry, ids: readonly string[]): Promise<void> {
    const core = this.#core;
    core.deps.forgetOutcomes?.(ids);
    await core.write((store) => store.clearHealth(ids));
    // A reset takes the refusal off in the pool; that the key is disabled must be known there by then.
    await core.configure(entry);
    for (const id of ids) await entry.pool.reset(id);
    core.tell({ type: "key-changed", providerId: entry.record.id, keyIds: ids, at: core.now() });
  }

  #newRecord(
    entry: ProviderEntry,
    secret: KeySecret,
    fields: Pick<KeyRecord, "label" | "weight" | "enabled" | "order" | "group">,
  ): KeyRecord {
    const core = this.#core;
    return newKeyRecord({ id: core.newId("key"), providerId: entry.record.id, secret, fields, at: core.now() });
  }

  #checkFree(entry: ProviderEntry, secret: KeySecret, own: string | undefined): void {
    const holder = entry.holderOf(secret);
    if (holder === undefined || holder === own) return;
    throw conflict("api_key", "key_held", `The provider holds this key already, as ${nameOf(entry, holder)}`);
  }

  async #viewsOf(entry: ProviderEntry): Promise<KeyView[]> {
    const snapshots = await snapshotsOf(entry);
    return entry.cells().map((cell) => entry.view(cell, snapshots.get(cell.record.id)));
  }

  async #viewOf(entry: ProviderEntry, cell: KeyCell): Promise<KeyView> {
    return entry.view(cell, (await snapshotsOf(entry)).get(cell.record.id));
  }
}

async function snapshotsOf(entry: ProviderEntry): Promise<ReadonlyMap<string, KeySnapshot>> {
  const snapshots = await entry.pool.snapshot();
  return new Map(snapshots.map((snapshot) => [snapshot.keyId, snapshot]));
}

function problemsOfIds(entry: ProviderEntry, ids: readonly string[]): FieldRefusal[] {
  const seen = new Set<string>();
  return ids.flatMap((id, index): FieldRefusal[] => {
    const path = `ids.${index}`;
    if (seen.has(id)) return [{ path, message: `Expected each key once, got \`${path}\` twice`, code: "repeated" }];
    seen.add(id);
    return entry.cell(id)
      ? []
      : [{ path, message: `Expected \`${path}\` to be a key of this provider`, code: "no_such_key" }];
  });
}
