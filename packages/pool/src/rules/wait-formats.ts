import type { DurationMs, EpochMs } from "./time.ts";

/** A stated wait beyond this is no hint. @see reference "When to come back", exception (c) */
export const longestHintMs: DurationMs = 31 * 24 * 3_600_000;

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  sec: 1000,
  second: 1000,
  seconds: 1000,
  m: 60_000,
  min: 60_000,
  minute: 60_000,
  minutes: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  hours: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  days: 86_400_000,
};

/** A wait rounded up to whole milliseconds; undefined unless it lies within (0, 31 days]. */
export function asHint(waitMs: number | undefined): DurationMs | undefined {
  // 38.4 s are 38400.000000000004 ms in doubles: what is less than a nanosecond over is not rounded up.
  if (waitMs === undefined || !(waitMs > 0) || waitMs > longestHintMs) return undefined;
  return Math.max(1, Math.ceil(waitMs - 1e-6));
}

/** A decimal number without sign or exponent, as a whole string. */
export function parseDecimal(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) && value >= 0 ? value : undefined;
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  return text.length <= 24 && /^\d+(?:\.\d*)?$/.test(text) ? Number(text) : undefined;
}

/**
 * A duration as Go writes it, as a whole string: "12ms", "6m0s", "1h2m3.5s".
 *
 * @returns milliseconds; undefined for anything else, a bare number included
 */
export function parseGoDuration(text: string): number | undefined {
  const trimmed = text.trim();
  const read = readDuration(trimmed, 0);
  return read !== undefined && read.end === trimmed.length ? read.ms : undefined;
}

/** A duration that begins at `from` of a text ("9m38.016s. Visit …", "38 seconds", "6 minutes"). Every number has a unit. */
export function readDuration(text: string, from: number): { readonly ms: number; readonly end: number } | undefined {
  const part = /(\d{1,15}(?:\.\d{1,15})?) ?([a-zµ]{1,7})(?![a-zµ])/y;
  let ms: number | undefined;
  let end = from;
  // More parts than there are units say nothing sensible.
  for (let parts = 0; parts < 8; parts++) {
    part.lastIndex = end;
    const match = part.exec(text);
    const unit = match?.[2] ?? "";
    if (match === null || !Object.hasOwn(unitMs, unit)) break;
    ms = (ms ?? 0) + Number(match[1]) * (unitMs[unit] ?? 0);
    end = part.lastIndex;
  }
  return ms === undefined ? undefined : { ms, end };
}

/** Google's durations: "34.074824224s", "373.8ms", or `{seconds, nanos}`. */
export function parseGoogleDuration(value: unknown): number | undefined {
  if (typeof value === "string") return parseGoDuration(value);
  if (typeof value !== "object" || value === null) return undefined;
  const { seconds, nanos } = value as { seconds?: unknown; nanos?: unknown };
  return (parseDecimal(seconds) ?? 0) * 1000 + (parseDecimal(nanos) ?? 0) / 1e6;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** An HTTP date in any of its three forms. @see RFC 9110 §5.6.7 */
export function parseHttpDate(text: string): EpochMs | undefined {
  if (text.length > 64) return undefined;
  const [, day, month, year, time] =
    /^(?:[A-Za-z]{3,9}, )?(\d{1,2})[ -]([A-Za-z]{3})[ -](\d{2,4}) (\d\d:\d\d:\d\d) (?:GMT|UTC)$/.exec(text.trim()) ??
    reordered(/^[A-Za-z]{3} ([A-Za-z]{3}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d) (\d{4})$/.exec(text.trim()));
  const monthIndex = months.indexOf(month ?? "");
  if (monthIndex === -1 || time === undefined) return undefined;
  const [hours = 0, minutes = 0, seconds = 0] = time.split(":").map(Number);
  const fullYear = Number(year) < 100 ? 2000 + Number(year) : Number(year);
  return Date.UTC(fullYear, monthIndex, Number(day), hours, minutes, seconds);
}

/** asctime names the month first and the year last. */
function reordered(match: RegExpExecArray | null): readonly (string | undefined)[] {
  const [whole, month, day, time, year] = match ?? [];
  return [whole, day, month, year, time];
}

/** An RFC 3339 time, as a whole string. */
export function parseRfc3339(text: string): EpochMs | undefined {
  if (text.length > 40) return undefined;
  if (!/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/.test(text.trim())) return undefined;
  const at = Date.parse(text.trim().toUpperCase().replace(" ", "T"));
  return Number.isNaN(at) ? undefined : at;
}

/**
 * The wait that a bare number means when the header's name does not tell: epoch milliseconds, epoch seconds or seconds from
 * now, whichever of them alone lies within (now, now + 31 days].
 *
 * @param now the provider's clock
 */
export function waitOfBareNumber(value: number, now: EpochMs): DurationMs | undefined {
  const readings = [value * 1000, value * 1000 - now, value - now].filter((waitMs) => asHint(waitMs) !== undefined);
  return readings.length === 1 ? readings[0] : undefined;
}
