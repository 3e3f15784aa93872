/** What several rounds come to: the middle, and how far apart they lie. */
export interface Summary {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  readonly count: number;
}

/**
 * The median and the spread of what was measured.
 *
 * @returns undefined of nothing; numbers that are not finite are left out
 */
export function summaryOf(values: readonly number[]): Summary | undefined {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  const least = sorted[0];
  const most = sorted.at(-1);
  if (least === undefined || most === undefined) return undefined;
  const above = sorted[Math.floor(sorted.length / 2)] ?? most;
  const below = sorted[Math.ceil(sorted.length / 2) - 1] ?? least;
  return { median: (below + above) / 2, least, most, count: sorted.length };
}

/** What was measured, by the number of its round. */
export type ByRound = ReadonlyMap<number, number>;

/**
 * Joins what two sides measured in the same rounds; rounds that one of them lacks are left out. A comparison is made within
 * a round, and the median taken after: machines get faster and slower from minute to minute, and both sides with them.
 */
export function paired(left: ByRound, right: ByRound, join: (left: number, right: number) => number): number[] {
  return [...left].flatMap(([round, value]) => {
    const other = right.get(round);
    return other === undefined ? [] : [join(value, other)];
  });
}

/** Half the distance between the highest and the lowest, as a share of the median. */
export function spreadOf({ median, least, most }: Summary): number {
  return median === 0 ? 0 : (most - least) / 2 / Math.abs(median);
}
