const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

export type BucketUnit = "minute" | "hour" | "day";

/** As the API cuts time: days are those of UTC. */
export const bucketMs: Readonly<Record<BucketUnit, number>> = { minute: minuteMs, hour: hourMs, day: dayMs };

/** Where every bucket of a range begins, empty ones too: the API leaves those out. Epoch ms. */
export function bucketStarts(from: number, to: number, unit: BucketUnit): number[] {
  const size = bucketMs[unit];
  const first = from - (from % size);
  const count = Math.max(0, Math.ceil((to - first) / size));
  return Array.from({ length: count }, (_, at) => first + at * size);
}
