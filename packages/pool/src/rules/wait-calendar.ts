import type { DurationMs, EpochMs } from "./time.ts";

/** Until the next midnight in California, daylight saving time seen to. @see reference "When to come back" (Gemini) */
export function untilPacificMidnight(now: EpochMs): DurationMs {
  const local = new Date(now + pacificOffsetMs(now));
  const midnight = Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate() + 1);
  // The clocks change at two in the morning, so the offset that holds shortly before a midnight holds at it.
  const roughly = midnight - pacificOffsetMs(now);
  return midnight - pacificOffsetMs(roughly) - now;
}

/** Until 00:00 UTC on the first of the next month. */
export function untilNextMonth(now: EpochMs): DurationMs {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) - now;
}

/** Made once and late: making it takes a third of a millisecond, and most processes never need it. */
let pacificClock: Intl.DateTimeFormat | undefined;

/** Local time minus UTC. */
function pacificOffsetMs(at: EpochMs): DurationMs {
  pacificClock ??= new Intl.DateTimeFormat("en-US", {
    timeZone: "America/Los_Angeles",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const parts = pacificClock.formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((candidate) => candidate.type === type)?.value);
  const local = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
  return local - Math.floor(at / 1000) * 1000;
}
