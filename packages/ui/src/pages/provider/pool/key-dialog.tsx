import { Alert, Autocomplete, Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { TFunction } from "i18next";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { call } from "../../../api/client.ts";
import { useErrorText } from "../../../api/error-text.ts";
import { useFieldTexts } from "../../../api/fault-text.ts";
import type { Key } from "../../../api/openapi.ts";
import { keysQuery } from "../../../api/queries.ts";
import { queryKeys } from "../../../api/query-keys.ts";
import { amountOf } from "../../../parts/amount.ts";
import { AmountInput } from "../../../parts/amount-input.tsx";
import { CancelButton } from "../../../parts/dialog.tsx";
import { useDialog } from "../../../parts/dialog-context.ts";
import { type AtStake, FormDialog } from "../../../parts/form-dialog.tsx";
import { useDialogCall } from "../../../parts/use-dialog-call.ts";
import { useStake } from "../../../parts/use-stake.ts";
import { useNotify } from "../../../parts/notify.ts";
import { groupsOf, isWeight, nameOf } from "./key-facts.ts";
import { faultOfKeyText, type KeyTextFault, trimKeyText, variableNameOf } from "./key-text.ts";
import { VariableState } from "./variable-state.tsx";

export interface KeyDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly providerId: string;
  /** The key to edit; undefined to add one. */
  readonly value?: Key | undefined;
}

/** Adds a key, or edits one: API Key, Label, Weight, Confirm. */
export function KeyDialog({ isOpen, onClose, providerId, value }: KeyDialogProps): ReactNode {
  const { t } = useTranslation();
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={value ? t("keys.editHeading", { name: nameOf(value) }) : t("keys.addHeading")}
    >
      {(onStake) => <KeyForm providerId={providerId} value={value} onStake={onStake} />}
    </FormDialog>
  );
}

interface KeyValues {
  readonly api_key: string;
  readonly label: string;
  readonly weight: string;
  readonly group: string;
}

interface KeyFormProps extends Pick<KeyDialogProps, "providerId" | "value"> {
  readonly onStake: (stake: AtStake) => void;
}

function KeyForm({ providerId, value, onStake }: KeyFormProps): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const fieldTexts = useFieldTexts();
  const form = useForm<KeyValues>({
    initialValues: {
      api_key: "",
      label: value?.label ?? "",
      weight: String(value?.weight ?? 1),
      group: value?.group ?? "",
    },
    validate: {
      api_key: (text) => {
        if (value && trimKeyText(text) === "") return null;
        const fault = faultOfKeyText(text);
        return fault === undefined ? null : faultText(fault, t);
      },
      label: (text) => (text.trim().length > 200 ? t("keys.labelTooLong") : null),
      group: (text) => (text.trim().length > 100 ? t("keys.groupTooLong") : null),
      weight: (weight) => (isWeight(amountOf(weight)) ? null : t("keys.weightRange")),
    },
  });
  useStake(form.isDirty(), onStake);
  const { data: keys = [] } = useQuery(keysQuery(providerId));
  const { label, weight, group } = form.values;
  // Only what was changed here: someone else may have changed the rest meanwhile.
  const changed = {
    ...(form.isDirty("label") ? { label: label.trim() } : {}),
    ...(form.isDirty("weight") ? { weight: amountOf(weight) } : {}),
    ...(form.isDirty("group") ? { group: group.trim() } : {}),
  };
  const { isBusy } = useDialog();
  const save = useSaveKey(providerId, value, (error) => form.setErrors(fieldTexts(error)));
  return (
    <form noValidate onSubmit={form.onSubmit(({ api_key }) => save.run({ api_key: trimKeyText(api_key), changed }))}>
      <Stack>
        <Stack gap={6}>
          <TextInput
            label={t("keys.apiKey")}
            description={value ? t("keys.apiKeyKeep", { masked: value.api_key }) : t("keys.apiKeyHint")}
            required={!value}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
            {...form.getInputProps("api_key")}
          />
          <VariableHint text={form.values.api_key} />
        </Stack>
        <TextInput label={t("keys.label")} description={t("keys.labelHint")} {...form.getInputProps("label")} />
        <AmountInput
          label={t("keys.weight")}
          description={t("keys.weightHint")}
          inputMode="numeric"
          styles={{ wrapper: { maxWidth: "10rem" } }}
          {...form.getInputProps("weight")}
        />
        <Autocomplete
          label={t("keys.group")}
          description={t("keys.groupHint")}
          data={groupsOf(keys)}
          {...form.getInputProps("group")}
        />
        {save.error !== null && Object.keys(form.errors).length === 0 && (
          <Alert color="red" role="alert">
            {errorText(save.error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <CancelButton />
          <Button type="submit" loading={isBusy}>
            {t("common.confirm")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface Entered {
  readonly api_key: string;
  readonly changed: { readonly label?: string; readonly weight?: number; readonly group?: string };
}

function useSaveKey(providerId: string, value: Key | undefined, onFailed: (error: Error) => void) {
  const { t } = useTranslation();
  const notify = useNotify();
  const client = useQueryClient();
  const { close } = useDialog();
  const send = ({ api_key, changed }: Entered): Promise<Key> =>
    value
      ? call("PATCH /api/keys/{id}", {
          params: { id: value.id },
          body: api_key === "" ? changed : { ...changed, api_key },
        })
      : call("POST /api/providers/{id}/keys", { params: { id: providerId }, body: { ...changed, api_key } });
  return useDialogCall({
    send: async (entered: Entered) => {
      const key = await send(entered);
      await client.invalidateQueries({ queryKey: queryKeys.keys(providerId) });
      void client.invalidateQueries({ queryKey: queryKeys.preview(providerId) });
      if (!value) notify.done(t("keys.added", { name: nameOf(key) }), t("keys.addedBound"));
    },
    onDone: close,
    onFailed,
  });
}

/** While `$NAME` is typed: whether the gateway knows the variable. */
function VariableHint({ text }: { readonly text: string }): ReactNode {
  const { t } = useTranslation();
  const [settled] = useDebouncedValue(text, 200);
  if (variableNameOf(settled) === undefined) return null;
  return (
    <div role="status">
      <VariableState reference={settled} />
      <Text size="xs" c="dimmed">
        {t("keys.variableHint")}
      </Text>
    </div>
  );
}

function faultText(fault: KeyTextFault, t: TFunction): string {
  switch (fault) {
    case "missing":
      return t("keys.apiKeyMissing");
    case "name":
      return t("keys.apiKeyName");
    case "masked":
      return t("keys.apiKeyMasked");
    case "quotes":
      return t("keys.apiKeyQuotes");
    case "comma":
      return t("keys.apiKeyComma");
    case "inside":
      return t("keys.apiKeyInside");
  }
}
