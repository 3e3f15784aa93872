import { Select, Text, Title } from "@mantine/core";
import { type ReactNode, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../format/format.ts";
import { ChartFigure, type ChartSeries } from "../../parts/chart/chart-figure.tsx";
import { bucketStarts } from "../../parts/chart/time-buckets.ts";
import { countLabel } from "./count-label.ts";
import { type CountName, counts, drawnRows, type GroupSum, noSums, plus, restName, seriesName } from "./usage-sums.ts";
import type { UsageData } from "./use-usage.ts";

/** More could not be told from one another. */
const mostDrawn = 7;
const hues = ["cyan.6", "orange.5", "violet.5", "green.6", "pink.5", "indigo.5", "yellow.6"];

export interface UsageChartProps {
  readonly data: UsageData;
  /** Most requests first. */
  readonly sums: readonly GroupSum[];
}

/** One of the counts over time, by the groups that have most of it. */
export function UsageChart({ data, sums }: UsageChartProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const [count, setCount] = useState<CountName>("requests");
  const { unit, from, to, isWhole, group } = data;
  const drawn = useMemo(() => {
    const most = [...sums]
      .sort((one, other) => other.sums[count] - one.sums[count])
      .filter((sum) => sum.sums[count] > 0);
    return isWhole ? most.slice(0, mostDrawn) : [];
  }, [sums, count, isWhole]);
  const rows = useMemo(() => {
    const ids = new Set(drawn.map(({ id }) => id));
    return drawnRows(data.timeRows, bucketStarts(from, to, unit), { ids, group, count });
  }, [data.timeRows, drawn, from, to, unit, group, count]);
  const hasRest = rows.some(({ values }) => (values[restName] ?? 0) > 0);
  const series: readonly ChartSeries[] = [
    ...drawn.map(({ id, name, detail }, place) => ({
      name: seriesName(id),
      label: drawn.some((other) => other.id !== id && other.name === name) ? `${name} (${detail})` : name,
      color: hues[place] ?? "gray.5",
      stack: "all",
    })),
    ...(hasRest
      ? [{ name: restName, label: isWhole ? t("usage.others") : t("usage.all"), color: "gray.5", stack: "all" }]
      : []),
  ];
  const isOneDay = to - from <= 26 * 3_600_000;
  const timeLabel = unit === "day" ? format.utcDay : isOneDay ? format.hourMinute : format.dayHour;
  const total = sums.reduce((sum, { sums: own }) => plus(sum, own), noSums)[count];
  return (
    <ChartFigure
      title={<Title order={2}>{t("usage.chart")}</Title>}
      summary={`${countLabel(count, t)}: ${format.number(total)}`}
      rows={rows}
      series={series}
      timeLabel={timeLabel}
      valueLabel={format.compact}
      height={280}
      actions={
        <Select
          aria-label={t("usage.measure")}
          size="xs"
          data={counts.map((name) => ({ value: name, label: countLabel(name, t) }))}
          value={count}
          onChange={(name) => name !== null && setCount(name)}
          allowDeselect={false}
          w={190}
        />
      }
    >
      {unit === "day" && (
        <Text size="xs" c="dimmed" mt="xs">
          {t("usage.daysInUtc")}
        </Text>
      )}
      {!isWhole && (
        <Text size="xs" c="dimmed" mt="xs">
          {t("usage.allHint")}
        </Text>
      )}
    </ChartFigure>
  );
}
