import { wrongWords } from "../exit.ts";

const unitMs: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/**
 * An instant from what a person writes: a length of time from now (`90m`, `12h`, `30d`, `2w`), a day (`2027-01-31`: its
 * end, where the command runs), an instant with its offset, or `never`.
 *
 * @returns RFC 3339, or null for never
 * @throws CommandError (2)
 */
export function readExpiry(text: string, now: number): string | null {
  const word = text.trim();
  if (word.toLowerCase() === "never") return null;
  const instant =
    lengthFrom(word, now) ?? endOfDay(word) ?? (/T.*(Z|[+-]\d\d:\d\d)$/i.test(word) ? Date.parse(word) : NaN);
  // Beyond the year 9999 there is no RFC 3339.
  if (Number.isNaN(instant) || instant > Date.UTC(9999, 11, 31)) {
    throw wrongWords(
      `Expected \`--expires\` to be a time from now such as 12h, 30d or 2w, a day such as 2027-01-31, or never, got "${text}".`,
    );
  }
  return new Date(instant).toISOString();
}

function lengthFrom(word: string, now: number): number | undefined {
  const lengthMs = word === "0" ? undefined : readLength(word);
  return lengthMs === undefined ? undefined : now + lengthMs;
}

/** A length of time as people write it: `90m`, `12h`, `30d`, `2w`, or 0. @returns ms; undefined if it is none */
export function readLength(text: string): number | undefined {
  const word = text.trim();
  if (word === "0") return 0;
  const [, count = "", unit = ""] = /^(\d{1,6})([mhdw])$/i.exec(word) ?? [];
  return count === "" ? undefined : Number(count) * (unitMs[unit.toLowerCase()] ?? Number.NaN);
}

function endOfDay(word: string): number | undefined {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(word);
  if (match === null) return undefined;
  const [year, month, day] = [Number(match[1]), Number(match[2]) - 1, Number(match[3])];
  const isDay = new Date(Date.UTC(year, month, day)).toISOString().startsWith(word);
  return isDay ? new Date(year, month, day + 1).getTime() : Number.NaN;
}
