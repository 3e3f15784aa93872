import type { KeyView } from "../../catalog/provider-entry.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { AffinitySum } from "../../store/store.ts";
import type { KeyReading } from "../../telemetry/key-gauges.ts";
import type { AffinityReading, AffinityResult } from "../../telemetry/metrics.ts";

export interface ReadingParts {
  /** Requests under way by key, over all processes. */
  readonly inFlight: ReadonlyMap<string, number>;
  readonly now: number;
  /** Takes every secret out of a text: a label may be anything. */
  readonly redact: (text: string) => string;
}

/** Every key as it stands, for the metrics. */
export async function readKeys({ providers, keys }: Catalog, parts: ReadingParts): Promise<readonly KeyReading[]> {
  const readings = await Promise.all(
    providers.list().map(async ({ record }) => keyReadings(record.slug, await keys.list(record.id), parts)),
  );
  return readings.flat();
}

function keyReadings(provider: string, views: readonly KeyView[], { inFlight, now, redact }: ReadingParts) {
  const serving = views.reduce((sum, { status, record }) => sum + (status === "available" ? record.weight : 0), 0);
  return views.map(({ record, status, cooldownUntil, consecutiveFailures, boundSessions }): KeyReading => {
    const { id: key, weight, label } = record;
    return {
      provider,
      key,
      label: redact(label),
      state: status,
      releaseSeconds: Math.max(0, (cooldownUntil ?? now) - now) / 1_000,
      weight,
      shareRatio: status === "available" && serving > 0 ? weight / serving : 0,
      inFlight: inFlight.get(key) ?? 0,
      failures: consecutiveFailures,
      boundSessions,
    };
  });
}

/** What became of affinity, for the metrics. What nothing ties to a key, and providers that are gone, are left out. */
export function readAffinity(
  sums: readonly AffinitySum[],
  slugOf: (providerId: string) => string | undefined,
): readonly AffinityReading[] {
  return sums.flatMap(({ providerId, source, fate, requests, inputTokens, cacheReadTokens, cacheWriteTokens }) => {
    const provider = slugOf(providerId);
    if (provider === undefined || source === "none") return [];
    return [{ provider, source, result: resultOf(fate), requests, inputTokens, cacheReadTokens, cacheWriteTokens }];
  });
}

function resultOf(fate: string): AffinityResult {
  if (fate === "kept") return "hit";
  return fate === "new" ? "unbound" : "moved";
}
