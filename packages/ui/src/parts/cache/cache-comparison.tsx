import { Group, Paper, Progress, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { CachedInput } from "../../api/openapi.ts";
import { useFormat } from "../../format/format.ts";
import { inputOf } from "./cached-input.ts";

export interface CacheComparisonProps {
  readonly kept: CachedInput;
  readonly first: CachedInput;
  readonly left: CachedInput;
  /** Left out where every request is tied to a key. */
  readonly untied?: CachedInput;
}

/** What part of their input came from the cache: requests that kept their key beside those that did not. */
export function CacheComparison({ kept, first, left, untied }: CacheComparisonProps): ReactNode {
  const { t } = useTranslation();
  return (
    <Paper withBorder radius="md" p="md">
      <Title order={2} mb="md">
        {t("affinity.comparison")}
      </Title>
      <Stack gap="lg">
        <Line name={t("affinity.kept")} hint={t("affinity.keptHint")} input={kept} color="teal.7" />
        <Line name={t("affinity.left")} hint={t("affinity.leftHint")} input={left} color="orange.6" />
        <Line name={t("affinity.new")} hint={t("affinity.newHint")} input={first} color="gray.6" />
        {untied !== undefined && (
          <Line name={t("affinity.untied")} hint={t("affinity.untiedHint")} input={untied} color="gray.6" />
        )}
      </Stack>
    </Paper>
  );
}

interface LineProps {
  readonly name: string;
  readonly hint: string;
  readonly input: CachedInput;
  readonly color: string;
}

function Line({ name, hint, input, color }: LineProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const { requests, cached_share: share, cache_read_tokens: cached } = input;
  const shown = share === null ? t("affinity.noInput") : t("affinity.cachedShare", { share: format.percent(share) });
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs" align="baseline">
        <Text fw={600} size="sm">
          {name}
          <Text span size="sm" c="dimmed" fw={400} ml={8}>
            {t("affinity.requestCount", { count: requests, shown: format.number(requests) })}
          </Text>
        </Text>
        {requests > 0 && (
          <Text size="sm" fw={600}>
            {shown}
          </Text>
        )}
      </Group>
      <Progress.Root size="lg">
        <Progress.Section value={(share ?? 0) * 100} color={color} aria-label={name} />
      </Progress.Root>
      <Group justify="space-between" gap="xs">
        <Text size="xs" c="dimmed">
          {hint}
        </Text>
        {share !== null && (
          <Text size="xs" c="dimmed">
            {t("affinity.cachedOf", { cached: format.compact(cached), input: format.compact(inputOf(input)) })}
          </Text>
        )}
      </Group>
    </Stack>
  );
}
