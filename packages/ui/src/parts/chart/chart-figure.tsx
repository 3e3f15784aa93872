import { Box, Button, Center, Group, Loader, Paper, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconTable } from "@tabler/icons-react";
import { lazy, type ReactNode, Suspense } from "react";
import { useTranslation } from "react-i18next";
import classes from "./chart-figure.module.css";

const TimeChart = lazy(async () => ({ default: (await import("./time-chart.tsx")).TimeChart }));

export interface ChartSeries {
  readonly name: string;
  readonly label: string;
  /** Any colour of the theme. */
  readonly color: string;
  /** Series of the same stack stand on one another. */
  readonly stack: string;
}

export interface ChartRow {
  /** Where the bucket begins, epoch ms. */
  readonly at: number;
  readonly values: Readonly<Record<string, number>>;
}

export interface ChartFigureProps {
  readonly title: ReactNode;
  /** What the chart shows, in a sentence. */
  readonly summary: string;
  readonly rows: readonly ChartRow[];
  readonly series: readonly ChartSeries[];
  readonly timeLabel: (at: number) => string;
  readonly valueLabel: (value: number) => string;
  /** At the end of the title's line. */
  readonly actions?: ReactNode;
  readonly height?: number;
  /** Below the chart. */
  readonly children?: ReactNode;
}

/** A chart with its name, what it says in a sentence, and the same as a table for those who cannot see it. */
export function ChartFigure(props: ChartFigureProps): ReactNode {
  const { title, summary, rows, series, timeLabel, valueLabel, actions, height = 240, children } = props;
  const { t } = useTranslation();
  const [isTable, { toggle }] = useDisclosure();
  const full = rows.filter(({ values }) => Object.values(values).some((value) => value > 0));
  return (
    <Paper component="figure" m={0} withBorder radius="md" p="md">
      <Group justify="space-between" gap="sm" mb="sm">
        <Box>
          {title}
          <Text component="figcaption" size="xs" c="dimmed">
            {summary}
          </Text>
        </Box>
        {actions}
      </Group>
      {full.length === 0 ? (
        <Center h={height}>
          <Text c="dimmed" size="sm">
            {t("overview.noTraffic")}
          </Text>
        </Center>
      ) : (
        <>
          <Box role="img" aria-label={summary} h={height} className={classes.chart}>
            <Suspense fallback={<Waiting height={height} />}>
              <TimeChart rows={rows} series={series} timeLabel={timeLabel} valueLabel={valueLabel} height={height} />
            </Suspense>
          </Box>
          <Button
            variant="subtle"
            color="gray"
            size="compact-xs"
            mt="xs"
            leftSection={<IconTable size={14} />}
            onClick={toggle}
            aria-expanded={isTable}
          >
            {isTable ? t("overview.chartTableHide") : t("overview.chartTable")}
          </Button>
          {isTable && <Numbers rows={full} series={series} timeLabel={timeLabel} valueLabel={valueLabel} />}
        </>
      )}
      {children}
    </Paper>
  );
}

function Waiting({ height }: { readonly height: number }): ReactNode {
  return (
    <Center h={height}>
      <Loader size="sm" />
    </Center>
  );
}

type NumbersProps = Pick<ChartFigureProps, "rows" | "series" | "timeLabel" | "valueLabel">;

function Numbers({ rows, series, timeLabel, valueLabel }: NumbersProps): ReactNode {
  const { t } = useTranslation();
  return (
    <Box className={classes.numbers} tabIndex={0} role="group" aria-label={t("overview.chartTable")}>
      <Table fz="xs" stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{t("overview.tableTime")}</Table.Th>
            {series.map(({ name, label }) => (
              <Table.Th key={name} scope="col" ta="end">
                {label}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.toReversed().map(({ at, values }) => (
            <Table.Tr key={at}>
              <Table.Th scope="row" fw={400}>
                {timeLabel(at)}
              </Table.Th>
              {series.map(({ name }) => (
                <Table.Td key={name} ta="end">
                  {valueLabel(values[name] ?? 0)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}
