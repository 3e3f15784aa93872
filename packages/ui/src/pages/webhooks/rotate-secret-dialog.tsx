import { Alert, Button, Group, Radio, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { call } from "../../api/client.ts";
import { useErrorText } from "../../api/error-text.ts";
import type { NewWebhook, Webhook } from "../../api/openapi.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { useFormat } from "../../format/format.ts";
import { useDialog } from "../../parts/dialog-context.ts";
import { CancelButton } from "../../parts/dialog.tsx";
import { type AtStake, FormDialog } from "../../parts/form-dialog.tsx";
import { useNotify } from "../../parts/notify.ts";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { useDialogCall } from "../../parts/use-dialog-call.ts";
import { useLastShown } from "../../parts/use-last-shown.ts";
import { nameOf } from "./webhook-facts.ts";

export interface RotateSecretDialogProps {
  /** The dialog is open while there is one. */
  readonly webhook: Webhook | undefined;
  readonly onClose: () => void;
}

/** Makes the secret of a webhook anew and shows it this once. */
export function RotateSecretDialog({ webhook, onClose }: RotateSecretDialogProps): ReactNode {
  const { t } = useTranslation();
  const shown = useLastShown(webhook);
  const name = shown === undefined ? "" : nameOf(shown);
  return (
    <FormDialog isOpen={webhook !== undefined} onClose={onClose} title={t("webhooks.rotateNamed", { name })}>
      {(onStake) => shown && <Steps key={shown.id} webhook={shown} onDone={onClose} onStake={onStake} />}
    </FormDialog>
  );
}

interface StepsProps {
  readonly webhook: Webhook;
  readonly onDone: () => void;
  readonly onStake: (stake: AtStake) => void;
}

function Steps({ webhook, onDone, onStake }: StepsProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const [rotated, setRotated] = useState<NewWebhook>();
  if (rotated === undefined) return <OverlapForm webhook={webhook} onRotated={setRotated} />;
  const { secret, former_secret_until: until } = rotated;
  return (
    <ShownOnce
      value={secret}
      label={t("webhooks.secret")}
      warning={{ title: t("webhooks.secretOnce"), text: t("webhooks.secretOnceHint") }}
      words={{ copy: t("webhooks.copySecret"), done: t("webhooks.done") }}
      onDone={onDone}
      onStake={onStake}
    >
      <Text size="sm">
        {until === null ? t("webhooks.formerEnded") : t("webhooks.formerUntil", { until: format.dateTime(until) })}
      </Text>
    </ShownOnce>
  );
}

const dayMs = 86_400_000;

interface OverlapFormProps {
  readonly webhook: Webhook;
  readonly onRotated: (webhook: NewWebhook) => void;
}

function OverlapForm({ webhook, onRotated }: OverlapFormProps): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const client = useQueryClient();
  const errorText = useErrorText();
  const { isBusy } = useDialog();
  const [overlapMs, setOverlapMs] = useState(String(dayMs));
  const { run, error } = useDialogCall({
    send: async () => {
      const body = { overlap_ms: Number(overlapMs) };
      const rotated = await call("POST /api/webhooks/{id}/rotate", { params: { id: webhook.id }, body });
      void client.invalidateQueries({ queryKey: queryKeys.webhooks });
      return rotated;
    },
    onDone: onRotated,
    onMissed: () => notify.warn(t("webhooks.rotatedUnseen"), t("webhooks.rotatedUnseenHint")),
  });
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
    >
      <Stack>
        <Radio.Group
          label={t("webhooks.overlap")}
          description={t("webhooks.overlapHint")}
          value={overlapMs}
          onChange={setOverlapMs}
        >
          <Stack gap="xs" mt="xs">
            <Radio value={String(dayMs)} label={t("webhooks.overlapDay")} data-autofocus />
            <Radio value={String(7 * dayMs)} label={t("webhooks.overlapWeek")} />
            <Radio value="0" label={t("webhooks.overlapNone")} description={t("webhooks.overlapNoneHint")} />
          </Stack>
        </Radio.Group>
        {error !== null && (
          <Alert color="red" role="alert" title={t("webhooks.rotateFailed")}>
            {errorText(error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <CancelButton />
          <Button type="submit" loading={isBusy}>
            {t("webhooks.rotate")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
