import type { HealthRecord, Pin, RestoredBinding, TouchedSession } from "@keywheel/pool";
import { isKeywheelError, KeywheelError } from "@keywheel/pool";
import { Kysely, type Transaction } from "kysely";
import * as affinity from "./affinity-rows.ts";
import { chunksOf } from "./chunks.ts";
import { ConfigurationVersion } from "./configuration-version.ts";
import * as deliveries from "./delivery-rows.ts";
import type { DatabaseEngine } from "./engine.ts";
import * as keys from "./key-rows.ts";
import { setMeta, setMetaOnce } from "./meta-rows.ts";
import { migrate } from "./migrations.ts";
import * as outcomes from "./outcome-rows.ts";
import * as pins from "./pin-rows.ts";
import * as providers from "./provider-rows.ts";
import * as requests from "./request-rows.ts";
import type { Database } from "./schema.ts";
import { Scrubber } from "./scrubber.ts";
import { type SealedSecrets, wrongMasterKey } from "./sealed-secrets.ts";
import { listSessions } from "./session-pages.ts";
import * as sessions from "./session-rows.ts";
import type * as port from "./store.ts";
import { toKeywheelError } from "./store-errors.ts";
import * as tokens from "./token-rows.ts";
import * as usage from "./usage-rows.ts";
import * as exhaustedPools from "./exhausted-pool-rows.ts";
import * as webhooks from "./webhook-rows.ts";

export interface KyselyStoreOptions {
  readonly engine: DatabaseEngine;
  readonly secrets: SealedSecrets;
  readonly now: () => number;
  /** How long after a failed write the database is tried again for its own sake, ms. */
  readonly probeEveryMs: number;
  readonly operatorToken: string;
  /** Told when damage is found, and when (undefined) there is none any more. */
  readonly onDamage?: ((damage: port.StoreTrouble | undefined) => void) | undefined;
  /** Gives up the data directory, once the database is closed. */
  readonly release: () => void;
}

/** Sessions removed in one transaction: a tenth of a second at a million rows, so that other writes get their turn. */
const removedAtOnce = 1000;
const bindingsAtOnce = 10_000;
/** Without these nothing can be served; what lies in the others can be done without. */
const neededTables = ["meta", "providers", "keys", "key_healths", "tokens", "webhooks"] as const;
/** The whole file is looked at a little after the start, which it must not hold up, and then now and then. */
const firstLookMs = 3_000;
const soundLookMs = 3_600_000;
const damagedLookMs = 60_000;
const foldEveryMs = 30_000;
/** From a deletion until its value is out of the files: within this, or a little more while others read. */
const scrubDelayMs = 500;
/** How often a transaction is tried that others come in between of. */
const mostTries = 5;

