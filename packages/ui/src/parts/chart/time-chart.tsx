import "@mantine/charts/styles.css";
import { BarChart } from "@mantine/charts";
import { useReducedMotion } from "@mantine/hooks";
import type { ReactNode } from "react";
import type { ChartRow, ChartSeries } from "./chart-figure.tsx";
import classes from "./time-chart.module.css";

export interface TimeChartProps {
  readonly rows: readonly ChartRow[];
  readonly series: readonly ChartSeries[];
  readonly timeLabel: (at: number) => string;
  readonly valueLabel: (value: number) => string;
  readonly height: number;
}

/** Bars over time. Loaded when it is shown first: it brings the drawing library. */
export function TimeChart({ rows, series, timeLabel, valueLabel, height }: TimeChartProps): ReactNode {
  const isStill = useReducedMotion();
  return (
    <BarChart
      h={height}
      data={rows.map(({ at, values }) => ({ time: timeLabel(at), ...values }))}
      dataKey="time"
      series={series.map(({ name, label, color, stack }) => ({ name, label, color, stackId: stack }))}
      valueFormatter={valueLabel}
      withLegend={series.length > 1}
      legendProps={{ itemSorter: null }}
      classNames={{ legendItem: classes.legendItem, legendItemName: classes.legendItemName }}
      // The figure around it says what is in it, and a table does in full.
      accessibilityLayer={false}
      barProps={{ isAnimationActive: !isStill, animationDuration: 200 }}
      maxBarWidth={28}
      gridAxis="x"
      barChartProps={{ barGap: 0, barCategoryGap: "12%" }}
      tickLine="none"
      xAxisProps={{ minTickGap: 24, interval: "preserveStartEnd" }}
      yAxisProps={{ width: 56, allowDecimals: false }}
      tooltipProps={{ isAnimationActive: false }}
    />
  );
}
