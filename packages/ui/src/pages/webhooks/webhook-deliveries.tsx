import { Group, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Webhook, WebhookDelivery } from "../../api/openapi.ts";
import { deliveriesQuery } from "../../api/queries.ts";
import { useFormat } from "../../format/format.ts";
import { LoadFailed } from "../../parts/load-failed.tsx";
import tones from "../../parts/tone.module.css";
import { nameOf, stateWords, wordsOf } from "./webhook-facts.ts";
import classes from "./webhook-deliveries.module.css";

/** What was sent to a webhook last, newest first; asked for anew while it is looked at. */
export function WebhookDeliveries({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { t } = useTranslation();
  const { data, error, refetch, isPending } = useQuery(deliveriesQuery(webhook.id));
  if (isPending) return <Skeleton h={40} aria-busy />;
  if (error) return <LoadFailed error={error} onRetry={() => void refetch()} />;
  if (data.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {t("webhooks.nothingSent")}
      </Text>
    );
  }
  const label = t("webhooks.deliveriesNamed", { name: nameOf(webhook) });
  return (
    <Stack component="ul" gap={6} m={0} p={0} role="list" aria-label={label}>
      {data.map((delivery) => (
        <Delivery key={delivery.id} delivery={delivery} />
      ))}
    </Stack>
  );
}

function Delivery({ delivery }: { readonly delivery: WebhookDelivery }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const { type, state, attempts, created_at: at, next_attempt_at: nextAt, last_error: problem } = delivery;
  const words = wordsOf(type);
  const facts = [
    ...(attempts > 0 ? [t("webhooks.attempts", { count: attempts })] : []),
    ...(nextAt !== null && attempts > 0 ? [t("webhooks.nextAttempt", { ago: format.ago(nextAt) })] : []),
    ...(problem === null ? [] : [problem]),
  ];
  return (
    <Group component="li" gap="xs" className={classes.row}>
      <Text size="sm" fw={600} className={tones[stateWords[state].tone] ?? ""}>
        {t(stateWords[state].words)}
      </Text>
      <Text size="sm">{words === undefined ? type : t(words)}</Text>
      <Text size="xs" c="dimmed">
        <time dateTime={at} title={format.dateTime(at)}>
          {format.ago(at)}
        </time>
        {facts.map((fact) => ` · ${fact}`).join("")}
      </Text>
    </Group>
  );
}
