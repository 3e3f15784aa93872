import { ActionIcon, Anchor, Button, EmptyState, Group, Paper, Skeleton, Text, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconActivity, IconArrowUp, IconDatabaseHeart, IconFilterOff, IconMessages } from "@tabler/icons-react";
import { type ReactNode, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import type { Session } from "../../api/openapi.ts";
import { providersQuery, type SessionFilter } from "../../api/queries.ts";
import { useFormat } from "../../format/format.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { CopyIcon } from "../../parts/copy-text.tsx";
import { keyNameOf } from "../../parts/key-name.ts";
import { LoadFailed } from "../../parts/load-failed.tsx";
import { useNotify } from "../../parts/notify.ts";
import { useIsBusyWith } from "../../parts/use-is-busy-with.ts";
import { useLastShown } from "../../parts/use-last-shown.ts";
import { useNowAndThen } from "../../parts/use-now-and-then.ts";
import { useWindowRows } from "../../parts/use-window-rows.ts";
import { FirstSteps } from "../overview/first-steps.tsx";
import classes from "./session-table.module.css";
import { SessionAffinityDrawer } from "./session-affinity.tsx";
import { nameOf, useLiveSessions } from "./use-live-sessions.ts";

/** What a row is taken to be high before it was drawn, in pixels. */
const rowHeight = 57;

/** The sessions that fit, last used first, as many as the window shows at a time. */
export function SessionTable({ filter }: { readonly filter: SessionFilter }): ReactNode {
  const { t } = useTranslation();
  const table = useRef<HTMLDivElement>(null);
  const [doomed, setDoomed] = useState<Session>();
  const [opened, setOpened] = useState<Session>();
  const [isBusy, busyProps] = useIsBusyWith(table);
  const live = useLiveSessions(filter, isBusy || doomed !== undefined || opened !== undefined);
  const { sessions, error } = live;
  // So that "3 minutes ago" stays true.
  useNowAndThen(15_000);
  if (sessions === undefined) {
    return error ? <LoadFailed error={error} onRetry={live.retry} /> : <Skeleton h={320} radius="md" aria-busy />;
  }
  return (
    <>
      {error !== null && <LoadFailed error={error} onRetry={live.retry} />}
      {sessions.length === 0 && !live.hasChanged ? (
        <Nothing isFiltered={Object.keys(filter).length > 0} />
      ) : (
        <div ref={table} {...busyProps}>
          {live.hasChanged && (
            <div className={classes.news} role="status">
              <Button
                size="compact-sm"
                radius="xl"
                leftSection={<IconArrowUp size={14} />}
                onClick={() => {
                  live.showChanges();
                  window.scrollTo({ top: 0 });
                }}
              >
                {t("sessions.changed")}
              </Button>
            </div>
          )}
          <Rows sessions={sessions} onEnd={setDoomed} onOpen={setOpened} />
          {live.hasMore && (
            <Button
              variant="default"
              mt="md"
              mx="auto"
              display="block"
              loading={live.isLoadingMore}
              onClick={live.loadMore}
            >
              {t("sessions.loadMore")}
            </Button>
          )}
        </div>
      )}
      <SessionAffinityDrawer session={opened} onClose={() => setOpened(undefined)} />
      <EndDialog session={doomed} onClose={() => setDoomed(undefined)} onEnded={live.forget} />
    </>
  );
}

interface RowsProps {
  readonly sessions: readonly Session[];
  readonly onEnd: (session: Session) => void;
  readonly onOpen: (session: Session) => void;
}

function Rows({ sessions, onEnd, onOpen }: RowsProps): ReactNode {
  const { t } = useTranslation();
  const list = useRef<HTMLDivElement>(null);
  const { data: providers } = useQuery(providersQuery);
  const { virtualizer, scrollMargin } = useWindowRows(list, {
    count: sessions.length,
    rowHeight,
    keyOf: (index) => (sessions[index] ? nameOf(sessions[index]) : index),
  });
  return (
    <div
      className={classes.table}
      role="table"
      aria-label={t("sessions.tableLabel")}
      aria-rowcount={sessions.length + 1}
    >
      <div role="row" aria-rowindex={1} className={classes.head}>
        <span role="columnheader">{t("sessions.colSession")}</span>
        <span role="columnheader">{t("sessions.colProvider")}</span>
        <span role="columnheader">{t("sessions.colKey")}</span>
        <span role="columnheader">{t("sessions.colBound")}</span>
        <span role="columnheader">{t("sessions.colLastUsed")}</span>
        <span role="columnheader">{t("sessions.colRequests")}</span>
        <span role="columnheader">{t("sessions.colActions")}</span>
      </div>
      <div role="rowgroup" ref={list} className={classes.list} style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ index, start, key }) => {
          const session = sessions[index];
          if (!session) return null;
          return (
            <div
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              role="row"
              aria-rowindex={index + 2}
              className={classes.place}
              style={{ transform: `translateY(${start - scrollMargin}px)` }}
            >
              <Cells
                session={session}
                providerName={providers?.find(({ id }) => id === session.provider_id)?.name}
                onEnd={onEnd}
                onOpen={onOpen}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface CellsProps {
  readonly session: Session;
  readonly providerName: string | undefined;
  readonly onEnd: (session: Session) => void;
  readonly onOpen: (session: Session) => void;
}

function Cells({ session, providerName, onEnd, onOpen }: CellsProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const { id, carrier, provider, bound_at: boundAt, last_used_at: lastUsedAt, requests } = session;
  const key = keyNameOf(session, t);
  return (
    <div className={classes.row} role="presentation">
      <div role="cell" className={classes.session}>
        <Group gap={2} wrap="nowrap">
          <Text size="sm" ff="monospace" truncate title={id}>
            {id}
          </Text>
          <CopyIcon value={id} what={id} />
        </Group>
        <Text size="xs" c="dimmed" truncate>
          {t("sessions.carrier", { carrier })}
        </Text>
      </div>
      <div role="cell" className={classes.provider}>
        {provider === null ? (
          "–"
        ) : (
          <Anchor
            component={Link}
            to={`/settings/providers/${provider}`}
            size="sm"
            lineClamp={2}
            title={providerName}
            dir="auto"
          >
            {providerName ?? provider}
          </Anchor>
        )}
      </div>
      <Text role="cell" component="div" size="sm" fw={500} truncate dir="auto" title={key} className={classes.key}>
        {key}
      </Text>
      <Text role="cell" component="div" size="sm" className={classes.bound}>
        <Label>{t("sessions.colBound")}</Label>
        <time dateTime={boundAt} title={format.dateTime(boundAt)}>
          {format.time(boundAt)}
        </time>
      </Text>
      <Text role="cell" component="div" size="sm" className={classes.used}>
        <Label>{t("sessions.colLastUsed")}</Label>
        <time dateTime={lastUsedAt} title={format.dateTime(lastUsedAt)}>
          {format.ago(lastUsedAt)}
        </time>
      </Text>
      <Text role="cell" component="div" size="sm" className={classes.requests}>
        <Label>{t("sessions.colRequests")}</Label>
        {format.number(requests)}
      </Text>
      <div role="cell" className={classes.actions}>
        <Tooltip label={t("affinity.sessionOpen")}>
          <ActionIcon
            variant="subtle"
            color="gray"
            onClick={() => onOpen(session)}
            aria-label={t("affinity.sessionOpenNamed", { session: id })}
          >
            <IconDatabaseHeart size={16} />
          </ActionIcon>
        </Tooltip>
        <Tooltip label={t("sessions.viewRequests")}>
          <ActionIcon
            variant="subtle"
            color="gray"
            component={Link}
            to={`/activity?session=${encodeURIComponent(id)}`}
            aria-label={t("sessions.viewRequestsNamed", { session: id })}
          >
            <IconActivity size={16} />
          </ActionIcon>
        </Tooltip>
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => onEnd(session)}
          aria-label={t("sessions.endNamed", { session: id })}
        >
          {t("sessions.end")}
        </Button>
      </div>
    </div>
  );
}

/** The column's name, where the columns are one below the other. */
function Label({ children }: { readonly children: string }): ReactNode {
  return (
    <span className={classes.label} aria-hidden>
      {children}{" "}
    </span>
  );
}

interface EndDialogProps {
  /** Undefined while none is to be ended. */
  readonly session: Session | undefined;
  readonly onClose: () => void;
  readonly onEnded: (id: string) => void;
}

function EndDialog({ session, onClose, onEnded }: EndDialogProps): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const id = useLastShown(session)?.id ?? "";
  return (
    <ConfirmDialog
      isOpen={session !== undefined}
      onClose={onClose}
      title={t("sessions.endConfirm", { session: id })}
      confirmLabel={t("sessions.end")}
      onConfirm={async () => {
        await call("DELETE /api/sessions/{id}", { params: { id } });
        notify.done(t("sessions.ended"));
        onEnded(id);
      }}
    >
      {t("sessions.endText")}
    </ConfirmDialog>
  );
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  const { t } = useTranslation();
  if (!isFiltered) {
    return (
      <FirstSteps icon={<IconMessages />} title={t("sessions.emptyHeading")} description={t("sessions.emptyHint")} />
    );
  }
  return (
    <Paper withBorder radius="md" p="xl">
      <EmptyState
        icon={<IconFilterOff />}
        title={t("sessions.emptyFiltered")}
        description={t("sessions.emptyFilteredHint")}
      />
    </Paper>
  );
}
