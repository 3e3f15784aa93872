import type { Catalog } from "../../catalog/catalog.ts";
import type { CatalogEvent } from "../../catalog/events.ts";
import { policyOf } from "../../catalog/settings.ts";
import type { CatalogUpdate, ProviderSnapshot } from "./subjects.ts";

type Provider = ReturnType<Catalog["providers"]["list"]>[number];

/** Tells workers what changes in the catalog: once for all that happens in one turn of the event loop. */
export class CatalogFeed {
  readonly #catalog: Catalog;
  readonly #send: (update: CatalogUpdate) => Promise<unknown>;
  readonly #changed = new Set<string>();
  #hasNewTokens = false;
  #isDue = false;
  /** Settles when all that was sent is taken up. */
  #sent: Promise<unknown> = Promise.resolve();

  /** @param send hands an update to every worker; settles when all have taken it up */
  constructor(catalog: Catalog, send: (update: CatalogUpdate) => Promise<unknown>) {
    this.#catalog = catalog;
    this.#send = send;
  }

  /** Everything there is, for a worker that begins. */
  whole(): CatalogUpdate {
    const { tokens, requiresToken, providers } = this.#catalog;
    return { providers: providers.list().map(snapshotOf), removed: [], tokens: tokens.list(), requiresToken };
  }

  /** To be called with every event of the catalog. */
  observe(event: CatalogEvent): void {
    if ("tokenId" in event) this.#hasNewTokens = true;
    else if ("providerId" in event) this.#changed.add(event.providerId);
    else return;
    this.#becomeDue();
  }

  /** A provider whose keys have changed by themselves: one was refused. */
  touch(providerId: string): void {
    this.#changed.add(providerId);
    this.#becomeDue();
  }

  /** Settles when the workers know all that has changed until now. */
  async settle(): Promise<void> {
    this.#flush();
    await this.#sent;
  }

  #becomeDue(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    if (!this.#isDue) return;
    this.#isDue = false;
    const found = [...this.#changed].map((id) => ({ id, provider: this.#catalog.providers.find(id) }));
    this.#changed.clear();
    const update: CatalogUpdate = {
      providers: found.flatMap(({ provider }) => (provider === undefined ? [] : [snapshotOf(provider)])),
      removed: found.flatMap(({ id, provider }) => (provider === undefined ? [id] : [])),
      tokens: this.#hasNewTokens ? this.#catalog.tokens.list() : undefined,
      requiresToken: this.#catalog.requiresToken,
    };
    this.#hasNewTokens = false;
    const before = this.#sent;
    const sending = this.#send(update);
    this.#sent = before.then(() => sending);
  }
}

function snapshotOf(provider: Provider): ProviderSnapshot {
  const { record, settings } = provider;
  return {
    record: { ...record, apiKey: null },
    settings,
    policy: policyOf(settings),
    entries: provider.keyEntries(),
    keys: provider.cells().map(({ record: { id, label } }) => ({ id, label, value: provider.secretOf(id)?.reveal() })),
    providerKey: provider.providerSecret()?.reveal(),
  };
}
