/** A slot of the wheel, or all slots of a key in one where there are too many to draw. */
export interface Slot {
  readonly keyId: string;
  /** Clockwise from the top, in turns: 0 to 1. */
  readonly from: number;
  readonly to: number;
}

interface WeightedKey {
  readonly id: string;
  readonly weight: number;
}

/** More slots are not told apart at the size of the drawing. */
export const mostSlots = 72;
export const mostKeys = 48;

/** The slots in wheel order. @returns undefined if the wheel has too many keys to be drawn */
export function slotsOf(keys: readonly WeightedKey[]): readonly Slot[] | undefined {
  if (keys.length === 0 || keys.length > mostKeys) return undefined;
  const total = keys.reduce((sum, { weight }) => sum + weight, 0);
  const isSingle = total <= mostSlots;
  let at = 0;
  return keys.flatMap(({ id, weight }) => {
    const pieces = isSingle ? weight : 1;
    return Array.from({ length: pieces }, () => {
      const from = at / total;
      at += weight / pieces;
      return { keyId: id, from, to: at / total };
    });
  });
}

/**
 * Where on the wheel the next turn is taken, 0 to 1: the middle of its slot.
 *
 * The next turns tell the key, and how many of its turns are left before another key's: a key of weight 3 whose next turns
 * are two has one slot behind it.
 */
export function placeOfNext(keys: readonly WeightedKey[], turns: readonly string[]): number | undefined {
  const next = keys.find(({ id }) => id === turns[0]);
  if (!next) return undefined;
  const total = keys.reduce((sum, { weight }) => sum + weight, 0);
  const before = keys.slice(0, keys.indexOf(next)).reduce((sum, { weight }) => sum + weight, 0);
  const end = turns.findIndex((id) => id !== next.id);
  const left = Math.min(end === -1 ? next.weight : end, next.weight);
  return (before + next.weight - left + 0.5) / total;
}

/** The outline of a piece of a ring, for an SVG path. @param gap between neighbours, in the drawing's units */
export function arcPath(
  { from, to }: Pick<Slot, "from" | "to">,
  {
    center,
    inner,
    outer,
    gap,
  }: { readonly center: number; readonly inner: number; readonly outer: number; readonly gap: number },
): string {
  // A full circle has no two ends to draw between.
  const end = to - from >= 1 ? from + 0.9999 : to;
  const point = (turn: number, radius: number): string => {
    const angle = turn * 2 * Math.PI;
    return `${round(center + radius * Math.sin(angle))} ${round(center - radius * Math.cos(angle))}`;
  };
  const isLarge = end - from > 0.5 ? 1 : 0;
  const inset = (radius: number): number => Math.min(gap / 2 / (2 * Math.PI * radius), (end - from) / 4);
  const [outside, inside] = [inset(outer), inset(inner)];
  return [
    `M ${point(from + outside, outer)}`,
    `A ${outer} ${outer} 0 ${isLarge} 1 ${point(end - outside, outer)}`,
    `L ${point(end - inside, inner)}`,
    `A ${inner} ${inner} 0 ${isLarge} 0 ${point(from + inside, inner)}`,
    "Z",
  ].join(" ");
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** The next angle that shows the same place, turning forwards only: a wheel does not run back. Both in turns. */
export function turnForwards(shown: number, place: number): number {
  const ahead = (((place - shown) % 1) + 1) % 1;
  // The smallest step back, such as by rounding, is no round forwards.
  return ahead > 0.999 ? shown : shown + ahead;
}
