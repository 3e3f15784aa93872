import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { call } from "../../api/client.ts";
import type { Session, SessionList } from "../../api/openapi.ts";
import { serverNow } from "../../api/server-time.ts";
import { type SessionFilter, sessionsAtOnce, sessionsQuery } from "../../api/queries.ts";

export interface LiveSessions {
  /** Last used first; undefined until they are known. */
  readonly sessions: readonly Session[] | undefined;
  /** Whether others were used since, while someone reads. */
  readonly hasChanged: boolean;
  readonly showChanges: () => void;
  /** Takes a session that was ended off the list at once. */
  readonly forget: (id: string) => void;
  readonly hasMore: boolean;
  readonly loadMore: () => void;
  readonly isLoadingMore: boolean;
  readonly error: unknown;
  readonly retry: () => void;
}

/** A session is known by its name and its provider: another one may have one of the same name. */
export function nameOf({ provider_id: provider, id }: Session): string {
  return `${provider} ${id}`;
}

/**
 * The sessions that fit a filter, kept up by the events.
 *
 * @param isHeld while true, no session changes its place; what is told of each stays up to date
 */
export function useLiveSessions(filter: SessionFilter, isHeld: boolean): LiveSessions {
  const newest = useQuery(sessionsQuery(filter));
  const [held, setHeld] = useState<SessionList>();
  /** When sessions were ended, by id: those bound since are others. */
  const [ended, setEnded] = useState<ReadonlyMap<string, number>>(new Map());
  const { data: page } = newest;
  useEffect(() => {
    if (page !== undefined) setHeld((before) => (before === undefined || !isHeld ? page : before));
  }, [page, isHeld]);

  const cursor = held?.next_cursor ?? null;
  const more = useInfiniteQuery({
    queryKey: ["more-sessions", filter, cursor],
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/sessions", { query: { ...filter, limit: sessionsAtOnce, cursor: pageParam }, signal }),
    initialPageParam: cursor ?? "",
    getNextPageParam: (last) => last.next_cursor,
    enabled: false,
    staleTime: Infinity,
  });
  return {
    sessions: held && page && whole(held, page, more.data?.pages ?? []).filter((session) => isAlive(session, ended)),
    hasChanged: held !== undefined && page !== undefined && orderOf(held) !== orderOf(page),
    showChanges: () => page && setHeld(page),
    forget: (id) => setEnded((before) => new Map(before).set(id, serverNow())),
    hasMore: more.data === undefined ? cursor !== null : more.hasNextPage,
    loadMore: () => void (more.data === undefined ? more.refetch() : more.fetchNextPage()),
    isLoadingMore: more.isFetching,
    error: newest.error ?? more.error,
    retry: () => void (newest.error ? newest.refetch() : more.refetch()),
  };
}

function isAlive({ id, bound_at: boundAt }: Session, ended: ReadonlyMap<string, number>): boolean {
  return Date.parse(boundAt) > (ended.get(id) ?? -Infinity);
}

function orderOf({ data }: SessionList): string {
  return data.map(nameOf).join(" ");
}

/** In the order that is held, each as it is known last; a session that was used between two pages is on both. */
function whole(held: SessionList, newest: SessionList, more: readonly SessionList[]): readonly Session[] {
  const now = new Map(newest.data.map((session) => [nameOf(session), session]));
  const all = new Map<string, Session>();
  for (const session of [held, ...more].flatMap(({ data }) => data)) {
    const name = nameOf(session);
    if (!all.has(name)) all.set(name, now.get(name) ?? session);
  }
  return [...all.values()];
}
