/** The number that was typed; NaN for what is none, and for nothing. Digits and one point: no signs, no exponents. */
export function amountOf(typed: number | string): number {
  const text = String(typed).trim();
  return /^(?:\d+(?:\.\d*)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
}
