import { Grid, Skeleton, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconLayoutDashboard } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { providersQuery, statusQuery } from "../../api/queries.ts";
import { LoadFailed } from "../../parts/load-failed.tsx";
import { Page } from "../../parts/page.tsx";
import { useRefreshAtCooldownsEnd } from "../../parts/use-refresh-at-cooldowns-end.ts";
import { Events } from "./events.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { Notices } from "./notices.tsx";
import { Pools } from "./pools.tsx";
import { Traffic } from "./traffic.tsx";
import { useLastHour } from "./use-last-hour.ts";

/** How everything stands, at a glance. */
export function OverviewPage(): ReactNode {
  const { t } = useTranslation();
  const providers = useQuery(providersQuery);
  const status = useQuery(statusQuery);
  const hour = useLastHour();
  useRefreshAtCooldownsEnd(status.data);
  const error = providers.error ?? status.error;
  const isKnown = providers.data !== undefined && status.data !== undefined && hour !== undefined;
  return (
    <Page title={t("overview.heading")} description={t("overview.intro")}>
      {error && <LoadFailed error={error} onRetry={() => void Promise.all([providers.refetch(), status.refetch()])} />}
      {!isKnown && !error && <Loading />}
      {isKnown && (
        <Stack gap="lg">
          <Notices providers={providers.data} status={status.data} />
          {providers.data.length === 0 ? (
            <Nothing />
          ) : (
            <>
              <Pools providers={providers.data} status={status.data} hour={hour} />
              <Grid gap="lg">
                {/* Until there is traffic, how to make some is worth more than an empty chart. */}
                <Grid.Col span={{ base: 12, lg: 7 }}>{hour.isUnused ? <Nothing /> : <Traffic />}</Grid.Col>
                <Grid.Col span={{ base: 12, lg: 5 }}>
                  <Events providers={providers.data} />
                </Grid.Col>
              </Grid>
            </>
          )}
        </Stack>
      )}
    </Page>
  );
}

function Nothing(): ReactNode {
  const { t } = useTranslation();
  return (
    <FirstSteps
      icon={<IconLayoutDashboard />}
      title={t("overview.emptyHeading")}
      description={t("overview.emptyHint")}
    />
  );
}

function Loading(): ReactNode {
  return (
    <Stack aria-busy>
      <Skeleton h={110} radius="md" />
      <Skeleton h={320} radius="md" />
    </Stack>
  );
}
