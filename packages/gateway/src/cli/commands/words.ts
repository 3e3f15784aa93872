import type { Palette } from "../terminal.ts";
import type { KeyCounts, KeyOnTheWire } from "./wire.ts";

/** `1 key`, `3 keys`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** A length of time in the two largest units that matter: `1 h 5 min`. */
export function duration(ms: number): string {
  const units: readonly (readonly [number, string])[] = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1000, "s"],
  ];
  const seconds = Math.max(0, Math.ceil(ms / 1000)) * 1000;
  const first = units.findIndex(([unit]) => seconds >= unit);
  if (first < 0) return "0 s";
  let rest = seconds;
  const parts = units.slice(first, first + 2).map(([unit, word]) => {
    const count = Math.floor(rest / unit);
    rest -= count * unit;
    return count === 0 ? "" : `${count} ${word}`;
  });
  return parts.filter((part) => part !== "").join(" ");
}

/** How long ago an instant was. */
export function ago(time: string | null, now: number): string {
  if (time === null) return "never";
  const ms = now - Date.parse(time);
  return ms < 1000 ? "just now" : `${duration(ms)} ago`;
}

/** A part of a whole, 0 to 1, as `92.5%`; a dash where there is no whole. */
export function percent(share: number | null): string {
  return share === null ? "–" : `${Number((share * 100).toFixed(1))}%`;
}

/** The local date and time of an instant. */
export function dateTime(time: string): string {
  const date = new Date(time);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

const statusWords: Readonly<Record<KeyOnTheWire["status"], string>> = {
  available: "available",
  cooling_down: "cooling down",
  disabled: "disabled",
  unresolved: "cannot be resolved",
};

/** A key's status with the time that is left of a cooldown. */
export function statusOf({ status, cooldown_until: until }: KeyOnTheWire, now: number): string {
  const left = status === "cooling_down" && until !== null ? `, ${duration(Date.parse(until) - now)} left` : "";
  return `${statusWords[status]}${left}`;
}

export function statusColor(colors: Palette, status: KeyOnTheWire["status"]): (text: string) => string {
  if (status === "available") return colors.green;
  return status === "cooling_down" ? colors.yellow : colors.red;
}

/** Why a key is not available, or how it failed last. */
export function reasonOf({ status_reason: reason }: KeyOnTheWire): string {
  if (reason === null) return "";
  const words = reason.code.replaceAll("_", " ");
  const status = reason.http_status === null ? "" : ` (${reason.http_status})`;
  const message = reason.message === null ? "" : `: ${shorten(reason.message, 80)}`;
  const owner =
    reason.shared_from === null
      ? ""
      : `, with ${reason.shared_from.label || (reason.shared_from.api_key ?? "a key that is gone")}`;
  return `${words}${status}${owner}${message}`;
}

/** `2 of 3 keys available, 1 cooling down`. */
export function countsOf(counts: KeyCounts): string {
  if (counts.total === 0) return "no keys";
  const rest = [
    counts.cooling_down > 0 ? `${counts.cooling_down} cooling down` : "",
    counts.disabled > 0 ? `${counts.disabled} disabled` : "",
    counts.unresolved > 0 ? `${counts.unresolved} cannot be resolved` : "",
  ].filter((part) => part !== "");
  return [`${counts.available} of ${counted(counts.total, "key")} available`, ...rest].join(", ");
}

/** A size in the largest unit that fits: `3.4 MB`. */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3));
  const value = count / 1000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${units[power] ?? ""}`;
}

export function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
