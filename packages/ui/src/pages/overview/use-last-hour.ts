import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { usageQuery, wasUsedQuery } from "../../api/queries.ts";

export interface Counts {
  readonly requests: number;
  readonly failovers: number;
  readonly errors: number;
}

export interface LastHour {
  readonly of: (providerId: string) => Counts;
  /** Whether no request came in the last 30 days. */
  readonly isUnused: boolean;
}

const nothing: Counts = { requests: 0, failovers: 0, errors: 0 };

/** What each pool did in the last hour. Undefined until it is known. */
export function useLastHour(): LastHour | undefined {
  const { data: hour } = useQuery({ ...usageQuery({ by: "minute,provider" }), refetchInterval: 30_000 });
  const { data: wasUsed } = useQuery(wasUsedQuery);
  return useMemo(() => {
    if (hour === undefined || wasUsed === undefined) return undefined;
    const sums = new Map<string, Counts>();
    for (const { provider_id: id = "", requests, failovers, errors } of hour.data) {
      const sum = sums.get(id) ?? nothing;
      sums.set(id, {
        requests: sum.requests + requests,
        failovers: sum.failovers + failovers,
        errors: sum.errors + errors,
      });
    }
    return { of: (id) => sums.get(id) ?? nothing, isUnused: !wasUsed && hour.data.length === 0 };
  }, [hour, wasUsed]);
}
