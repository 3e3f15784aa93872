/** Consecutive slices of at most `size` items. */
export function* chunksOf<T>(items: readonly T[], size: number): Iterable<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
