import { Badge, Button, Group, Switch, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { call } from "../../api/client.ts";
import type { Webhook } from "../../api/openapi.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { useFormat } from "../../format/format.ts";
import { useNotify } from "../../parts/notify.ts";
import { ListRow } from "../../parts/row-list.tsx";
import { WebhookDeliveries } from "./webhook-deliveries.tsx";
import { eventWords, nameOf } from "./webhook-facts.ts";
import tones from "../../parts/tone.module.css";

export interface WebhookRowProps {
  readonly webhook: Webhook;
  readonly onRotate: () => void;
  readonly onRemove: () => void;
}

/** One webhook of the list: where it leads, what it is told, and what became of that. */
export function WebhookRow({ webhook, onRotate, onRemove }: WebhookRowProps): ReactNode {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const deliveriesId = useId();
  const format = useFormat();
  const name = nameOf(webhook);
  return (
    <ListRow
      actions={
        <>
          <EnabledSwitch webhook={webhook} />
          <TestButton webhook={webhook} />
          <Button
            variant="default"
            size="xs"
            onClick={() => setOpen(!isOpen)}
            aria-expanded={isOpen}
            aria-controls={deliveriesId}
            aria-label={t("webhooks.deliveriesNamed", { name })}
          >
            {t("webhooks.deliveries")}
          </Button>
          <Button variant="default" size="xs" onClick={onRotate} aria-label={t("webhooks.rotateNamed", { name })}>
            {t("webhooks.rotate")}
          </Button>
          <Button variant="default" size="xs" onClick={onRemove} aria-label={t("webhooks.removeNamed", { name })}>
            {t("webhooks.remove")}
          </Button>
        </>
      }
      below={<div id={deliveriesId}>{isOpen && <WebhookDeliveries webhook={webhook} />}</div>}
    >
      <Text fw={600} lineClamp={2} title={name} dir="auto">
        {name}
      </Text>
      <Text size="xs" c="dimmed" ff="monospace">
        {webhook.url}
      </Text>
      <Events webhook={webhook} />
      {webhook.former_secret_until !== null && (
        <Text size="sm" c="dimmed">
          {t("webhooks.formerUntil", { until: format.dateTime(webhook.former_secret_until) })}
        </Text>
      )}
      {webhook.disabled_reason === "gone" && (
        <Text size="sm" className={tones.bad ?? ""}>
          {t("webhooks.gone")}
        </Text>
      )}
    </ListRow>
  );
}

function Events({ webhook: { events } }: { readonly webhook: Webhook }): ReactNode {
  const { t } = useTranslation();
  if (events === null) {
    return (
      <Text size="sm" c="dimmed">
        {t("webhooks.allEvents")}
      </Text>
    );
  }
  return (
    <Group gap={6}>
      {events.map((event) => (
        <Badge key={event} variant="default" tt="none" fw={500}>
          {t(eventWords[event])}
        </Badge>
      ))}
    </Group>
  );
}

function EnabledSwitch({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const client = useQueryClient();
  const name = nameOf(webhook);
  const change = useMutation({
    mutationFn: (enabled: boolean) =>
      call("PATCH /api/webhooks/{id}", { params: { id: webhook.id }, body: { enabled } }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.webhooks }),
    onError: (error) => notify.failed(t("webhooks.switchFailed", { name }), error),
  });
  return (
    <Switch
      checked={change.isPending ? change.variables : webhook.enabled}
      onChange={(event) => change.mutate(event.currentTarget.checked)}
      aria-label={t("webhooks.enabledSwitch", { name })}
    />
  );
}

function TestButton({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const client = useQueryClient();
  const test = useMutation({
    mutationFn: () => call("POST /api/webhooks/{id}/test", { params: { id: webhook.id } }),
    onSuccess: async ({ delivered, http_status: status, message }) => {
      if (delivered) notify.done(t("webhooks.testDelivered"));
      // Without an answer there are only the words of the system.
      else notify.warn(t("webhooks.testFailed"), status === null ? message : t("webhooks.testRefused", { status }));
      await client.invalidateQueries({ queryKey: queryKeys.webhookDeliveries(webhook.id) });
    },
    onError: (error) => notify.failed(t("webhooks.testFailed"), error),
  });
  return (
    <Button
      variant="default"
      size="xs"
      loading={test.isPending}
      onClick={() => test.mutate()}
      aria-label={t("webhooks.sendTestNamed", { name: nameOf(webhook) })}
    >
      {t("webhooks.sendTest")}
    </Button>
  );
}
