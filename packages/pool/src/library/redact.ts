import { redacted } from "../ports/secrets.ts";

/** Shorter values than this cannot be told from words. */
const shortestValue = 8;
/** So much of a value's beginning or end is taken for the value, cut off. */
const piece = 12;

/**
 * The text without these values: as they are, URL-encoded, and cut off at either end.
 *
 * @see spec of errors: contract §4 rule 8, "with every secret taken out"
 */
export function withoutSecrets(text: string, values: Iterable<string>): string {
  let shown = text;
  for (const value of values) {
    if (value.length < shortestValue) continue;
    for (const form of new Set([value, encodeURIComponent(value)])) shown = withoutPieces(shown, form);
  }
  return shown;
}

function withoutPieces(text: string, value: string): string {
  let shown = text.replaceAll(value, redacted);
  const length = Math.min(piece, value.length);
  const head = value.slice(0, length);
  for (let at = shown.indexOf(head); at !== -1; at = shown.indexOf(head, at + redacted.length)) {
    let end = length;
    while (end < value.length && shown[at + end] === value[end]) end++;
    shown = shown.slice(0, at) + redacted + shown.slice(at + end);
  }
  const tail = value.slice(-length);
  for (let at = shown.indexOf(tail); at !== -1; at = shown.indexOf(tail)) {
    let before = 0;
    while (before < value.length - length && at > before && shown[at - before - 1] === value.at(-length - before - 1))
      before++;
    shown = shown.slice(0, at - before) + redacted + shown.slice(at + length);
  }
  return shown;
}
