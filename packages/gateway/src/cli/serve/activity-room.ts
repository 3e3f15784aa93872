import type { Clock, PoolEvent } from "@keywheel/pool";
import { Activity, type ActivityDeps } from "../../activity/activity.ts";
import type { ActivityEvent } from "../../activity/events.ts";
import { EventGate } from "../../activity/event-gate.ts";
import { type Notice, NoticeBook } from "../../activity/notice-book.ts";
import { NoticeWatch, type WatchedProvider } from "../../activity/notice-watch.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { sourceOf } from "../../catalog/secret-source.ts";
import type { CatalogEvent } from "../../catalog/events.ts";
import { type EventHub, frequentEvents, type GatewayEvent } from "../../control-plane/event-hub.ts";
import type { RequestRecord } from "../../data-plane/request-record.ts";
import type { OpenedStore } from "../../store/store.ts";
import type { LoadRoom } from "./load-room.ts";
import type { StateRoom } from "./state-room.ts";

export interface ActivityRoomParts extends Pick<ActivityDeps, "lastSeq" | "lane" | "redact" | "onTrouble"> {
  readonly clock: Clock;
  readonly catalog: Pick<Catalog, "providers" | "labelOfKey">;
  readonly store: OpenedStore;
  readonly events: Pick<EventHub, "publish">;
  readonly load: Pick<LoadRoom, "state">;
  readonly sharing: Pick<StateRoom, "trouble">;
  /** Why the file of configuration is not what is served; undefined while it is, or there is none. */
  readonly configTrouble?: () => { readonly file: string; readonly problem: string } | undefined;
  /** Told when a notice is raised, goes on, or is over. Must not throw. */
  readonly onNotice: (event: Extract<ActivityEvent, { readonly type: "notice" }>) => void;
}

/** Whoever wants to know what went through: the explanation of requests, usage, notices, and those who follow the events. */
export interface ActivityRoom {
  readonly kept: Activity;
  readonly notices: {
    check(): void;
    list(): readonly Notice[];
    dismiss(id: string): boolean;
  };
  /** These run on the request path and never throw. */
  readonly requestEnded: (record: RequestRecord) => void;
  readonly poolEvent: (event: PoolEvent) => void;
  readonly catalogEvent: (event: CatalogEvent) => void;
}

export function openActivity({
  clock,
  catalog,
  store,
  events,
  load,
  sharing,
  configTrouble,
  onNotice,
  ...parts
}: ActivityRoomParts): ActivityRoom {
  const gate = new EventGate(clock);
  /** Asks the gate before it makes an event: where many come, most are skipped. */
  const offer = (type: GatewayEvent["type"], make: () => GatewayEvent): void => {
    const skipped = frequentEvents.has(type) ? gate.pass(type) : 0;
    if (skipped === undefined) return;
    events.publish(skipped === 0 ? make() : { ...make(), skipped });
  };
  const kept = new Activity({ ...parts, store, clock, labelOf: (_, keyId) => catalog.labelOfKey(keyId) ?? "" });
  const book = new NoticeBook(clock, (event) => {
    events.publish(event);
    if (event.type === "notice") onNotice(event);
  });
  const watch = new NoticeWatch({
    book,
    clock,
    providers: () => catalog.providers.list().map(watched),
    provider: (id) => {
      const entry = catalog.providers.find(id);
      return entry === undefined ? undefined : watched(entry);
    },
    storeTrouble: () => store.trouble,
    sharedStateTrouble: sharing.trouble,
    masterKeyMatches: () => store.masterKeyMatches,
    overload: () => load.state().reason,
    configTrouble: configTrouble ?? (() => undefined),
  });

  return {
    kept,
    notices: {
      check: () => watch.check(),
      list: () => book.list(),
      dismiss: (id) => book.dismiss(id),
    },
    requestEnded: (record) => {
      // Writing down every one of them would be a load of its own: they are counted, and told of as one notice.
      if (record.error === "overloaded") return;
      const { endedAt } = kept.record(record);
      watch.request(record);
      offer("request-finished", () => finished(record, endedAt));
    },
    poolEvent: (event) => {
      watch.poolEvent(event);
      // These are told as the notice, and as the changed key, that come of them.
      if (event.type !== "notice" && event.type !== "organization-seen") offer(event.type, () => event);
    },
    catalogEvent: (event) => {
      events.publish(event);
      watch.catalogEvent(event);
    },
  };
}

function finished(record: RequestRecord, at: number): GatewayEvent {
  const { requestId, providerId, keyId, status, error, ending, attempts, durationMs, usage } = record;
  const fields = { requestId, providerId, keyId, status, error, ending, durationMs, usage, at };
  return { type: "request-finished", ...fields, attempts: attempts.length };
}

type Provider = ReturnType<Catalog["providers"]["list"]>[number];

/** Looked up only when asked: a pool may have ten thousand keys. */
function watched(entry: Provider): WatchedProvider {
  const { id, name, baseUrl } = entry.record;
  return {
    id,
    name,
    baseUrl,
    canServe: async () => (await entry.pool.preview(1)).length > 0,
    get unresolved() {
      return entry.cells().flatMap(({ unresolved, record: { secret } }) => {
        if (unresolved === undefined) return [];
        const isVariable = secret.kind === "reference" && sourceOf(secret.name).kind === "variable";
        return [{ why: unresolved.message, variable: isVariable ? secret.name : undefined }];
      });
    },
    get refused() {
      return entry.cells().filter(({ record }) => !record.enabled && isRefused(record.disabledReason)).length;
    },
    get owner() {
      return ownerOf(entry.cells());
    },
    get wasAccepted() {
      return entry.cells().some(({ stats }) => stats.successes > 0);
    },
  };
}

/**
 * Whose all the keys are that may serve, if there are several and all are of one: as the operator has grouped them, else as
 * the provider says.
 */
function ownerOf(cells: ReturnType<Provider["cells"]>): WatchedProvider["owner"] {
  const able = cells.filter(({ record }) => record.enabled);
  const isGrouped = able.some(({ record }) => record.group !== "");
  const nameOf = ({ record, organization }: (typeof able)[number]): string | undefined =>
    isGrouped ? record.group : organization;
  const name = able[0] && nameOf(able[0]);
  if (able.length < 2 || name === undefined || name === "" || able.some((cell) => nameOf(cell) !== name))
    return undefined;
  return { name, keys: able.length, isGroup: isGrouped };
}

function isRefused(reason: { readonly code: string } | null): boolean {
  return reason?.code === "authentication_failed";
}
