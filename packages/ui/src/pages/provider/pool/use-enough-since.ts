import { useQuery } from "@tanstack/react-query";
import { call } from "../../../api/client.ts";
import type { Key } from "../../../api/openapi.ts";
import { enoughRequests, hasIdleKeys } from "./key-facts.ts";

/** A longer list would cost more than the hint is worth. */
const mostRequests = 200;
const refreshMs = 10_000;

/**
 * The moment since when there were requests enough for each key to have had a turn.
 *
 * @returns undefined where there were fewer of late, and where no key waits for its first
 */
export function useEnoughSince(providerId: string, keys: readonly Key[]): string | undefined {
  const limit = enoughRequests(keys);
  const { data } = useQuery({
    queryKey: ["enough-since", providerId, limit],
    queryFn: async ({ signal }) => {
      const { data: requests } = await call("GET /api/requests", { query: { provider: providerId, limit }, signal });
      // Null: what is undefined counts as no answer.
      return requests[limit - 1]?.started_at ?? null;
    },
    enabled: limit <= mostRequests && hasIdleKeys(keys),
    refetchInterval: refreshMs,
  });
  return data ?? undefined;
}
