import { Button, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconPlus, IconWebhook } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Webhook } from "../../api/openapi.ts";
import { webhooksQuery } from "../../api/queries.ts";
import { LoadFailed } from "../../parts/load-failed.tsx";
import { NoneYet } from "../../parts/none-yet.tsx";
import { Page } from "../../parts/page.tsx";
import { RowList } from "../../parts/row-list.tsx";
import { AddWebhookDialog } from "./add-webhook-dialog.tsx";
import { RemoveWebhookDialog } from "./remove-webhook-dialog.tsx";
import { RotateSecretDialog } from "./rotate-secret-dialog.tsx";
import { WebhookRow } from "./webhook-row.tsx";

/** Where events are sent to. */
export function WebhooksPage(): ReactNode {
  const { t } = useTranslation();
  const { data: webhooks, error, refetch, isPending } = useQuery(webhooksQuery);
  const [isAdding, setAdding] = useState(false);
  const [rotated, setRotated] = useState<Webhook>();
  const [removed, setRemoved] = useState<Webhook>();
  const isEmpty = webhooks?.length === 0;
  const add = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
      {t("webhooks.add")}
    </Button>
  );
  return (
    <Page title={t("webhooks.heading")} description={t("webhooks.intro")} actions={webhooks && !isEmpty && add}>
      {isPending && <Skeleton h={120} radius="md" aria-busy />}
      {error && <LoadFailed error={error} onRetry={() => void refetch()} />}
      {isEmpty && (
        <NoneYet
          icon={<IconWebhook />}
          title={t("webhooks.emptyHeading")}
          description={t("webhooks.whatItIs")}
          actions={add}
        />
      )}
      {webhooks && !isEmpty && (
        <RowList label={t("webhooks.heading")}>
          {webhooks.map((webhook) => (
            <WebhookRow
              key={webhook.id}
              webhook={webhook}
              onRotate={() => setRotated(webhook)}
              onRemove={() => setRemoved(webhook)}
            />
          ))}
        </RowList>
      )}
      <AddWebhookDialog isOpen={isAdding} onClose={() => setAdding(false)} />
      <RotateSecretDialog webhook={rotated} onClose={() => setRotated(undefined)} />
      <RemoveWebhookDialog webhook={removed} onClose={() => setRemoved(undefined)} />
    </Page>
  );
}
