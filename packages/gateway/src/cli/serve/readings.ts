import type { Catalog } from "../../catalog/catalog.ts";
import type { Readings } from "../../telemetry/metrics.ts";

/** How many keys of each provider can do what, for the metrics. */
export async function readKeysByStatus({ providers, keys }: Catalog): Promise<Readings["keys"]> {
  const readings = await Promise.all(
    providers.list().map(async ({ record }) => {
      const counts = { available: 0, cooling_down: 0, disabled: 0, unresolved: 0 };
      for (const { status } of await keys.list(record.id)) counts[status]++;
      return Object.entries(counts).map(([status, count]) => ({ provider: record.slug, status, count }));
    }),
  );
  return readings.flat();
}
