import { queryKeys } from "../api/query-keys.ts";
import type { GatewayEvent } from "./live-events.ts";

/** What an event makes out of date. */
export interface Outdated {
  /** Names of answers to ask for anew. */
  readonly queries: readonly (readonly string[])[];
  /** Keys whose own state has changed, while the list of keys is the same. */
  readonly keys?: { readonly provider: string; readonly ids: readonly string[] };
}

/** @see contract: the events of `/api/events` */
export function outdatedBy(event: GatewayEvent): Outdated {
  const { queries, keys } = changedBy(event);
  const all = frequent.has(event.type) ? queries : [...queries, queryKeys.recentEvents];
  return keys === undefined ? { queries: all } : { queries: all, keys };
}

/** Come with every request, and are not among those that can be read later. */
const frequent: ReadonlySet<GatewayEvent["type"]> = new Set([
  "attempt-ended",
  "request-finished",
  "binding-moved",
  "pool-exhausted",
]);

function changedBy(event: GatewayEvent): Outdated {
  const { provider_id: provider = "" } = event;
  switch (event.type) {
    case "attempt-ended": {
      const { key_id: id } = event.attempt as { readonly key_id: string };
      return {
        queries: [queryKeys.preview(provider), queryKeys.sessions],
        keys: { provider, ids: [id] },
      };
    }
    case "request-finished":
      return { queries: [queryKeys.requests, queryKeys.usage, queryKeys.tokens] };
    case "key-cooled":
    case "key-disabled":
    case "key-recovered":
      return {
        queries: [queryKeys.status, queryKeys.preview(provider)],
        keys: { provider, ids: event.key_id === undefined ? [] : [event.key_id] },
      };
    case "binding-moved": {
      const ids = [event.from, event.to].filter((id) => typeof id === "string");
      return { queries: [queryKeys.sessions, queryKeys.preview(provider)], keys: { provider, ids } };
    }
    case "key-changed":
    case "key-created":
    case "key-deleted":
    case "key-order-changed":
      return {
        queries: [
          queryKeys.keys(provider),
          queryKeys.preview(provider),
          queryKeys.status,
          queryKeys.sessions,
          queryKeys.requests,
        ],
      };
    case "provider-created":
    case "provider-changed":
    case "provider-deleted":
      return { queries: [queryKeys.providers, queryKeys.status, queryKeys.keys(provider)] };
    case "session-ended": {
      const providers = event.provider_ids as readonly string[];
      return { queries: [queryKeys.sessions, ...providers.map((id) => queryKeys.keys(id))] };
    }
    case "token-created":
    case "token-changed":
    case "token-deleted":
      return { queries: [queryKeys.tokens, queryKeys.status] };
    case "pool-exhausted":
      return { queries: [queryKeys.status] };
    case "notice":
      return { queries: [queryKeys.status, queryKeys.notices] };
  }
}
