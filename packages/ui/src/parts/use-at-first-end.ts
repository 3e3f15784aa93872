import { useEffect } from "react";
import { serverNow } from "../api/server-time.ts";
import { useLatest } from "./use-latest.ts";

/**
 * Does something at the first of several moments: no event tells that a cooldown has passed, so whoever shows it looks
 * again then.
 *
 * @param shown what the moments are of: while it stays the same, they do
 * @param endsOf the moments, in ms since the epoch
 * @param look once for the first of them, a little later than the moment itself
 */
export function useAtFirstEnd<Shown>(
  shown: Shown,
  endsOf: (shown: Shown) => readonly number[],
  look: (first: number) => void,
): void {
  const latest = useLatest({ endsOf, look });
  useEffect(() => {
    const first = latest.endsOf(shown).reduce((least, at) => Math.min(least, at), Infinity);
    if (!Number.isFinite(first)) return;
    // Once a second where the two clocks do not agree on it.
    const wait = Math.min(Math.max(first + 60 - serverNow(), 1_000), 2 ** 30);
    const timer = setTimeout(() => latest.look(first), wait);
    return () => clearTimeout(timer);
  }, [shown, latest]);
}
