import { SegmentedControl, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Usage } from "../../api/openapi.ts";
import { usageQuery } from "../../api/queries.ts";
import { useFormat } from "../../format/format.ts";
import { ChartFigure, type ChartRow, type ChartSeries } from "../../parts/chart/chart-figure.tsx";
import { bucketStarts } from "../../parts/chart/time-buckets.ts";
import { trafficText } from "./traffic-text.ts";

const nothing = { requests: 0, failovers: 0, errors: 0 };
const ranges = { hour: "minute", day: "hour" } as const;
type Range = keyof typeof ranges;

/** Requests, failovers and errors over the last hour or day. */
export function Traffic(): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const [range, setRange] = useState<Range>("hour");
  const unit = ranges[range];
  // Also while nothing happens, time goes on.
  const { data } = useQuery({ ...usageQuery({ by: `${unit},provider` }), refetchInterval: 30_000 });
  const rows = useMemo(() => (data === undefined ? [] : rowsOf(data, unit)), [data, unit]);
  const series: readonly ChartSeries[] = [
    { name: "succeeded", label: t("activity.outcomeSucceeded"), color: "cyan.6", stack: "requests" },
    { name: "errors", label: t("overview.chartErrors"), color: "red.6", stack: "requests" },
    { name: "failovers", label: t("overview.chartFailovers"), color: "orange.5", stack: "failovers" },
  ];
  return (
    <ChartFigure
      title={<Title order={2}>{t("overview.traffic")}</Title>}
      summary={trafficText(data?.total ?? nothing, t, format)}
      rows={rows}
      series={series}
      timeLabel={format.hourMinute}
      valueLabel={format.compact}
      height={260}
      actions={
        <SegmentedControl
          size="xs"
          aria-label={t("overview.range")}
          value={range}
          onChange={(value) => setRange(value)}
          data={[
            { value: "hour", label: t("overview.chartHour") },
            { value: "day", label: t("overview.chartDay") },
          ]}
        />
      }
    />
  );
}

function rowsOf({ data, from, to }: Usage, unit: "minute" | "hour"): readonly ChartRow[] {
  const sums = new Map<number, { succeeded: number; errors: number; failovers: number }>();
  for (const { at = "", requests, errors, failovers } of data) {
    const start = Date.parse(at);
    const sum = sums.get(start) ?? { succeeded: 0, errors: 0, failovers: 0 };
    sums.set(start, {
      succeeded: sum.succeeded + requests - errors,
      errors: sum.errors + errors,
      failovers: sum.failovers + failovers,
    });
  }
  return bucketStarts(Date.parse(from), Date.parse(to), unit).map((at) => ({
    at,
    values: sums.get(at) ?? { succeeded: 0, errors: 0, failovers: 0 },
  }));
}
