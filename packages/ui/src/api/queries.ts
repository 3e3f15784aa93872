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

/** The keys of a provider in wheel order. @param providerId its id: events that change the keys carry ids */
export function keysQuery(providerId: string) {
  return queryOptions({
    queryKey: queryKeys.keys(providerId),
    queryFn: async ({ signal }) =>
      (await call("GET /api/providers/{id}/keys", { params: { id: providerId }, signal })).data,
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
