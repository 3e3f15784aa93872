import { useQueryClient } from "@tanstack/react-query";
import type { Status } from "../api/openapi.ts";
import { queryKeys } from "../api/query-keys.ts";
import { useAtFirstEnd } from "./use-at-first-end.ts";

/** Asks how the pools stand once the first cooldown has passed. */
export function useRefreshAtCooldownsEnd(status: Status | undefined): void {
  const client = useQueryClient();
  useAtFirstEnd(
    status,
    (shown) => (shown?.providers ?? []).flatMap(({ next_available_at: at }) => (at === null ? [] : [Date.parse(at)])),
    () => void client.invalidateQueries({ queryKey: queryKeys.status }),
  );
}
