import { useTranslation } from "react-i18next";
import { serverNow } from "../api/server-time.ts";

/** Numbers, shares, instants and durations as the language writes them. */
export interface Format {
  readonly number: (value: number) => string;
  /** @param share 0 to 1; at most one decimal, and none where it says nothing */
  readonly percent: (share: number) => string;
  /** Date and time. */
  readonly dateTime: (at: string) => string;
  /** "3 minutes ago", by the gateway's clock; "now" below five seconds. */
  readonly ago: (at: string) => string;
  /** A length as a person says it: "1 min", "1 h 30 min", "250 ms". Up to two units. */
  readonly duration: (ms: number) => string;
  /** Time left as a clock shows it: "0:47", "14:03", "1:02:09". Rounded up: it shows 0:00 only when it is over. */
  readonly clock: (ms: number) => string;
  readonly bytes: (count: number) => string;
  /** "10:32:11", with the day before it unless it is today's. */
  readonly time: (at: string) => string;
  /** "10:32"; for the marks of an axis. @param at epoch ms */
  readonly hourMinute: (at: number) => string;
  /** "Jan 31"; for the marks of an axis. @param at epoch ms, the beginning of a day in UTC */
  readonly utcDay: (at: number) => string;
  /** "Jan 31, 10:00"; for the marks of an axis. @param at epoch ms */
  readonly dayHour: (at: number) => string;
  /** How long an answer took: "234 ms", "1.2 s", "2 min 5 s". */
  readonly latency: (ms: number) => string;
  /** "1,204", "12.5K": where there is little room. */
  readonly compact: (value: number) => string;
}

export function useFormat(): Format {
  const { i18n } = useTranslation();
  return formatOf(i18n.language);
}

/** The formatters of `Intl` are dear to make, and every row of a table asks for them. */
const formats = new Map<string, Format>();

/** The format of a language, made once. */
export function formatOf(language: string): Format {
  const made = formats.get(language);
  if (made !== undefined) return made;
  const format = createFormat(language);
  formats.set(language, format);
  return format;
}

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
  ["millisecond", 1],
] as const;

export function createFormat(language: string): Format {
  const number = new Intl.NumberFormat(language);
  const percent = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 });
  const dateTime = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  const unitFormats = new Map(
    units.map(([unit]) => [unit, new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short" })]),
  );
  const list = new Intl.ListFormat(language, { type: "unit", style: "narrow" });

  const duration = (ms: number): string => {
    let rest = Math.max(0, Math.round(ms));
    const parts: string[] = [];
    for (const [unit, size] of units) {
      const count = Math.floor(rest / size);
      if (parts.length > 0 && count === 0) break;
      if (count === 0 && unit !== "millisecond") continue;
      parts.push(unitFormats.get(unit)?.format(count) ?? "");
      rest -= count * size;
      if (parts.length === 2 || rest === 0) break;
    }
    return list.format(parts);
  };

  const compact = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
  const clockTime = new Intl.DateTimeFormat(language, { timeStyle: "medium" });
  const hourMinute = new Intl.DateTimeFormat(language, { timeStyle: "short" });
  const utcDay = new Intl.DateTimeFormat(language, { month: "short", day: "numeric", timeZone: "UTC" });
  const dayHour = new Intl.DateTimeFormat(language, {
    month: "short",
    day: "numeric",
    hour: "numeric",
    minute: "2-digit",
  });
  const dayAndTime = new Intl.DateTimeFormat(language, {
    month: "short",
    day: "numeric",
    hour: "numeric",
    minute: "2-digit",
    second: "2-digit",
  });
  const latencyIn = (unit: string, digits: number): Intl.NumberFormat =>
    new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "narrow", maximumFractionDigits: digits });
  const [milliseconds, seconds] = [latencyIn("millisecond", 0), latencyIn("second", 1)];

  return {
    time: (at) => {
      const date = new Date(at);
      const isToday = date.toDateString() === new Date(serverNow()).toDateString();
      return (isToday ? clockTime : dayAndTime).format(date);
    },
    hourMinute: (at) => hourMinute.format(at),
    utcDay: (at) => utcDay.format(at),
    dayHour: (at) => dayHour.format(at),
    latency: (ms) => {
      if (ms < 1_000) return milliseconds.format(ms);
      return ms < 60_000 ? seconds.format(ms / 1_000) : duration(ms);
    },
    compact: (value) => (value < 10_000 ? number : compact).format(value),
    number: (value) => number.format(value),
    // No share is nothing: a key of ten thousand takes turns.
    percent: (share) => (share > 0 && share < 0.001 ? `< ${percent.format(0.001)}` : percent.format(share)),
    dateTime: (at) => dateTime.format(new Date(at)),
    ago: (at) => {
      const ms = serverNow() - Date.parse(at);
      if (ms < 5_000) return relative.format(0, "second");
      const [unit, size] = units.find(([, unitMs]) => ms >= unitMs) ?? units[3];
      return relative.format(-Math.floor(ms / size), unit === "millisecond" ? "second" : unit);
    },
    duration,
    clock,
    bytes: (count) => {
      const [unit, size] = (
        [
          ["gigabyte", 2 ** 30],
          ["megabyte", 2 ** 20],
          ["kilobyte", 2 ** 10],
          ["byte", 1],
        ] as const
      ).find(([, size]) => count >= size) ?? ["byte", 1];
      const format = new Intl.NumberFormat(language, {
        style: "unit",
        unit,
        // "86 byte" is what the short form makes of it.
        unitDisplay: unit === "byte" ? "long" : "short",
        maximumFractionDigits: 1,
      });
      return format.format(count / size);
    },
  };
}

function clock(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  const two = (part: number): string => String(part).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}
