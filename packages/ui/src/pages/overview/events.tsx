import { Button, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import {
  IconAlertTriangle,
  IconBan,
  IconCircleCheck,
  IconHourglass,
  IconKey,
  IconMessages,
  IconServer2,
  IconTicket,
} from "@tabler/icons-react";
import { type ComponentType, type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Provider, RecentEvent } from "../../api/openapi.ts";
import { recentEventsQuery } from "../../api/queries.ts";
import { useFormat } from "../../format/format.ts";
import { LoadFailed } from "../../parts/load-failed.tsx";
import tones from "../../parts/tone.module.css";
import { useNowAndThen } from "../../parts/use-now-and-then.ts";
import classes from "./events.module.css";
import { eventText } from "./event-text.ts";

const shownAtFirst = 8;

/** What happened lately, in plain words, newest first. */
export function Events({ providers }: { readonly providers: readonly Provider[] }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const { data, error, refetch } = useQuery(recentEventsQuery);
  const [showsAll, setShowsAll] = useState(false);
  // So that "3 minutes ago" stays true.
  useNowAndThen(15_000);
  const told = (data ?? []).flatMap((event) => {
    const text = eventText(event, { t, format, providers });
    return text === undefined ? [] : [{ event, text }];
  });
  const shown = showsAll ? told : told.slice(0, shownAtFirst);
  return (
    <Paper withBorder radius="md" p="md">
      <Stack gap="sm">
        <div>
          <Title order={2}>{t("overview.events")}</Title>
          <Text size="xs" c="dimmed">
            {t("overview.eventAllHint")}
          </Text>
        </div>
        {error && <LoadFailed error={error} onRetry={() => void refetch()} />}
        {data?.length === 0 && (
          <Text size="sm" c="dimmed">
            {t("overview.eventsNone")}
          </Text>
        )}
        <ul className={classes.list} role="list">
          {shown.map(({ event, text }) => (
            <li key={event.id} className={classes.event}>
              <EventIcon event={event} />
              <Text size="sm" className={classes.text}>
                {text}
              </Text>
              <Text size="xs" c="dimmed" component="time" dateTime={event.at} title={format.dateTime(event.at)}>
                {format.ago(event.at)}
              </Text>
            </li>
          ))}
        </ul>
        {told.length > shown.length && (
          <Group>
            <Button variant="subtle" size="compact-sm" onClick={() => setShowsAll(true)}>
              {t("overview.eventsMore", { count: told.length - shown.length })}
            </Button>
          </Group>
        )}
      </Stack>
    </Paper>
  );
}

type Icon = ComponentType<{ readonly size: number; readonly className?: string | undefined }>;

function EventIcon({ event }: { readonly event: RecentEvent }): ReactNode {
  const [Sign, className] = signOf(event);
  return (
    <span className={classes.sign} aria-hidden>
      <Sign size={16} className={className} />
    </span>
  );
}

function signOf(event: RecentEvent): readonly [Icon, string | undefined] {
  switch (event.type) {
    case "key-cooled":
      return [IconHourglass, tones.warn];
    case "key-disabled":
      return [IconBan, tones.bad];
    case "key-recovered":
      return [IconCircleCheck, tones.good];
    case "notice":
      return event.resolved_at === null ? [IconAlertTriangle, tones.warn] : [IconCircleCheck, tones.good];
    case "session-ended":
      return [IconMessages, tones.neutral];
    case "provider-created":
    case "provider-changed":
    case "provider-deleted":
      return [IconServer2, tones.neutral];
    case "token-created":
    case "token-changed":
    case "token-deleted":
      return [IconTicket, tones.neutral];
    case "key-created":
    case "key-changed":
    case "key-deleted":
    case "key-order-changed":
    case "attempt-ended":
    case "request-finished":
    case "binding-moved":
    case "pool-exhausted":
      return [IconKey, tones.neutral];
  }
}
