import { Button, EmptyState, Group, Paper, Select, SegmentedControl, Skeleton, Stack, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { IconChartBar, IconChartBarOff, IconDownload } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { providersQuery, wasUsedQuery } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { LoadFailed } from "../../parts/load-failed.tsx";
import { useNotify } from "../../parts/notify.ts";
import { Page } from "../../parts/page.tsx";
import { ProviderSelect } from "../../parts/provider-select.tsx";
import { FirstSteps } from "../overview/first-steps.tsx";
import { groupLabel } from "./count-label.ts";
import { csvOf, download } from "./csv.ts";
import { dayOf, type Range, type RangeName, rangeProblem } from "./range.ts";
import { UsageChart } from "./usage-chart.tsx";
import { fileCounts, fileCountsOf, groups, nameOf, sumUp } from "./usage-sums.ts";
import { UsageTable } from "./usage-table.tsx";
import { readForFile, type UsageChoice, type UsageData, useUsage } from "./use-usage.ts";

const weekMs = 6 * 86_400_000;

/** What was used, by whom, over time. */
export function UsagePage(): ReactNode {
  const { t } = useTranslation();
  const [choice, setChoice] = useState<UsageChoice>(() => ({
    range: { name: "day", from: dayOf(serverNow() - weekMs), to: dayOf(serverNow()) },
    group: "key",
    provider: "",
  }));
  const usage = useUsage(choice);
  const { data: wasUsed } = useQuery(wasUsedQuery);
  const isUnused = wasUsed === false && usage.data?.groupRows.length === 0 && choice.range.name !== "custom";
  return (
    <Page
      title={t("usage.heading")}
      description={t("usage.intro")}
      actions={!isUnused && <CsvButton choice={choice} isReady={usage.data !== undefined} />}
    >
      {isUnused ? (
        <FirstSteps icon={<IconChartBar />} title={t("usage.emptyHeading")} description={t("usage.emptyHint")} />
      ) : (
        <Stack>
          <Choices choice={choice} onChange={(changes) => setChoice((before) => ({ ...before, ...changes }))} />
          {usage.error && <LoadFailed error={usage.error} onRetry={() => void usage.refetch()} />}
          {!usage.data && !usage.error && <Skeleton h={320} radius="md" aria-busy />}
          {usage.data && <Shown data={usage.data} />}
        </Stack>
      )}
    </Page>
  );
}

function Shown({ data }: { readonly data: UsageData }): ReactNode {
  const { group } = data;
  const { t } = useTranslation();
  const { data: providers = [] } = useQuery(providersQuery);
  const sums = sumUp(data.groupRows, group, { t, providers });
  if (sums.length === 0) {
    return (
      <Paper withBorder radius="md" p="xl">
        <EmptyState icon={<IconChartBarOff />} title={t("usage.nothing")} />
      </Paper>
    );
  }
  return (
    <>
      <UsageChart data={data} sums={sums} />
      <UsageTable sums={sums} group={group} />
    </>
  );
}

interface ChoicesProps {
  readonly choice: UsageChoice;
  readonly onChange: (changes: Partial<UsageChoice>) => void;
}

function Choices({ choice: { range, group, provider }, onChange }: ChoicesProps): ReactNode {
  const { t } = useTranslation();
  const rangeLabels: Readonly<Record<RangeName, string>> = {
    hour: t("usage.rangeHour"),
    day: t("usage.rangeDay"),
    "7days": t("usage.range7Days"),
    "30days": t("usage.range30Days"),
    custom: t("usage.rangeCustom"),
  };
  return (
    <Stack gap="sm">
      <Group gap="sm" align="flex-end">
        <Select
          label={t("usage.range")}
          data={Object.entries(rangeLabels).map(([value, label]) => ({ value, label }))}
          value={range.name}
          onChange={(name) => name !== null && onChange({ range: { ...range, name: name as RangeName } })}
          allowDeselect={false}
          hiddenFrom="sm"
          w="100%"
        />
        <SegmentedControl
          visibleFrom="sm"
          aria-label={t("usage.range")}
          data={Object.entries(rangeLabels).map(([value, label]) => ({ value, label }))}
          value={range.name}
          onChange={(name) => onChange({ range: { ...range, name: name as RangeName } })}
        />
        {range.name === "custom" && <Days range={range} onChange={(changed) => onChange({ range: changed })} />}
      </Group>
      <Group gap="sm" align="flex-end">
        <Select
          label={t("usage.by")}
          data={groups.map((name) => ({ value: name, label: groupLabel(name, t) }))}
          value={group}
          onChange={(name) => name !== null && onChange({ group: name })}
          allowDeselect={false}
          w={{ base: "100%", xs: 200 }}
        />
        <ProviderSelect value={provider} onChange={(slug) => onChange({ provider: slug ?? "" })} />
      </Group>
    </Stack>
  );
}

interface DaysProps {
  readonly range: Range;
  readonly onChange: (range: Range) => void;
}

/** The first and the last day of one's own range. */
function Days({ range, onChange }: DaysProps): ReactNode {
  const { t } = useTranslation();
  const problem = rangeProblem(range);
  const error = problem === "wrong" ? t("usage.rangeWrong") : problem === "too-long" && t("usage.rangeTooLong");
  return (
    <>
      <TextInput
        type="date"
        label={t("usage.from")}
        value={range.from}
        max={range.to}
        onChange={(event) => onChange({ ...range, from: event.currentTarget.value })}
      />
      <TextInput
        type="date"
        label={t("usage.to")}
        value={range.to}
        min={range.from}
        error={error}
        onChange={(event) => onChange({ ...range, to: event.currentTarget.value })}
      />
    </>
  );
}

function CsvButton({ choice, isReady }: { readonly choice: UsageChoice; readonly isReady: boolean }): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const { data: providers = [] } = useQuery(providersQuery);
  const save = useMutation({
    // What it was asked for: something else may be chosen by the time that it is there.
    mutationFn: async (asked: UsageChoice) => ({ group: asked.group, rows: await readForFile(asked) }),
    onSuccess: ({ group, rows }) => {
      const table = rows.map((row) => [
        row.at,
        nameOf(row, "provider", { t, providers }),
        ...(group === "provider" ? [] : [nameOf(row, group, { t, providers })]),
        ...(group === "key" ? [row.key_id] : []),
        ...Object.values(fileCountsOf(row)),
      ]);
      const head = ["at", "provider", ...(group === "provider" ? [] : [group]), ...(group === "key" ? ["key_id"] : [])];
      download(`keywheel-usage-${dayOf(serverNow())}.csv`, csvOf([...head, ...fileCounts], table));
    },
    onError: (error) => notify.failed(t("usage.csvFailed"), error),
  });
  return (
    <Button
      variant="default"
      leftSection={<IconDownload size={16} />}
      loading={save.isPending}
      disabled={!isReady || rangeProblem(choice.range) !== undefined}
      onClick={() => save.mutate(choice)}
    >
      {t("usage.csv")}
    </Button>
  );
}
