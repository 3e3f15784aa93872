import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { call } from "../../api/client.ts";
import type { Webhook } from "../../api/openapi.ts";
import { isApiError } from "../../api/problem.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { useNotify } from "../../parts/notify.ts";
import { useLastShown } from "../../parts/use-last-shown.ts";
import { nameOf } from "./webhook-facts.ts";

export interface RemoveWebhookDialogProps {
  /** The dialog is open while there is one. */
  readonly webhook: Webhook | undefined;
  readonly onClose: () => void;
}

export function RemoveWebhookDialog({ webhook, onClose }: RemoveWebhookDialogProps): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const client = useQueryClient();
  const shown = useLastShown(webhook);
  const name = shown === undefined ? "" : nameOf(shown);
  const remove = async (): Promise<void> => {
    if (webhook === undefined) return;
    try {
      await call("DELETE /api/webhooks/{id}", { params: { id: webhook.id } });
    } catch (error) {
      // Somebody else was quicker; that it is gone is what was wanted.
      if (!isApiError(error) || error.status !== 404) throw error;
    }
    await client.invalidateQueries({ queryKey: queryKeys.webhooks });
    notify.done(t("webhooks.removed", { name }));
  };
  return (
    <ConfirmDialog
      isOpen={webhook !== undefined}
      onClose={onClose}
      title={t("webhooks.removeConfirm", { name })}
      confirmLabel={t("webhooks.remove")}
      onConfirm={remove}
    >
      {t("webhooks.removeText")}
    </ConfirmDialog>
  );
}
