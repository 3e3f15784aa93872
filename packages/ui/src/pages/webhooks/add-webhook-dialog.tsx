import { Alert, Button, Group, MultiSelect, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { call } from "../../api/client.ts";
import { useErrorText } from "../../api/error-text.ts";
import { useFieldTexts } from "../../api/fault-text.ts";
import type { NewWebhook } from "../../api/openapi.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { useDialog } from "../../parts/dialog-context.ts";
import { CancelButton } from "../../parts/dialog.tsx";
import { type AtStake, FormDialog } from "../../parts/form-dialog.tsx";
import { useNotify } from "../../parts/notify.ts";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { useDialogCall } from "../../parts/use-dialog-call.ts";
import { useStake } from "../../parts/use-stake.ts";
import { eventWords, type WebhookEvent } from "./webhook-facts.ts";

export interface AddWebhookDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Adds a webhook and shows its secret this once. */
export function AddWebhookDialog({ isOpen, onClose }: AddWebhookDialogProps): ReactNode {
  const { t } = useTranslation();
  const [isShown, setShown] = useState(false);
  const close = (): void => {
    setShown(false);
    onClose();
  };
  return (
    <FormDialog isOpen={isOpen} onClose={close} title={isShown ? t("webhooks.addedHeading") : t("webhooks.addHeading")}>
      {(onStake) => <Steps onAdded={() => setShown(true)} onDone={close} onStake={onStake} />}
    </FormDialog>
  );
}

interface StepsProps {
  readonly onAdded: () => void;
  readonly onDone: () => void;
  readonly onStake: (stake: AtStake) => void;
}

function Steps({ onAdded, onDone, onStake }: StepsProps): ReactNode {
  const { t } = useTranslation();
  const [added, setAdded] = useState<NewWebhook>();
  if (added) {
    return (
      <ShownOnce
        value={added.secret}
        label={t("webhooks.secret")}
        warning={{ title: t("webhooks.secretOnce"), text: t("webhooks.secretOnceHint") }}
        words={{ copy: t("webhooks.copySecret"), done: t("webhooks.done") }}
        onDone={onDone}
        onStake={onStake}
      />
    );
  }
  return (
    <WebhookForm
      onAdded={(webhook) => {
        setAdded(webhook);
        onAdded();
      }}
      onStake={onStake}
    />
  );
}

interface FormValues {
  readonly url: string;
  readonly name: string;
  readonly events: WebhookEvent[];
}

interface WebhookFormProps {
  readonly onAdded: (webhook: NewWebhook) => void;
  readonly onStake: (stake: AtStake) => void;
}

function WebhookForm({ onAdded, onStake }: WebhookFormProps): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const client = useQueryClient();
  const errorText = useErrorText();
  const fieldTexts = useFieldTexts();
  const { isBusy } = useDialog();
  const form = useForm<FormValues>({
    initialValues: { url: "", name: "", events: [] },
    validate: { url: (url) => (/^https?:\/\/./i.test(url.trim()) ? null : t("webhooks.urlMissing")) },
  });
  useStake(form.isDirty(), onStake);
  const { run, error } = useDialogCall({
    send: async ({ url, name, events }: FormValues) => {
      const body = { url: url.trim(), name: name.trim(), events: events.length === 0 ? null : events };
      const webhook = await call("POST /api/webhooks", { body });
      void client.invalidateQueries({ queryKey: queryKeys.webhooks });
      return webhook;
    },
    onDone: (webhook) => {
      notify.done(t("webhooks.added"));
      onAdded(webhook);
    },
    onMissed: () => notify.warn(t("webhooks.neverShown"), t("webhooks.neverShownHint")),
    onFailed: (failure) => form.setErrors(fieldTexts(failure)),
  });
  return (
    <form noValidate onSubmit={form.onSubmit((values) => run(values))}>
      <Stack>
        <TextInput
          label={t("webhooks.url")}
          description={t("webhooks.urlHint")}
          placeholder="https://hooks.example.com/keywheel"
          type="url"
          required
          data-autofocus
          autoComplete="off"
          {...form.getInputProps("url")}
        />
        <TextInput
          label={t("webhooks.name")}
          description={t("webhooks.nameHint")}
          autoComplete="off"
          {...form.getInputProps("name")}
        />
        <MultiSelect
          label={t("webhooks.events")}
          description={t("webhooks.eventsHint")}
          placeholder={form.values.events.length === 0 ? t("webhooks.allEvents") : ""}
          data={Object.entries(eventWords).map(([value, words]) => ({ value, label: t(words) }))}
          hidePickedOptions
          clearable
          clearButtonProps={{ "aria-label": t("webhooks.allEvents") }}
          {...form.getInputProps("events")}
        />
        {error !== null && Object.keys(form.errors).length === 0 && (
          <Alert color="red" role="alert" title={t("webhooks.addFailed")}>
            {errorText(error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <CancelButton />
          <Button type="submit" loading={isBusy}>
            {t("webhooks.add")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
