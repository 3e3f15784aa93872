import { Group, Pill, Select, Stack, Switch, Tooltip } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import type { RequestFilter } from "../../api/queries.ts";
import { Page } from "../../parts/page.tsx";
import { PoolSelect } from "../../parts/pool-select.tsx";
import { useFilter } from "../../parts/use-filter.ts";
import { RequestList } from "./request-list.tsx";

const filterNames = ["provider", "key", "session", "status"] as const;

/** The newest requests, as they end, and why each went where it went. */
export function ActivityPage(): ReactNode {
  const { t } = useTranslation();
  const [filter, change] = useFilter(filterNames);
  const [isFollowing, setFollowing] = useState(true);
  return (
    <Page title={t("activity.heading")} description={t("activity.intro")}>
      <Stack>
        <Group justify="space-between" align="flex-end" gap="sm">
          <Filters filter={filter} onChange={change} />
          <Tooltip label={t("activity.liveHint")}>
            <Switch
              label={t("activity.live")}
              checked={isFollowing}
              onChange={(event) => setFollowing(event.currentTarget.checked)}
              pb={8}
            />
          </Tooltip>
        </Group>
        {filter.session !== undefined && (
          <Group>
            <Pill
              withRemoveButton
              size="md"
              onRemove={() => change({ session: "" })}
              removeButtonProps={{ "aria-label": t("activity.removeSession"), "aria-hidden": false, tabIndex: 0 }}
            >
              {t("activity.sessionFilter", { session: filter.session })}
            </Pill>
          </Group>
        )}
        <RequestList key={JSON.stringify(filter)} filter={filter} isFollowing={isFollowing} />
      </Stack>
    </Page>
  );
}

interface FiltersProps {
  readonly filter: RequestFilter;
  readonly onChange: (changes: RequestFilter) => void;
}

function Filters({ filter, onChange }: FiltersProps): ReactNode {
  const { t } = useTranslation();
  return (
    <Group gap="sm" align="flex-end">
      <PoolSelect filter={filter} onChange={onChange} />
      <Select
        label={t("activity.filterOutcome")}
        data={[
          { value: "", label: t("activity.all") },
          { value: "succeeded", label: t("activity.outcomeSucceeded") },
          { value: "failed", label: t("activity.outcomeFailed") },
          { value: "failover", label: t("activity.outcomeFailover") },
          { value: "429", label: "429" },
          { value: "4xx", label: "4xx" },
          { value: "5xx", label: "5xx" },
        ]}
        value={filter.status ?? ""}
        onChange={(status) => onChange({ status: status ?? "" })}
        allowDeselect={false}
        w={{ base: "100%", xs: 200 }}
      />
    </Group>
  );
}
