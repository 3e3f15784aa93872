import { Alert, Button, Fieldset, Group, Paper, SimpleGrid, Stack, Switch, Text, Title } from "@mantine/core";
import { useForm } from "@mantine/form";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useErrorText } from "../../api/error-text.ts";
import { useFaultText } from "../../api/fault-text.ts";
import { isApiError } from "../../api/problem.ts";
import { AmountInput } from "../../parts/amount-input.tsx";
import { laySaved, useStoredForm } from "../../parts/stored-form.ts";
import { useErrorsInLanguage } from "../../parts/use-errors-in-language.ts";
import { type SettingsFormProps, useDirty } from "./settings-form.ts";
import {
  settingsPatchOf,
  settingsValuesOf,
  type SettingsValues,
  fieldOfPath,
  type RangeFault,
  rangeFaults,
  rangeOfPath,
} from "./settings-values.ts";
import { useChangeProvider } from "./use-change-provider.ts";

/** Cooldown, affinity, timeouts and limits: lengths of time in seconds, empty for the default. */
export function AdvancedForm({ provider, onDirty }: SettingsFormProps): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const faultText = useFaultText();
  const outOfRange = ({ min, max }: Pick<RangeFault, "min" | "max">): string =>
    t("provider.outOfRange", { min: String(min), max: String(max) });
  const form = useForm<SettingsValues>({
    initialValues: settingsValuesOf(provider.settings),
    validate: (values) => Object.fromEntries(rangeFaults(values).map((fault) => [fault.field, outOfRange(fault)])),
  });
  useStoredForm(form, settingsValuesOf(provider.settings));
  useDirty(form.isDirty(), onDirty);
  useErrorsInLanguage(form);
  const change = useChangeProvider(provider, (error) => {
    if (!isApiError(error)) return;
    form.setErrors(
      Object.fromEntries(
        error.errors.map((fault) => {
          const range = rangeOfPath(fault.path, fault.code);
          return [fieldOfPath(fault.path), range ? outOfRange(range) : faultText(fault, fault.path)];
        }),
      ),
    );
  });
  const submit = (values: SettingsValues): void => {
    change
      .mutateAsync({ settings: settingsPatchOf(values, form.getInitialValues()) })
      .then((saved) => laySaved(form, settingsValuesOf(saved.settings), values))
      // Told beside the fields, or below.
      .catch(() => undefined);
  };
  const seconds = (field: keyof SettingsValues) => ({
    unit: t("provider.seconds"),
    ...form.getInputProps(field),
  });

  return (
    <Paper withBorder radius="md" p="md">
      <form noValidate onSubmit={form.onSubmit(submit)}>
        <Stack maw={760}>
          <Title order={2}>{t("provider.advanced")}</Title>
          <Text size="sm" c="dimmed">
            {t("provider.advancedHint")}
          </Text>
          <Fieldset legend={t("provider.cooldown")}>
            <Stack>
              <SimpleGrid cols={{ base: 1, sm: 2 }}>
                <AmountInput
                  label={t("provider.cooldownBase")}
                  description={t("provider.cooldownBaseHint")}
                  {...seconds("cooldownBase")}
                />
                <AmountInput
                  label={t("provider.cooldownCap")}
                  inputWrapperOrder={["label", "input", "description", "error"]}
                  {...seconds("cooldownCap")}
                />
              </SimpleGrid>
              <Switch
                label={t("provider.cooldownScope")}
                description={t("provider.cooldownScopeHint")}
                {...form.getInputProps("scopeModel", { type: "checkbox" })}
              />
            </Stack>
          </Fieldset>
          <Fieldset legend={t("provider.affinity")}>
            <Stack>
              <Switch
                label={t("provider.affinityEnabled")}
                description={t("provider.affinityEnabledHint")}
                {...form.getInputProps("affinityEnabled", { type: "checkbox" })}
              />
              <AmountInput
                maw={360}
                label={t("provider.affinityIdle")}
                disabled={!form.values.affinityEnabled}
                {...seconds("affinityIdle")}
              />
            </Stack>
          </Fieldset>
          <Fieldset legend={t("provider.timeouts")}>
            <SimpleGrid cols={{ base: 1, sm: 3 }}>
              <AmountInput label={t("provider.timeoutConnect")} {...seconds("timeoutConnect")} />
              <AmountInput label={t("provider.timeoutHeaders")} {...seconds("timeoutHeaders")} />
              <AmountInput label={t("provider.timeoutIdle")} {...seconds("timeoutIdle")} />
            </SimpleGrid>
          </Fieldset>
          <Fieldset legend={t("provider.limits")}>
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              <AmountInput
                label={t("provider.retry")}
                description={t("provider.retryHint")}
                inputMode="numeric"
                {...form.getInputProps("retry")}
              />
              <AmountInput
                label={t("provider.maxBody")}
                unit={t("provider.maxBodyUnit")}
                {...form.getInputProps("maxBody")}
              />
            </SimpleGrid>
          </Fieldset>
          {change.isError && Object.keys(form.errors).length === 0 && (
            <Alert color="red" role="alert">
              {errorText(change.error)}
            </Alert>
          )}
          <Group>
            <Button type="submit" loading={change.isPending} disabled={!form.isDirty()}>
              {t("common.save")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
