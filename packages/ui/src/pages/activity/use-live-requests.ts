import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { call } from "../../api/client.ts";
import type { Request } from "../../api/openapi.ts";
import { newestRequests, type RequestFilter, requestsQuery } from "../../api/queries.ts";
import { type Held, joined, newsIn, noNews } from "./request-feed.ts";

export interface LiveRequests {
  /** Newest first; undefined until they are known. */
  readonly requests: readonly Request[] | undefined;
  /** How many wait to be shown, and whether there are more than are counted. */
  readonly news: { readonly count: number; readonly isMore: boolean };
  readonly showNews: () => void;
  readonly hasOlder: boolean;
  readonly loadOlder: () => void;
  readonly isLoadingOlder: boolean;
  readonly error: unknown;
  readonly retry: () => void;
}

/**
 * The requests that fit a filter, kept up by the events.
 *
 * @param isHeld while true, new ones are counted, not shown: what someone reads stays where it is
 */
export function useLiveRequests(filter: RequestFilter, isHeld: boolean): LiveRequests {
  const newest = useQuery(requestsQuery(filter));
  const [held, setHeld] = useState<Held>();
  const { data: page } = newest;
  const news = held && page ? newsIn(held, page) : noNews;

  useEffect(() => {
    if (page === undefined) return;
    // The first page is shown whatever anyone points at.
    setHeld((before) => (before === undefined || !isHeld ? joined(before, page) : before));
  }, [page, isHeld]);

  const cursor = held?.cursor ?? null;
  const older = useInfiniteQuery({
    // Behind one cursor nothing changes any more: asked for once.
    queryKey: ["older-requests", filter, cursor],
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/requests", { query: { ...filter, limit: newestRequests, cursor: pageParam }, signal }),
    initialPageParam: cursor ?? "",
    getNextPageParam: (last) => last.next_cursor,
    enabled: false,
    staleTime: Infinity,
  });
  const olderRequests = older.data?.pages.flatMap(({ data }) => data) ?? [];
  const hasOlder = older.data === undefined ? cursor !== null : older.hasNextPage;

  return {
    requests: held && [...held.requests, ...olderRequests],
    news,
    showNews: () => page && setHeld((before) => joined(before, page)),
    hasOlder,
    loadOlder: () => void (older.data === undefined ? older.refetch() : older.fetchNextPage()),
    isLoadingOlder: older.isFetching,
    error: newest.error ?? older.error,
    retry: () => void (newest.error ? newest.refetch() : older.refetch()),
  };
}
