import { Alert, Button, Group, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { IconAlertTriangle, IconCircleCheck, IconHourglass } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import type { KeyBulk, Notice, Provider, Status } from "../../api/openapi.ts";
import { noticesQuery } from "../../api/queries.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { useFormat } from "../../format/format.ts";
import { LoadFailed } from "../../parts/load-failed.tsx";
import { useNotify } from "../../parts/notify.ts";
import tones from "../../parts/tone.module.css";
import { useTimeLeft } from "../../parts/use-time-left.ts";
import { noticeText, remedyOf } from "./notice-text.ts";

export interface NoticesProps {
  readonly providers: readonly Provider[];
  readonly status: Status;
}

/** What a person should look at now, each with what to do about it. */
export function Notices({ providers, status }: NoticesProps): ReactNode {
  const { t } = useTranslation();
  const { data, error, refetch } = useQuery(noticesQuery);
  if (error) return <LoadFailed error={error} onRetry={() => void refetch()} />;
  const holding = data
    ?.filter(({ resolved_at: over }) => over === null)
    .sort((one, other) => Number(grave.has(other.code)) - Number(grave.has(one.code)));
  if (holding === undefined || providers.length + holding.length === 0) return null;
  if (holding.length === 0) {
    // The pools tell of a key that is out; it may be meant to be, but it is no time to say that all is well.
    const { disabled, unresolved } = status.counts.keys;
    if (disabled + unresolved > 0) return null;
    return (
      <Group gap={6} wrap="nowrap" className={tones.good}>
        <IconCircleCheck size={18} />
        <Text size="sm" fw={500}>
          {t("overview.noticesNone")}
        </Text>
      </Group>
    );
  }
  return (
    <Stack gap="sm" component="section" aria-label={t("overview.notices")}>
      <Title order={2}>{t("overview.notices")}</Title>
      {holding.map((notice) => (
        <NoticeAlert
          key={notice.id}
          notice={notice}
          provider={providers.find(({ id }) => id === notice.provider_id)}
          nextBack={status.providers.find(({ id }) => id === notice.provider_id)?.next_available_at ?? null}
        />
      ))}
    </Stack>
  );
}

interface NoticeAlertProps {
  readonly notice: Notice;
  readonly provider: Provider | undefined;
  readonly nextBack: string | null;
}

/** Requests fail, or will. */
const grave: ReadonlySet<Notice["code"]> = new Set([
  "pool_exhausted",
  "no_usable_key",
  "all_keys_refused",
  "edge_block",
  "region_refused",
  "not_an_api",
  "store_unavailable",
  "store_damaged",
  "master_key_wrong",
  "overloaded",
]);

function NoticeAlert({ notice, provider, nextBack }: NoticeAlertProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const dismiss = useDismiss();
  const { code, facts, count, at } = notice;
  const { title, hint } = noticeText({ code, facts, provider: provider?.name ?? t("overview.goneProvider") }, t);
  const when = format.time(at);
  return (
    <Alert
      color={grave.has(code) ? "red" : "yellow"}
      icon={code === "pool_exhausted" ? <IconHourglass /> : <IconAlertTriangle />}
      title={title}
      withCloseButton
      closeButtonLabel={t("overview.dismiss", { title })}
      onClose={() => dismiss.mutate(notice.id)}
    >
      <Stack gap={6}>
        <span>{hint}</span>
        {facts.said !== undefined && (
          <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {t("overview.noticeSaid", { message: facts.said })}
          </Text>
        )}
        {code === "pool_exhausted" && nextBack !== null && <NextBack until={nextBack} />}
        <Group gap="xs" justify="space-between">
          <Group gap="xs">
            <EnableAgain notice={notice} />
            {provider && <RemedyLink notice={notice} slug={provider.slug} />}
          </Group>
          <Text size="xs" c="dimmed">
            {count === 1 ? t("overview.noticeSince", { when }) : t("overview.noticeSinceTimes", { when, count })}
          </Text>
        </Group>
      </Stack>
    </Alert>
  );
}

function NextBack({ until }: { readonly until: string }): ReactNode {
  const { t } = useTranslation();
  const left = useTimeLeft(until);
  return (
    <Text size="sm" fw={600} c="var(--mantine-color-text)" role="timer" aria-live="off">
      {t("overview.nextBack", { left })}
    </Text>
  );
}

function RemedyLink({ notice, slug }: { readonly notice: Notice; readonly slug: string }): ReactNode {
  const { t } = useTranslation();
  const part = remedyOf(notice.code);
  if (part === undefined) return null;
  const path = `/settings/providers/${slug}`;
  return (
    <Button size="compact-sm" variant="default" component={Link} to={part === "pool" ? path : `${path}?part=${part}`}>
      {part === "pool" ? t("overview.openPool") : t("overview.openConnection")}
    </Button>
  );
}

/** The remedy that the notice offers by itself: all refused keys at once. */
function EnableAgain({ notice }: { readonly notice: Notice }): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const client = useQueryClient();
  const { action, provider_id: id, facts } = notice;
  const enable = useMutation({
    mutationFn: (body: KeyBulk) => call("POST /api/providers/{id}/keys/bulk", { params: { id: id ?? "" }, body }),
    onSuccess: async ({ ids }) => {
      notify.done(t("overview.noticeEnabled", { count: ids.length }));
      await client.invalidateQueries({ queryKey: queryKeys.notices });
    },
    onError: (error) => notify.failed(t("errors.failed"), error),
  });
  if (action === null || id === null) return null;
  return (
    <Button
      size="compact-sm"
      variant="default"
      loading={enable.isPending}
      onClick={() => enable.mutate(action.body as KeyBulk)}
    >
      {t("overview.noticeEnable", { count: facts.keys ?? 2 })}
    </Button>
  );
}

function useDismiss() {
  const { t } = useTranslation();
  const notify = useNotify();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => call("DELETE /api/notices/{id}", { params: { id } }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.notices }),
    onError: (error) => notify.failed(t("overview.dismissFailed"), error),
  });
}
