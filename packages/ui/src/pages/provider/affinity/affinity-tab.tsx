import { EmptyState, Group, Paper, SegmentedControl, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconDatabaseOff } from "@tabler/icons-react";
import { type ReactNode, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { PoolAffinity, Provider, Usage } from "../../../api/openapi.ts";
import { affinityQuery, usageQuery } from "../../../api/queries.ts";
import { serverNow } from "../../../api/server-time.ts";
import { useFormat } from "../../../format/format.ts";
import { CacheComparison } from "../../../parts/cache/cache-comparison.tsx";
import { ChartFigure, type ChartRow } from "../../../parts/chart/chart-figure.tsx";
import { bucketStarts, type BucketUnit } from "../../../parts/chart/time-buckets.ts";
import { LoadFailed } from "../../../parts/load-failed.tsx";
import { AffinityTables } from "./affinity-tables.tsx";

const ranges = {
  day: { days: 1, unit: "hour" },
  "7days": { days: 7, unit: "day" },
  "30days": { days: 30, unit: "day" },
} as const;
type Range = keyof typeof ranges;

const dayMs = 86_400_000;

/** What keeping sessions on their keys is worth to this pool. */
export function AffinityTab({ provider }: { readonly provider: Provider }): ReactNode {
  const { t } = useTranslation();
  const [range, setRange] = useState<Range>("day");
  const { days, unit } = ranges[range];
  // Of this choice: with every look at it the answer would be another one.
  const from = useMemo(() => new Date(serverNow() - days * dayMs).toISOString(), [days]);
  const { data, error, refetch } = useQuery(affinityQuery({ provider: provider.id, from }));
  const { data: usage } = useQuery(usageQuery({ by: unit, from, provider: provider.id }));
  const [pool] = data?.data ?? [];
  return (
    <Stack gap="md">
      <Group justify="space-between" gap="sm" align="flex-start">
        <Text size="sm" maw={720}>
          {t("affinity.intro")}
        </Text>
        <SegmentedControl
          size="xs"
          aria-label={t("usage.range")}
          value={range}
          onChange={(value) => setRange(value)}
          data={[
            { value: "day", label: t("usage.rangeDay") },
            { value: "7days", label: t("usage.range7Days") },
            { value: "30days", label: t("usage.range30Days") },
          ]}
        />
      </Group>
      {error && <LoadFailed error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton h={320} radius="md" aria-busy />}
      {data && pool === undefined && (
        <Paper withBorder radius="md" p="xl">
          <EmptyState
            icon={<IconDatabaseOff />}
            title={t("affinity.emptyTitle")}
            description={t("affinity.emptyHint")}
          />
        </Paper>
      )}
      {pool !== undefined && <Shown pool={pool} usage={usage} unit={unit} />}
    </Stack>
  );
}

interface ShownProps {
  readonly pool: PoolAffinity;
  readonly usage: Usage | undefined;
  readonly unit: BucketUnit;
}

function Shown({ pool, usage, unit }: ShownProps): ReactNode {
  const { t } = useTranslation();
  return (
    <>
      <CacheComparison kept={pool.kept} first={pool.new} left={pool.left} untied={pool.untied} />
      {usage !== undefined && <InputChart usage={usage} unit={unit} />}
      <AffinityTables pool={pool} />
      <Text size="xs" c="dimmed">
        {t("affinity.streamHint")}
      </Text>
    </>
  );
}

function InputChart({ usage, unit }: { readonly usage: Usage; readonly unit: BucketUnit }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const rows = useMemo(() => rowsOf(usage, unit), [usage, unit]);
  const { input_tokens: input, cache_read_tokens: read, cache_write_tokens: written } = usage.total;
  const all = input + read + written;
  return (
    <ChartFigure
      title={<Title order={2}>{t("affinity.chart")}</Title>}
      summary={all === 0 ? t("affinity.noInput") : t("affinity.chartSummary", { share: format.percent(read / all) })}
      rows={rows}
      series={[
        { name: "cached", label: t("affinity.chartCached"), color: "teal.7", stack: "input" },
        { name: "uncached", label: t("affinity.chartUncached"), color: "gray.5", stack: "input" },
      ]}
      timeLabel={unit === "day" ? format.utcDay : format.hourMinute}
      valueLabel={format.compact}
    />
  );
}

function rowsOf({ data, from, to }: Usage, unit: BucketUnit): readonly ChartRow[] {
  const byStart = new Map(
    data.map(({ at = "", input_tokens: input, cache_read_tokens: cached, cache_write_tokens: written }) => [
      Date.parse(at),
      { cached, uncached: input + written },
    ]),
  );
  const nothing = { cached: 0, uncached: 0 };
  return bucketStarts(Date.parse(from), Date.parse(to), unit).map((at) => ({
    at,
    values: byStart.get(at) ?? nothing,
  }));
}
