import type { QueryClient } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { Key } from "../api/openapi.ts";
import { queryKeys } from "../api/query-keys.ts";
import type { GatewayEvent } from "./live-events.ts";
import { outdatedBy } from "./outdated.ts";

/** One request makes several events, which come together. */
const firstMs = 40;
/** Changes are to be seen within a second; a busy pool makes hundreds of events in that time. */
const collectMs = 300;
/** Up to here the whole list is asked for: one call, whatever changed. */
const shortList = 200;
/** In a longer list, so many changed keys are asked for one by one; more, and the list is, but seldom. */
const mostSingleKeys = 25;
const longListEveryMs = 3_000;

/** Asks anew for what events made out of date: at most some three times a second, and only for what a page shows. */
export class Refresher {
  readonly #client: QueryClient;
  readonly #queries = new Map<string, readonly string[]>();
  readonly #keys = new Map<string, Set<string>>();
  readonly #listAskedAt = new Map<string, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #flushedAt = 0;
  readonly #later = new Set<ReturnType<typeof setTimeout>>();

  constructor(client: QueryClient) {
    this.#client = client;
  }

  readonly note = (event: GatewayEvent): void => {
    const { queries, keys } = outdatedBy(event);
    for (const query of queries) this.#queries.set(query.join("/"), query);
    if (keys) this.noteKeys(keys.provider, keys.ids);
    this.#schedule();
  };

  /** Marks keys as changed by the passing of time, such as the end of a cooldown. */
  noteKeys(provider: string, ids: readonly string[]): void {
    const known = this.#keys.get(provider) ?? new Set();
    for (const id of ids) known.add(id);
    this.#keys.set(provider, known);
    this.#schedule();
  }

  everything(): void {
    void this.#client.invalidateQueries();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const timer of this.#later) clearTimeout(timer);
    this.#later.clear();
    this.#queries.clear();
    this.#keys.clear();
  }

  #noteKeysLater(provider: string, ids: readonly string[], waitMs: number): void {
    const timer = setTimeout(() => {
      this.#later.delete(timer);
      this.noteKeys(provider, ids);
    }, waitMs);
    this.#later.add(timer);
  }

  #schedule(): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        this.#flushedAt = Date.now();
        this.#flush();
      },
      Math.max(firstMs, this.#flushedAt + collectMs - Date.now()),
    );
  }

  #flush(): void {
    for (const [provider, ids] of this.#keys) this.#refreshKeys(provider, [...ids]);
    this.#keys.clear();
    const queries = [...this.#queries.values()];
    this.#queries.clear();
    for (const query of queries) this.#refresh(query);
  }

  /** One that is being asked for is asked again when its answer is there: begun anew each time, a slow one never would be. */
  #refresh(query: readonly string[]): void {
    if (this.#client.isFetching({ queryKey: query }) === 0) {
      void this.#client.invalidateQueries({ queryKey: query });
      return;
    }
    this.#queries.set(query.join("/"), query);
    this.#schedule();
  }

  #refreshKeys(provider: string, ids: readonly string[]): void {
    const query = queryKeys.keys(provider);
    if (this.#queries.has(query.join("/"))) return;
    const list = this.#client.getQueryData<readonly Key[]>(query);
    if (list === undefined) {
      // On its way, perhaps as it was before this event: a first load cannot be begun anew, so it is looked at again after it.
      if (this.#client.isFetching({ queryKey: query }) > 0) this.#noteKeysLater(provider, ids, collectMs);
      return;
    }
    const isShort = list.length <= shortList;
    if (!isShort && ids.length <= mostSingleKeys) {
      for (const id of ids) void this.#refreshKey(provider, id);
      return;
    }
    const wait = isShort ? 0 : (this.#listAskedAt.get(provider) ?? 0) + longListEveryMs - Date.now();
    if (wait > 0) {
      this.#noteKeysLater(provider, ids, wait);
      return;
    }
    this.#listAskedAt.set(provider, Date.now());
    void this.#client.invalidateQueries({ queryKey: query });
  }

  async #refreshKey(provider: string, id: string): Promise<void> {
    try {
      const key = await call("GET /api/keys/{id}", { params: { id } });
      this.#client.setQueryData<readonly Key[]>(queryKeys.keys(provider), (list) =>
        list?.map((other) => (other.id === id ? key : other)),
      );
    } catch {
      // It is gone, or the gateway is: either is told by an event, or found out by the next call that a person makes.
    }
  }
}
