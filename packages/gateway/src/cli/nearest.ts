/** The choice that a mistyped word most likely meant; undefined if none is near. */
export function nearest(word: string, choices: readonly string[]): string | undefined {
  const ranked = choices
    .map((choice) => ({ choice, distance: editDistance(word.toLowerCase(), choice.toLowerCase()) }))
    .filter(({ choice, distance }) => distance <= Math.max(1, Math.floor(choice.length * 0.4)))
    .sort((one, other) => one.distance - other.distance);
  return ranked[0]?.choice;
}

/** Levenshtein's, row by row. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
