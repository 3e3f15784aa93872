import type { Token, TokenPatch } from "../../api/openapi.ts";

/** From when on a token is refused, as the form asks: never, so many days from now, or after a day. */
export type ExpiryChoice = "never" | "7" | "30" | "90" | "365" | "day";

/** What the form of a token holds. */
export interface TermValues {
  readonly name: string;
  /** Ids; none for all. */
  readonly providers: string[];
  readonly expiry: ExpiryChoice;
  /** The last day on which it is good, as a date field writes it: "2027-01-31", or "". */
  readonly lastDay: string;
  /** "" for no limit. */
  readonly perMinute: number | string;
  readonly concurrent: number | string;
}

const dayMs = 86_400_000;

/** What the form begins with. @param known ids of providers that exist; the others cannot be shown */
export function initialTerms(token: Token | undefined, known: readonly string[]): TermValues {
  const expiresAt = token?.expires_at ?? null;
  return {
    name: token?.name ?? "",
    providers: (token?.providers ?? []).filter((id) => known.includes(id)),
    expiry: expiresAt === null ? "never" : "day",
    lastDay: expiresAt === null ? "" : dayOf(Date.parse(expiresAt) - 1),
    perMinute: token?.max_requests_per_minute ?? "",
    concurrent: token?.max_concurrent ?? "",
  };
}

/**
 * What is sent: only what differs from the beginning, so that what the form cannot show (the hour of an end, a provider
 * that is gone) is not lost by looking at it.
 *
 * @param now epoch ms
 */
export function changedTerms(values: TermValues, before: TermValues, now: number): TokenPatch {
  const [perMinute, concurrent] = [limitOf(values.perMinute), limitOf(values.concurrent)];
  const isExpiryChanged = values.expiry !== before.expiry || values.lastDay !== before.lastDay;
  return {
    ...(values.name.trim() === before.name ? {} : { name: values.name.trim() }),
    ...(values.providers.join() === before.providers.join()
      ? {}
      : { providers: values.providers.length === 0 ? null : values.providers }),
    ...(isExpiryChanged ? { expires_at: expiryOf(values, now) } : {}),
    ...(perMinute === limitOf(before.perMinute) ? {} : { max_requests_per_minute: perMinute }),
    ...(concurrent === limitOf(before.concurrent) ? {} : { max_concurrent: concurrent }),
  };
}

/** @returns RFC 3339, or null for never */
function expiryOf({ expiry, lastDay }: TermValues, now: number): string | null {
  if (expiry === "never") return null;
  if (expiry !== "day") return new Date(now + Number(expiry) * dayMs).toISOString();
  return new Date(endOfDay(lastDay)).toISOString();
}

/** The end of a day where the browser is, epoch ms; NaN for what is no day. */
export function endOfDay(day: string): number {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day);
  return match === null ? Number.NaN : new Date(Number(match[1]), Number(match[2]) - 1, Number(match[3]) + 1).getTime();
}

/** The day of an instant where the browser is, as a date field writes it. */
export function dayOf(at: number): string {
  const date = new Date(at);
  const two = (part: number): string => String(part).padStart(2, "0");
  return `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Whether a field of a limit holds one that the gateway takes, or nothing. */
export function isLimit(value: number | string, most: number): boolean {
  const limit = limitOf(value);
  return limit === null || (Number.isInteger(limit) && limit >= 1 && limit <= most);
}

function limitOf(value: number | string): number | null {
  return value === "" ? null : Number(value);
}

/** @see the gateway's contract of tokens */
export const most = { perMinute: 100_000, concurrent: 10_000 } as const;
