import type { ErrorFacts } from "./error-facts.ts";
import type { DurationMs, EpochMs } from "./time.ts";
import type { JudgedAnswer } from "./verdict.ts";
import { untilNextMonth, untilPacificMidnight } from "./wait-calendar.ts";
import { asHint, parseDecimal, parseGoogleDuration, parseHttpDate } from "./wait-formats.ts";
import { waitOfText } from "./wait-text.ts";
import { waitOfWindows } from "./wait-windows.ts";

/**
 * Where the wait of a recognised answer comes from. `stated`: what the answer says, in the order of section 6. `none`: what it
 * says is meaningless. The others are known resets that the answer does not spell out.
 */
export type WaitRule = "stated" | "none" | "next-month" | "pacific-midnight";

/**
 * The wait that an answer names: milliseconds rounded up, within (0, 31 days]; undefined when it names none that makes sense.
 *
 * Jitter, ladder and cap are the caller's.
 *
 * @param localOffsetMinutes the zone of bare local times in this provider's sentences
 * @see reference "When to come back", field cases 1 to 10
 */
export function waitHintMs(
  answer: JudgedAnswer,
  facts: ErrorFacts,
  rule: WaitRule = "stated",
  localOffsetMinutes?: number,
): DurationMs | undefined {
  const now = providersNow(answer);
  switch (rule) {
    case "none":
      return undefined;
    case "next-month":
      return untilNextMonth(now);
    case "pacific-midnight":
      return untilPacificMidnight(now);
    case "stated":
      return (
        waitOfRetryAfter(answer.header, now) ??
        waitOfBody(facts, now) ??
        asHint(waitOfWindows(answer.header, now)) ??
        asHint(waitOfWindows(headersInBody(facts), now)) ??
        asHint(waitOfText(facts.words, now, localOffsetMinutes))
      );
  }
}

/** The wait of `retry-after-ms` or `retry-after` alone. */
export function retryAfterMs(answer: JudgedAnswer): DurationMs | undefined {
  return waitOfRetryAfter(answer.header, providersNow(answer));
}

function waitOfRetryAfter(header: (name: string) => string | undefined, now: EpochMs): DurationMs | undefined {
  const milliseconds = asHint(parseDecimal(header("retry-after-ms")));
  if (milliseconds !== undefined) return milliseconds;
  const text = header("retry-after");
  if (text === undefined) return undefined;
  // A header that came twice is joined by commas; a date has one too, but begins with a letter.
  const seconds = parseDecimal(text.split(",")[0]);
  if (seconds !== undefined) return asHint(seconds * 1000);
  const at = parseHttpDate(text);
  return at === undefined ? undefined : asHint(at - now);
}

function waitOfBody(facts: ErrorFacts, now: EpochMs): DurationMs | undefined {
  const { waits } = facts;
  const resetsAt = parseDecimal(waits.resetsAt);
  return (
    asHint(parseGoogleDuration(waits.retryDelay)) ??
    asHint(parseGoogleDuration(waits.quotaResetDelay)) ??
    asHint(secondsAsMs(waits.retryAfter)) ??
    asHint(secondsAsMs(waits.resetsInSeconds)) ??
    (resetsAt === undefined ? undefined : asHint(resetsAt * 1000 - now)) ??
    waitOfRetryAfter(headersInBody(facts), now)
  );
}

function secondsAsMs(value: unknown): number | undefined {
  const seconds = parseDecimal(value);
  return seconds === undefined ? undefined : seconds * 1000;
}

function headersInBody(facts: ErrorFacts): (name: string) => string | undefined {
  const headers = facts.waits.headers ?? {};
  return (name) => {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
  };
}

const sanestDate = Date.UTC(2020, 0, 1);
const latestSaneDate = Date.UTC(2100, 0, 1);

/**
 * What the provider's clock showed when it answered. Absolute times are of that clock, so that its skew against ours cancels
 * out; without a sensible `Date` header ours has to do. @see field case 3
 */
function providersNow(answer: JudgedAnswer): EpochMs {
  const date = parseHttpDate(answer.header("date") ?? "");
  return date !== undefined && date >= sanestDate && date < latestSaneDate ? date : answer.receivedAt;
}
