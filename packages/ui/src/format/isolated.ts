/** Letters that are written from right to left, and what steers the direction unseen. */
const turns =
  /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * A text that somebody gave, such as a name, so that it does not turn round the words beside it: where it may, it is put
 * between "first strong isolate" and its end. In markup, `<bdi>` does the same.
 *
 * @see Unicode Standard Annex 9, "Explicit directional isolates"
 */
export function isolated(text: string): string {
  if (!turns.test(text)) return text;
  // Overrides reach beyond any bracket that is closed by the text itself.
  const plain = text.replace(/[\u202a-\u202e]/g, "");
  return `\u2068${isBalanced(plain) ? plain : plain.replace(/[\u2066-\u2069]/g, "")}\u2069`;
}

function isBalanced(text: string): boolean {
  let depth = 0;
  for (const [mark] of text.matchAll(/[\u2066-\u2069]/g)) {
    depth += mark === "\u2069" ? -1 : 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}
