import { queryOptions } from "@tanstack/react-query";
import { call } from "./client.ts";
import { queryKeys } from "./query-keys.ts";

/** How the gateway and its pools stand. */
export const statusQuery = queryOptions({
  queryKey: queryKeys.status,
  queryFn: ({ signal }) => call("GET /api/status", { signal }),
});

export const presetsQuery = queryOptions({
  queryKey: queryKeys.presets,
  queryFn: async ({ signal }) => (await call("GET /api/provider-presets", { signal })).data,
  staleTime: Infinity,
});

export const providersQuery = queryOptions({
  queryKey: queryKeys.providers,
  queryFn: async ({ signal }) => (await call("GET /api/providers", { signal })).data,
});

export function providerQuery(idOrSlug: string) {
  return queryOptions({
    queryKey: queryKeys.provider(idOrSlug),
    queryFn: ({ signal }) => call("GET /api/providers/{id}", { params: { id: idOrSlug }, signal }),
  });
}

/** The gateway tokens in order of creation. */
export const tokensQuery = queryOptions({
  queryKey: queryKeys.tokens,
  queryFn: async ({ signal }) => (await call("GET /api/tokens", { signal })).data,
});

/** Where events are sent to, in order of creation. */
export const webhooksQuery = queryOptions({
  queryKey: queryKeys.webhooks,
  queryFn: async ({ signal }) => (await call("GET /api/webhooks", { signal })).data,
});

const deliveriesEveryMs = 5_000;

/** What was sent to a webhook last, newest first. */
export function deliveriesQuery(id: string) {
  return queryOptions({
    queryKey: queryKeys.webhookDeliveries(id),
    queryFn: async ({ signal }) => (await call("GET /api/webhooks/{id}/deliveries", { params: { id }, signal })).data,
    refetchInterval: deliveriesEveryMs,
  });
}

/** The keys of a provider in wheel order. @param providerId its id: events that change the keys carry ids */
export function keysQuery(providerId: string) {
  return queryOptions({
    queryKey: queryKeys.keys(providerId),
    queryFn: async ({ signal }) =>
      (await call("GET /api/providers/{id}/keys", { params: { id: providerId }, signal })).data,
  });
}

export const noticesQuery = queryOptions({
  queryKey: queryKeys.notices,
  queryFn: async ({ signal }) => (await call("GET /api/notices", { signal })).data,
});

/** What happened lately, newest first. */
export const recentEventsQuery = queryOptions({
  queryKey: queryKeys.recentEvents,
  queryFn: async ({ signal }) => (await call("GET /api/recent-events", { query: { limit: 50 }, signal })).data,
});

export interface UsageQuery {
  readonly by: string;
  readonly from?: string;
  readonly to?: string;
  readonly provider?: string;
  readonly key?: string;
}

/** Sums of what was used. */
export function usageQuery(query: UsageQuery) {
  return queryOptions({
    queryKey: [...queryKeys.usage, query],
    queryFn: ({ signal }) => call("GET /api/usage", { query, signal }),
  });
}

/** What keeping sessions on their keys was worth to a pool. @param from an instant; the hour that it lies in counts */
export function affinityQuery(query: { readonly provider: string; readonly from: string }) {
  return queryOptions({
    queryKey: [...queryKeys.usage, "affinity", query],
    queryFn: ({ signal }) => call("GET /api/affinity", { query, signal }),
  });
}

/** The same of one session, request by request. */
export function sessionAffinityQuery(id: string, provider: string) {
  return queryOptions({
    queryKey: [...queryKeys.usage, "session", id, provider],
    queryFn: ({ signal }) => call("GET /api/sessions/{id}/affinity", { params: { id }, query: { provider }, signal }),
  });
}

/** Whether any request came in the last 30 days. Events do not make it out of date: it is dear to sum up so much. */
export const wasUsedQuery = queryOptions({
  queryKey: ["was-used"],
  queryFn: async ({ signal }) => (await call("GET /api/usage", { query: { by: "day" }, signal })).data.length > 0,
  staleTime: 60_000,
});

/** What requests are narrowed to. */
export interface RequestFilter {
  readonly provider?: string;
  readonly key?: string;
  readonly session?: string;
  readonly status?: string;
}

/** How many of the newest are looked at with every change. */
export const newestRequests = 100;

/** The newest requests that fit. */
export function requestsQuery(filter: RequestFilter) {
  return queryOptions({
    queryKey: [...queryKeys.requests, filter],
    queryFn: ({ signal }) => call("GET /api/requests", { query: { ...filter, limit: newestRequests }, signal }),
  });
}

export interface SessionFilter {
  readonly provider?: string;
  readonly key?: string;
  readonly q?: string;
}

/** How many sessions come at a time. */
export const sessionsAtOnce = 100;

/** The sessions that were used last. */
export function sessionsQuery(filter: SessionFilter) {
  return queryOptions({
    queryKey: [...queryKeys.sessions, filter],
    queryFn: ({ signal }) => call("GET /api/sessions", { query: { ...filter, limit: sessionsAtOnce }, signal }),
  });
}

/** One key, for those who meet its id alone. */
export function keyQuery(id: string) {
  return queryOptions({
    queryKey: queryKeys.key(id),
    queryFn: ({ signal }) => call("GET /api/keys/{id}", { params: { id }, signal }),
  });
}

/** The next turns of the wheel, as key ids. */
export function previewQuery(providerId: string, n: number) {
  return queryOptions({
    queryKey: [...queryKeys.preview(providerId), n],
    queryFn: async ({ signal }) =>
      (await call("GET /api/providers/{id}/preview", { params: { id: providerId }, query: { n }, signal })).data,
  });
}