/** The store over any database that kysely speaks to; what differs between them is in the engine. */
export class KyselyStore implements port.OpenedStore {
  readonly operatorToken: string;
  readonly #engine: DatabaseEngine;
  readonly #secrets: SealedSecrets;
  readonly #now: () => number;
  readonly #probeEveryMs: number;
  readonly #release: () => void;
  /** One connection, handed to one transaction at a time. */
  readonly #writer: Kysely<Database>;
  /** Beside it, so that a search through a million sessions does not hold up what was refused just now. */
  readonly #reader: Kysely<Database>;
  #masterKeyMatches = false;
  #trouble: port.StoreTrouble | undefined;
  /** Does not go away with the next write that happens to reach a sound part of the file. */
  #damage: port.StoreTrouble | undefined;
  #probe: NodeJS.Timeout | undefined;
  #nextLook: NodeJS.Timeout | undefined;
  #folding: NodeJS.Timeout | undefined;
  #hasNews = false;
  readonly #onDamage: KyselyStoreOptions["onDamage"];
  readonly #scrubber: Scrubber;
  /** Undefined where nobody else changes the database. */
  readonly #version: ConfigurationVersion | undefined;
  readonly feed: port.ChangeFeed | undefined;
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  private constructor(options: KyselyStoreOptions) {
    const { engine, secrets, now, probeEveryMs, operatorToken, release } = options;
    this.#onDamage = options.onDamage;
    this.#now = now;
    this.operatorToken = operatorToken;
    this.#release = release;
    this.#engine = engine;
    this.#secrets = secrets;
    this.#probeEveryMs = probeEveryMs;
    this.#writer = new Kysely({ dialect: engine.writer });
    this.#reader = new Kysely({ dialect: engine.reader });
    const { shared } = engine;
    if (shared !== undefined) {
      const version = new ConfigurationVersion(shared, engine.name);
      this.#version = version;
      this.feed = {
        isOutdated: (error) => version.isOutdated(error),
        // A write, so that a database that is away is noticed where nothing else is written.
        hasNews: () => this.#write((trx) => version.hasMoved(trx)),
        loads: () => version.loads,
        distrust: () => version.forget(),
        listen: (onNews) => shared.listen(onNews),
      };
    }
    this.#scrubber = new Scrubber({
      scrub: () => engine.scrub(this.#writer),
      write: (work) => this.#writer.transaction().execute(work),
      delayMs: scrubDelayMs,
      retryMs: probeEveryMs,
    });
  }

  /** @throws KeywheelError store_unavailable; the database is closed again then */
  static async open(options: KyselyStoreOptions): Promise<KyselyStore> {
    const store = new KyselyStore(options);
    try {
      store.#masterKeyMatches = await store.#write(async (trx) => {
        await options.engine.shared?.lockTables(trx);
        // First, while nothing is written: what is damaged stays as it was found.
        await options.engine.examine(trx, neededTables);
        await migrate(trx, options.engine, { now: options.now() });
        // SQLite opens a file that it may only read without a word: a write tells at the start, not at the first refusal.
        await setMeta(trx, "last_opened_at", String(options.now()));
        (await store.#version?.hold(trx))?.();
        await store.#scrubber.restore(trx);
        // Of a shared database, a gateway with another key must not take possession by being started.
        return await options.secrets.checkCanary(trx, { claims: store.#version === undefined });
      });
      store.#lookIn(firstLookMs);
      store.#folding = setInterval(() => void store.#foldLog(), foldEveryMs).unref();
      await store.#foldLog();
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  get masterKeyMatches(): boolean {
    return this.#masterKeyMatches;
  }

  get trouble(): port.StoreTrouble | undefined {
    return this.#damage ?? this.#trouble;
  }

  /**
   * Seals everything anew, in one transaction; this store opens nothing any more then, and is to be closed.
   *
   * @param beforeCommit called when all is written and nothing is durable
   * @throws KeywheelError store_unavailable; nothing was changed then
   */
  reseal(to: SealedSecrets, beforeCommit: () => void): Promise<{ providers: number; keys: number }> {
    return this.#forget(async (trx) => {
      const resealed = {
        providers: await providers.resealProviders(trx, this.#secrets, to),
        keys: await keys.resealKeys(trx, this.#secrets, to),
      };
      await webhooks.resealWebhooks(trx, this.#secrets, to);
      await to.writeCanary(trx);
      beforeCommit();
      return resealed;
    });
  }

  load(): Promise<port.StoredState> {
    return this.#versioned(
      async (trx) => ({
        providers: await providers.readProviders(trx, this.#secrets),
        keys: await keys.readKeys(trx, this.#secrets),
        tokens: await tokens.readTokens(trx),
        webhooks: await webhooks.readWebhooks(trx, this.#secrets),
        health: await outcomes.readHealths(trx),
      }),
      (version, trx) => version.see(trx),
    );
  }

  async insertProvider(provider: port.ProviderRecord): Promise<void> {
    await this.#refuseUnsealable([provider.apiKey]);
    await this.#change((trx) => providers.insertProvider(trx, this.#secrets, provider));
  }

  async updateProvider(id: string, patch: port.ProviderPatch): Promise<void> {
    await this.#refuseUnsealable([patch.apiKey]);
    const update = (trx: Transaction<Database>): Promise<void> =>
      providers.updateProvider(trx, this.#secrets, { id, patch });
    await (patch.apiKey === undefined ? this.#change(update) : this.#forget(update));
  }

  async deleteProvider(id: string): Promise<void> {
    await this.#deleteSessions({ providerId: id });
    await this.#forget((trx) => providers.deleteProvider(trx, id));
  }

  async insertKeys(records: readonly port.KeyRecord[]): Promise<void> {
    await this.#refuseUnsealable(records.map(({ secret }) => secret));
    await this.#change((trx) => keys.insertKeys(trx, this.#secrets, records));
  }

  async insertProvidersAndKeys(
    added: readonly port.ProviderRecord[],
    records: readonly port.KeyRecord[],
  ): Promise<void> {
    await this.#refuseUnsealable([...added.map(({ apiKey }) => apiKey), ...records.map(({ secret }) => secret)]);
    await this.#change(async (trx) => {
      for (const provider of added) await providers.insertProvider(trx, this.#secrets, provider);
      await keys.insertKeys(trx, this.#secrets, records);
    });
  }

  async updateKeys(patches: readonly keys.IdentifiedPatch[]): Promise<void> {
    await this.#refuseUnsealable(patches.map(({ patch }) => patch.secret));
    const update = (trx: Transaction<Database>): Promise<void> => keys.updateKeys(trx, this.#secrets, patches);
    await (patches.every(({ patch }) => patch.secret === undefined) ? this.#change(update) : this.#forget(update));
  }

  async deleteKeys(ids: readonly string[]): Promise<void> {
    await this.deleteSessionsOfKeys(ids);
    await this.#forget((trx) => keys.deleteKeys(trx, ids));
  }

  async changeConfiguration(change: port.ConfigurationChange): Promise<void> {
    const { insertedProviders, updatedProviders, insertedKeys, updatedKeys } = change;
    await this.#refuseUnsealable([
      ...[...insertedProviders, ...updatedProviders.map(({ patch }) => patch)].map(({ apiKey }) => apiKey),
      ...[...insertedKeys, ...updatedKeys.map(({ patch }) => patch)].map(({ secret }) => secret),
    ]);
    for (const providerId of change.deletedProviders) await this.#deleteSessions({ providerId });
    await this.deleteSessionsOfKeys(change.deletedKeys);
    await this.#forget(async (trx) => {
      await keys.deleteKeys(trx, change.deletedKeys);
      for (const id of change.deletedProviders) await providers.deleteProvider(trx, id);
      for (const provider of insertedProviders) await providers.insertProvider(trx, this.#secrets, provider);
      for (const update of updatedProviders) await providers.updateProvider(trx, this.#secrets, update);
      await keys.updateKeys(trx, this.#secrets, updatedKeys);
      await keys.insertKeys(trx, this.#secrets, insertedKeys);
      for (const id of change.deletedTokens) await tokens.deleteToken(trx, id);
      for (const token of change.insertedTokens) await tokens.insertToken(trx, token);
      for (const { id, terms } of change.updatedTokens) await tokens.updateToken(trx, id, terms);
      for (const [name, value] of Object.entries(change.meta)) await setMeta(trx, name, value);
    });
  }

  findHeld(providerId: string, values: readonly port.KeySecret[]): Promise<readonly (string | undefined)[]> {
    return this.#read(this.#writer, (db) => keys.findHeld(db, this.#secrets, { providerId, values }));
  }

  saveOutcomes(records: readonly port.KeyOutcome[]): Promise<readonly boolean[]> {
    const healths = records.flatMap((outcome) => (outcome.kind === "health" ? [outcome.record] : []));
    if (healths.length === records.length) return this.#saveHealths(healths);
    // A refusal counts whatever others have changed meanwhile, and they have to hear of it.
    return this.#versioned(
      (trx) => outcomes.saveOutcomes(trx, records),
      (version, trx) => version.push(trx),
    );
  }

  /** What a request waits for before it is sent with another key: in one go, where the database can do that. */
  async #saveHealths(records: readonly HealthRecord[]): Promise<readonly boolean[]> {
    if (this.#version === undefined && this.#trouble === undefined) {
      try {
        // Not worth a wait for the disk: after a power cut a cooldown that was just begun is begun anew.
        const took = await this.#run(() => outcomes.saveHealthsAtOnce(this.#writer, records));
        this.#hasNews = true;
        if (took !== undefined) return took;
      } catch (error) {
        throw this.#note(this.#told(error));
      }
    }
    return await this.#write((trx) =>
      outcomes.saveOutcomes(
        trx,
        records.map((record) => ({ kind: "health", record })),
      ),
    );
  }

  clearHealth(keyIds: readonly string[]): Promise<void> {
    return this.#write((trx) => keys.clearHealth(trx, keyIds));
  }

  insertToken(token: port.TokenRecord): Promise<void> {
    return this.#change((trx) => tokens.insertToken(trx, token));
  }

  updateToken(id: string, terms: port.TokenTerms): Promise<void> {
    return this.#change((trx) => tokens.updateToken(trx, id, terms));
  }

  deleteToken(id: string): Promise<void> {
    return this.#change((trx) => tokens.deleteToken(trx, id));
  }

  touchTokens(used: readonly { readonly id: string; readonly at: number }[]): Promise<void> {
    return this.#write((trx) => tokens.touchTokens(trx, used));
  }

  async insertWebhook(webhook: port.WebhookRecord): Promise<void> {
    await this.#refuseUnsealable([webhook.secret]);
    await this.#change((trx) => webhooks.insertWebhook(trx, this.#secrets, webhook));
  }

  async updateWebhook(id: string, patch: port.WebhookPatch): Promise<void> {
    await this.#refuseUnsealable([patch.secret]);
    await this.#change((trx) => webhooks.updateWebhook(trx, this.#secrets, { id, patch }));
  }

  deleteWebhook(id: string): Promise<void> {
    return this.#forget((trx) => webhooks.deleteWebhook(trx, id));
  }

  insertDeliveries(queued: readonly port.QueuedDelivery[], mostWaiting: number): Promise<number> {
    return this.#write((trx) => deliveries.insertDeliveries(trx, queued, mostWaiting));
  }

  insertPoolTurn(
    turn: port.PoolTurn,
    queued: readonly port.QueuedDelivery[],
    mostWaiting: number,
  ): Promise<number | undefined> {
    return this.#write(async (trx) =>
      (await exhaustedPools.takePoolTurn(trx, turn))
        ? await deliveries.insertDeliveries(trx, queued, mostWaiting)
        : undefined,
    );
  }

  watchExhaustedPools(providerIds: readonly string[], now: number): Promise<void> {
    return this.#write((trx) => exhaustedPools.watchExhaustedPools(trx, providerIds, now));
  }

  takeOverExhaustedPools(instants: Parameters<port.Store["takeOverExhaustedPools"]>[0]): Promise<readonly string[]> {
    return this.#write((trx) => exhaustedPools.takeOverExhaustedPools(trx, instants));
  }

  takeDueDeliveries(limits: Parameters<port.Store["takeDueDeliveries"]>[0]): Promise<readonly port.DeliveryRecord[]> {
    return this.#write((trx) => deliveries.takeDueDeliveries(trx, limits));
  }

  nextDeliveryAt(): Promise<number | undefined> {
    return this.#read(this.#reader, deliveries.nextDeliveryAt);
  }

  saveDeliveryOutcome(outcome: port.DeliveryOutcome): Promise<void> {
    return this.#write((trx) => deliveries.saveDeliveryOutcome(trx, outcome));
  }

  listDeliveries(webhookId: string, limit: number): Promise<readonly port.DeliveryRecord[]> {
    return this.#read(this.#reader, (db) => deliveries.listDeliveries(db, webhookId, limit));
  }

  pruneDeliveries(keep: number): Promise<void> {
    return this.#write((trx) => deliveries.pruneDeliveries(trx, keep));
  }

  saveSessions(touched: readonly TouchedSession[]): Promise<void> {
    return this.#write((trx) => sessions.saveSessions(trx, touched));
  }

  listSessions(filter: port.SessionFilter): Promise<port.SessionPage> {
    return this.#read(this.#reader, (db) => listSessions(db, filter));
  }

  takeSessions(session: { readonly id: string; readonly valueHash: string }): Promise<readonly port.EndedSession[]> {
    return this.#write((trx) => sessions.takeSessions(trx, session));
  }

  async deleteSessionsOfKeys(allKeyIds: readonly string[]): Promise<void> {
    for (const keyIds of chunksOf(allKeyIds, 500)) await this.#deleteSessions({ keyIds });
  }

  deleteSessionsIdleSince(providerId: string, before: number): Promise<number> {
    return this.#deleteSessions({ providerId, before });
  }

  async *readBindings(idleSince: (providerId: string) => number): AsyncIterable<readonly RestoredBinding[]> {
    let seq = 0;
    for (;;) {
      const after = { seq, limit: bindingsAtOnce };
      const { bindings, lastSeq } = await this.#read(this.#writer, (db) => sessions.readBindingsAfter(db, after));
      if (lastSeq === undefined) return;
      seq = lastSeq;
      yield bindings.filter(({ poolId, lastUsedAt }) => lastUsedAt >= idleSince(poolId));
    }
  }

  savePins(saved: readonly Pin[]): Promise<void> {
    return this.#write((trx) => pins.savePins(trx, saved));
  }

  readPins(kind: Pin["kind"], limit: number): Promise<readonly Pin[]> {
    return this.#read(this.#writer, (db) => pins.readPins(db, kind, limit));
  }

  async prunePins(kind: Pin["kind"], limits: { readonly keep: number; readonly before: number }): Promise<number> {
    const crowded = await this.#read(this.#reader, (db) => pins.ageOfNth(db, kind, limits.keep));
    const before = Math.max(limits.before, crowded ?? 0);
    let total = 0;
    for (;;) {
      const removed = await this.#write((trx) => pins.deletePinsBefore(trx, { kind, before, limit: removedAtOnce }));
      total += removed;
      if (removed < removedAtOnce) return total;
    }
  }

  saveActivity(batch: port.ActivityBatch): Promise<void> {
    return this.#write(async (trx) => {
      if (!batch.isLate) await this.#engine.shared?.relax(trx);
      await requests.saveBlocks(trx, batch.requests);
      await usage.addUsage(trx, batch.usage);
      await usage.addKeyTotals(trx, batch.totals);
      if (batch.affinity !== undefined) await affinity.addAffinity(trx, batch.affinity);
    });
  }

  listRequests(filter: port.RequestFilter): Promise<readonly port.StoredRequest[]> {
    return this.#read(this.#reader, (db) => requests.listRequests(db, filter));
  }

  findRequest(id: string): Promise<port.StoredRequest | undefined> {
    return this.#read(this.#reader, (db) => requests.findRequest(db, id));
  }

  async pruneRequests({ keep, beforeSeq }: { readonly keep: number; readonly beforeSeq: number }): Promise<number> {
    const surplus = (await this.#read(this.#reader, requests.countRequests)) - keep;
    let total = 0;
    for (;;) {
      const left = { beforeSeq, surplus: surplus - total };
      const removed = await this.#write((trx) => requests.deleteOldestRequests(trx, left));
      if (removed === 0) return total;
      total += removed;
    }
  }

  readUsage(query: port.UsageQuery): Promise<readonly port.UsageSum[]> {
    return this.#read(this.#reader, (db) => usage.readUsage(db, query));
  }

  readAffinity(query: port.AffinityQuery): Promise<readonly port.AffinitySum[]> {
    return this.#read(this.#reader, (db) => affinity.readAffinity(db, query));
  }

  loadActivity(): Promise<port.StoredActivity> {
    return this.#write(async (trx) => ({
      lastSeq: await requests.readLastSeq(trx),
      lane: this.#version === undefined ? 0 : await takeLane(trx),
      totals: await usage.readKeyTotals(trx),
    }));
  }

  async pruneUsage({ hours, minutes, details }: port.UsageLimits): Promise<number> {
    await this.#write((trx) => usage.deleteKeyTotalsBefore(trx, hours));
    const limits = { hour: hours, minute: minutes, detail: details } as const;
    let gone = 0;
    for (const span of ["hour", "minute", "detail"] as const) {
      gone += await this.#inParts(Infinity, (trx, limit) =>
        usage.deleteUsageBefore(trx, { span, before: limits[span], limit }),
      );
    }
    gone += await this.#inParts(Infinity, (trx, limit) => affinity.deleteAffinityBefore(trx, { before: hours, limit }));
    return gone;
  }

  async getMeta(name: string): Promise<string | undefined> {
    return await this.#read(this.#writer, async (db) => {
      const row = await db.selectFrom("meta").select("value").where("name", "=", name).executeTakeFirst();
      return row?.value;
    });
  }

  setMeta(name: string, value: string | undefined, options?: { readonly tells: boolean }): Promise<void> {
    const work = (trx: Transaction<Database>): Promise<void> => setMeta(trx, name, value);
    return options?.tells === true ? this.#versioned(work, (version, trx) => version.push(trx)) : this.#write(work);
  }

  setMetaOnce(name: string, value: string): Promise<string> {
    return this.#write((trx) => setMetaOnce(trx, name, value));
  }

  async claim(task: string, everyMs: number): Promise<boolean> {
    if (this.#version === undefined) return true;
    const now = this.#now();
    // Compared as text, which instants of one length are in the same order as. One from a clock that is ahead counts for none.
    const instants = { value: String(now), least: String(now - everyMs), most: String(now + everyMs) };
    const query = (trx: Transaction<Database>): Promise<unknown[]> =>
      trx
        .insertInto("meta")
        .values({ name: `claimed:${task}`, value: instants.value })
        .onConflict((conflict) =>
          conflict
            .column("name")
            .doUpdateSet({ value: instants.value })
            .where((eb) => eb.or([eb("meta.value", "<=", instants.least), eb("meta.value", ">", instants.most)])),
        )
        .returning("name")
        .execute();
    return (await this.#write(query)).length > 0;
  }

  close(): Promise<void> {
    clearTimeout(this.#probe);
    clearTimeout(this.#nextLook);
    clearInterval(this.#folding);
    this.#closing ??= this.#close().finally(this.#release);
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#running);
    await this.#scrubber.close();
    // The reader first: only the last connection that may write can put the log away.
    await this.#reader.destroy();
    await this.#writer.destroy();
  }

  async #deleteSessions(doomed: sessions.DoomedSessions): Promise<number> {
    let total = 0;
    for (;;) {
      const removed = await this.#write((trx) => sessions.deleteSomeSessions(trx, doomed, removedAtOnce));
      total += removed;
      if (removed < removedAtOnce) return total;
    }
  }

  /** Removes `most` in transactions of their own, so that other writes get their turn. @returns how many */
  async #inParts(
    most: number,
    remove: (trx: Transaction<Database>, limit: number) => Promise<number>,
  ): Promise<number> {
    let total = 0;
    while (total < most) {
      const limit = Math.min(removedAtOnce, most - total);
      const removed = await this.#write((trx) => remove(trx, limit));
      total += removed;
      if (removed < limit) break;
    }
    return total;
  }

  /** Where something is to be sealed and the key is wrong: it may have become right, once nothing is sealed any more. */
  async #refuseUnsealable(values: readonly (port.KeySecret | null | undefined)[]): Promise<void> {
    if (values.every((value) => value?.kind !== "literal")) return;
    // In a shared database another gateway's key may have become the right one.
    if (this.#masterKeyMatches && this.#version === undefined) return;
    this.#masterKeyMatches = await this.#write((trx) => this.#secrets.checkCanary(trx, { claims: true }));
    if (!this.#masterKeyMatches) throw wrongMasterKey();
  }

  /** A change of the configuration, planned on what was loaded last. */
  #change<T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> {
    return this.#versioned(work, (version, trx) => version.claim(trx));
  }

  /** With its place in the count of changes, where there is one. That place is taken first: others wait from there on. */
  async #versioned<T>(
    work: (trx: Transaction<Database>) => Promise<T>,
    take: (version: ConfigurationVersion, trx: Transaction<Database>) => Promise<() => void>,
  ): Promise<T> {
    const version = this.#version;
    if (version === undefined) return await this.#write(work);
    const { result, settle } = await this.#write(async (trx) => {
      const settle = await take(version, trx);
      return { result: await work(trx), settle };
    });
    settle();
    return result;
  }

  async #write<T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> {
    for (let triesLeft = mostTries; ;) {
      try {
        const result = await this.#run(() => this.#writer.transaction().execute((trx) => this.#prove(trx, work)));
        this.#trouble = undefined;
        this.#hasNews = true;
        return result;
      } catch (error) {
        triesLeft -= 1;
        if (triesLeft > 0 && this.#mayWorkNow(error)) continue;
        throw this.#note(this.#told(error));
      }
    }
  }

  /** What stood in the way was another gateway's transaction: the next look finds things as that one has left them. */
  #mayWorkNow(error: unknown): boolean {
    if (this.#version === undefined) return false;
    const { kind } = this.#engine.explain(error);
    return kind === "crossed" || kind === "orphan";
  }

  /** After a failure, a transaction that happens to change nothing does not prove that the database can be written. */
  async #prove<T>(trx: Transaction<Database>, work: (trx: Transaction<Database>) => Promise<T>): Promise<T> {
    const result = await work(trx);
    await this.#version?.verify(trx);
    if (this.#trouble !== undefined) await setMeta(trx, "last_recovered_at", String(this.#now()));
    return result;
  }

  /** Writes what deletes or replaces sealed values: nothing of them stays in the files. */
  #forget<T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> {
    return this.#scrubber.writeThenScrub(work, (inTransaction) => this.#change(inTransaction));
  }

  async #read<T>(db: Kysely<Database>, work: (db: Kysely<Database>) => Promise<T>): Promise<T> {
    try {
      return await this.#run(() => work(db));
    } catch (error) {
      throw this.#told(error);
    }
  }

  /** What a failure means for the caller; damage is remembered, whoever came upon it. */
  #told(error: unknown): unknown {
    const fault = this.#engine.explain(error);
    if (fault.kind === "damaged" && this.#closing === undefined) this.#setDamage({ ...fault, isDamage: true });
    return toKeywheelError(error, this.#engine);
  }

  #setDamage(damage: port.StoreTrouble | undefined): void {
    if (this.#damage?.message === damage?.message) return;
    const isNew = this.#damage === undefined;
    this.#damage = damage;
    this.#onDamage?.(damage);
    if (isNew) this.#lookIn(this.#probeEveryMs);
  }

  #lookIn(delayMs: number): void {
    clearTimeout(this.#nextLook);
    if (this.#closing === undefined) this.#nextLook = setTimeout(() => void this.#look(), delayMs).unref();
  }

  /** Reads the whole file: what is seldom read may be damaged for long before anybody comes upon it. */
  async #look(): Promise<void> {
    try {
      await this.#run(() => this.#engine.examineAll());
      this.#setDamage(undefined);
    } catch (error) {
      this.#told(error);
    }
    this.#lookIn(this.#damage === undefined ? soundLookMs : damagedLookMs);
  }

  async #foldLog(): Promise<void> {
    if (!this.#hasNews) return;
    this.#hasNews = false;
    try {
      await this.#run(() => this.#engine.foldLog(this.#writer));
    } catch (error) {
      // What was written is durable in the log; what else is wrong is told by the next write.
      this.#told(error);
    }
  }

  /** What was begun before the end is waited for, nothing is begun behind it. */
  async #run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new KeywheelError("store_unavailable", "The database is closed");
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  #note(error: unknown): unknown {
    if (!isKeywheelError(error) || error.code !== "store_unavailable" || this.#closing !== undefined) return error;
    this.#trouble = { message: error.message, hint: error.hint, isDamage: false };
    clearTimeout(this.#probe);
    // Without it, a gateway that has nothing to write would go on saying that it cannot.
    this.#probe = setTimeout(() => void this.#tryAgain(), this.#probeEveryMs).unref();
    return error;
  }

  async #tryAgain(): Promise<void> {
    try {
      await this.#write(async () => {});
    } catch {
      // `#note` has kept the reason and set the next try.
    }
  }
}

/** Counts the processes that have begun on this database. */
async function takeLane(trx: Transaction<Database>): Promise<number> {
  const row = await trx.selectFrom("meta").select("value").where("name", "=", "lanes").executeTakeFirst();
  const lane = Number(row?.value ?? 0) + 1;
  await setMeta(trx, "lanes", String(lane));
  return lane;
}
