import { useEffect, useReducer } from "react";
import { serverNow } from "../api/server-time.ts";
import { useFormat } from "../format/format.ts";

/** The time left until an instant, told anew every second. @param until RFC 3339 */
export function useTimeLeft(until: string): string {
  const format = useFormat();
  const left = Date.parse(until) - serverNow();
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    if (left <= 0) return;
    // At the moment at which the shown second changes, not every 1,000 ms from whenever.
    const timer = setTimeout(again, (left % 1_000) + 5);
    return () => clearTimeout(timer);
  });
  return format.clock(left);
}
