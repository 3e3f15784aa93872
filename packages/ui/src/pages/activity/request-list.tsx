import { Button, EmptyState, Paper, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconActivity, IconArrowUp, IconFilterOff } from "@tabler/icons-react";
import { type ReactNode, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Request } from "../../api/openapi.ts";
import { providersQuery, type RequestFilter } from "../../api/queries.ts";
import { FirstSteps } from "../overview/first-steps.tsx";
import { LoadFailed } from "../../parts/load-failed.tsx";
import { useIsBusyWith } from "../../parts/use-is-busy-with.ts";
import { useWindowRows } from "../../parts/use-window-rows.ts";
import { RequestDetail } from "./request-detail.tsx";
import classes from "./request-list.module.css";
import { RequestRow } from "./request-row.tsx";
import { useLiveRequests } from "./use-live-requests.ts";

export interface RequestListProps {
  readonly filter: RequestFilter;
  /** Whether new requests are shown as they come. */
  readonly isFollowing: boolean;
}

/** What a row is taken to be high before it was drawn, in pixels. */
const rowHeight = 57;

/** The requests that fit, as many as the window shows at a time. */
export function RequestList({ filter, isFollowing }: RequestListProps): ReactNode {
  const { t } = useTranslation();
  const table = useRef<HTMLDivElement>(null);
  const [isBusy, busyProps] = useIsBusyWith(table);
  const live = useLiveRequests(filter, isBusy || !isFollowing);
  const [opened, setOpened] = useState<Request>();
  const { requests, news, error } = live;
  if (requests === undefined) {
    return error ? <LoadFailed error={error} onRetry={live.retry} /> : <Skeleton h={320} radius="md" aria-busy />;
  }
  const showNews = (): void => {
    live.showNews();
    window.scrollTo({ top: 0 });
  };
  return (
    <>
      {error !== null && <LoadFailed error={error} onRetry={live.retry} />}
      {requests.length === 0 && news.count === 0 ? (
        <Nothing isFiltered={Object.keys(filter).length > 0} />
      ) : (
        <div ref={table} {...busyProps}>
          {news.count > 0 && (
            <div className={classes.news} role="status">
              <Button size="compact-sm" radius="xl" leftSection={<IconArrowUp size={14} />} onClick={showNews}>
                {news.isMore
                  ? t("activity.heldBackMany", { count: news.count })
                  : t("activity.heldBack", { count: news.count })}
              </Button>
            </div>
          )}
          <Rows requests={requests} onOpen={setOpened} />
          {live.hasOlder && (
            <Button
              variant="default"
              mt="md"
              mx="auto"
              display="block"
              loading={live.isLoadingOlder}
              onClick={live.loadOlder}
            >
              {t("activity.loadOlder")}
            </Button>
          )}
        </div>
      )}
      <RequestDetail request={opened} onClose={() => setOpened(undefined)} />
    </>
  );
}

interface RowsProps {
  readonly requests: readonly Request[];
  readonly onOpen: (request: Request) => void;
}

function Rows({ requests, onOpen }: RowsProps): ReactNode {
  const { t } = useTranslation();
  const list = useRef<HTMLDivElement>(null);
  const { data: providers } = useQuery(providersQuery);
  const { virtualizer, scrollMargin } = useWindowRows(list, {
    count: requests.length,
    rowHeight,
    keyOf: (index) => requests[index]?.id ?? index,
  });
  const nameOf = ({ provider_id: id, provider: slug }: Request): string =>
    providers?.find((provider) => provider.id === id)?.name ?? slug;
  return (
    <div
      className={classes.table}
      role="table"
      aria-label={t("activity.tableLabel")}
      aria-rowcount={requests.length + 1}
    >
      <div role="row" aria-rowindex={1} className={classes.head}>
        <span role="columnheader">{t("activity.colTime")}</span>
        <span role="columnheader">{t("activity.colResult")}</span>
        <span role="columnheader">{t("activity.colRequest")}</span>
        <span role="columnheader">{t("activity.colKey")}</span>
        <span role="columnheader">{t("activity.colAttempts")}</span>
        <span role="columnheader">{t("activity.colSpeed")}</span>
        <span role="columnheader">{t("activity.colTokens")}</span>
      </div>
      <div role="rowgroup" ref={list} className={classes.list} style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const request = requests[index];
          if (!request) return null;
          return (
            <RequestRow
              key={request.id}
              request={request}
              providerName={nameOf(request)}
              onOpen={onOpen}
              index={index}
              offset={start - scrollMargin}
              measure={virtualizer.measureElement}
            />
          );
        })}
      </div>
    </div>
  );
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  const { t } = useTranslation();
  if (!isFiltered) {
    return (
      <FirstSteps icon={<IconActivity />} title={t("activity.emptyHeading")} description={t("activity.emptyHint")} />
    );
  }
  return (
    <Paper withBorder radius="md" p="xl">
      <EmptyState
        icon={<IconFilterOff />}
        title={t("activity.emptyFiltered")}
        description={t("activity.emptyFilteredHint")}
      />
    </Paper>
  );
}
