/**
 * The number that was typed; NaN for what is none, and for nothing. Digits and one point: no signs, no exponents.
 * Full-width ones too, as keyboards of East Asia write them; not all that NFKC makes digits of: 1² is not 12.
 */
export function amountOf(typed: number | string): number {
  const text = String(typed)
    .trim()
    .replace(/[\uff10-\uff19\uff0e]/g, (wide) => wide.normalize("NFKC"));
  return /^(?:\d+(?:\.\d*)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
}
