import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Status } from "../api/openapi.ts";
import { queryKeys } from "../api/query-keys.ts";
import { serverNow } from "../api/server-time.ts";

/** No event tells that a cooldown has passed: whoever shows how pools stand looks again at that moment. */
export function useRefreshAtCooldownsEnd(status: Status | undefined): void {
  const client = useQueryClient();
  useEffect(() => {
    const ends = (status?.providers ?? []).flatMap(({ next_available_at: at }) =>
      at === null ? [] : [Date.parse(at)],
    );
    const first = ends.reduce((least, at) => Math.min(least, at), Infinity);
    if (!Number.isFinite(first)) return;
    // A little later than the moment itself, and once a second where the two clocks do not agree on it.
    const wait = Math.min(Math.max(first + 60 - serverNow(), 1_000), 2 ** 30);
    const timer = setTimeout(() => void client.invalidateQueries({ queryKey: queryKeys.status }), wait);
    return () => clearTimeout(timer);
  }, [status, client]);
}
