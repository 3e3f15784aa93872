import type { DurationMs, EpochMs } from "./time.ts";
import { readDuration } from "./wait-formats.ts";

/** What stands before a duration in the providers' sentences, lower case. */
const beforeDuration = [
  "try again in ",
  "try again after ",
  "retry in ",
  "retry after ",
  "reset after ",
  "please wait ",
];
const beforeDate = "regain access on ";

/**
 * The wait that a sentence states: "Please try again in 9m38.016s", "Please retry after 38 seconds", "You will regain access
 * on 2026-07-01 at 00:00 UTC".
 *
 * @param words the message in lower case
 * @param now   the provider's clock
 * @param localOffsetMinutes what to take for the zone of a bare date with time ("2026-06-09 06:30:00"); absent: none is read
 */
export function waitOfText(words: string, now: EpochMs, localOffsetMinutes?: number): DurationMs | undefined {
  for (const phrase of beforeDuration) {
    const at = words.indexOf(phrase);
    const read = at === -1 ? undefined : readDuration(words, at + phrase.length);
    if (read !== undefined) return read.ms;
  }
  const until =
    untilDate(words) ?? (localOffsetMinutes === undefined ? undefined : localTime(words, localOffsetMinutes));
  return until === undefined ? undefined : until - now;
}

/** Anthropic's date, in UTC. */
function untilDate(words: string): EpochMs | undefined {
  const at = words.indexOf(beforeDate);
  if (at === -1) return undefined;
  const date = /^(\d{4})-(\d\d)-(\d\d)(?: at (\d\d):(\d\d))?/.exec(words.slice(at + beforeDate.length, at + 64));
  if (date === null) return undefined;
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0] = date.slice(1).map((part) => Number(part ?? 0));
  return Date.UTC(year, month - 1, day, hours, minutes);
}

function localTime(words: string, offsetMinutes: number): EpochMs | undefined {
  const date = /(\d{4})-(\d\d)-(\d\d)[ t](\d\d):(\d\d)(?::(\d\d))?/.exec(words);
  if (date === null) return undefined;
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = date
    .slice(1)
    .map((part) => Number(part ?? 0));
  return Date.UTC(year, month - 1, day, hours, minutes, seconds) - offsetMinutes * 60_000;
}
