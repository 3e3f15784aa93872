import { Alert, Button, Code, Group, Paper, Select, Stack, Switch, Text, TextInput, Title } from "@mantine/core";
import { useForm, type UseFormReturnType } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { useErrorText } from "../../api/error-text.ts";
import { useFieldTexts } from "../../api/fault-text.ts";
import type { Provider, ProviderPatch } from "../../api/openapi.ts";
import { keysQuery, presetsQuery } from "../../api/queries.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { laySaved, useStoredForm } from "../../parts/stored-form.ts";
import { useErrorsInLanguage } from "../../parts/use-errors-in-language.ts";
import { checkProvider, kinds } from "../providers/provider-forms.ts";
import { effectiveUrl } from "./effective-url.ts";
import { type SettingsFormProps, useDirty } from "./settings-form.ts";
import { useChangeProvider } from "./use-change-provider.ts";

interface Values {
  readonly name: string;
  readonly slug: string;
  readonly base_url: string;
  readonly kind: Provider["kind"];
  readonly preset: string | null;
  readonly api_key: string;
  readonly removeKey: boolean;
}

/** Name, path, base URL and the provider-level key. */
export function ConnectionForm({ provider, onDirty }: SettingsFormProps): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const fieldTexts = useFieldTexts();
  const { data: presets = [] } = useQuery(presetsQuery);
  const [confirming, setConfirming] = useState<ProviderPatch>();
  const form = useForm<Values>({
    initialValues: valuesOf(provider),
    validate: checkProvider(t),
  });
  useStoredForm(form, valuesOf(provider));
  useDirty(form.isDirty(), onDirty);
  useErrorsInLanguage(form);
  const change = useChangeProvider(provider, (error) => form.setErrors(fieldTexts(error)));
  const save = async (patch: ProviderPatch): Promise<void> => {
    const sent = form.getValues();
    laySaved(form, valuesOf(await change.mutateAsync(patch)), sent);
  };
  const submit = (values: Values): void => {
    const patch = patchOf(values, form.isDirty);
    // The stored keys go where the base URL leads: another host is asked about first.
    if (patch.base_url !== undefined && hostOf(patch.base_url) !== hostOf(provider.base_url))
      setConfirming({ ...patch, confirm_host_change: true });
    else save(patch).catch(() => undefined);
  };
  const effective = effectiveUrl(form.values.kind, form.values.base_url);

  return (
    <Paper withBorder radius="md" p="md">
      <form noValidate onSubmit={form.onSubmit(submit)}>
        <Stack maw={640}>
          <Title order={2}>{t("provider.connection")}</Title>
          <TextInput label={t("providers.name")} required {...form.getInputProps("name")} />
          <TextInput
            label={t("providers.slug")}
            description={t("providers.slugHint", { url: `${window.location.origin}/${form.values.slug}` })}
            required
            {...form.getInputProps("slug")}
          />
          <TextInput
            label={t("providers.baseUrl")}
            description={t("providers.baseUrlHint")}
            required
            inputMode="url"
            {...form.getInputProps("base_url")}
          />
          <Stack gap={4} role="group" aria-label={t("provider.effective")}>
            <Text size="sm" fw={500}>
              {t("provider.effective")}
            </Text>
            <Text size="xs" c="dimmed">
              {t("provider.effectiveHint", { from: `/${form.values.slug}${effective.call}` })}
            </Text>
            <Code style={{ overflowWrap: "anywhere" }}>{effective.sentTo}</Code>
          </Stack>
          <Select label={t("providers.kind")} data={kinds} allowDeselect={false} {...form.getInputProps("kind")} />
          <Select
            label={t("provider.preset")}
            description={t("provider.presetHint")}
            placeholder={t("provider.presetNone")}
            data={presets.map(({ slug, name }) => ({ value: slug, label: name }))}
            searchable
            clearable
            {...form.getInputProps("preset")}
          />
          <ProviderKeyFields provider={provider} form={form} />
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
      <ConfirmDialog
        isOpen={confirming !== undefined}
        onClose={() => setConfirming(undefined)}
        title={t("provider.confirmHost")}
        confirmLabel={t("provider.confirmHostAction")}
        color="orange.9"
        onConfirm={async () => {
          if (confirming) await save(confirming);
        }}
      >
        {t("provider.confirmHostText", { name: provider.name, host: hostOf(form.values.base_url) })}
      </ConfirmDialog>
    </Paper>
  );
}

interface ProviderKeyFieldsProps {
  readonly provider: Provider;
  readonly form: Pick<UseFormReturnType<Values>, "getInputProps" | "values">;
}

function ProviderKeyFields({ provider, form }: ProviderKeyFieldsProps): ReactNode {
  const { t } = useTranslation();
  const { data: keys } = useQuery(keysQuery(provider.id));
  return (
    <Stack gap="xs">
      <TextInput
        label={t("provider.apiKey")}
        description={t("provider.apiKeyHint")}
        placeholder={
          provider.api_key === null
            ? t("provider.apiKeyPlaceholder")
            : t("provider.apiKeyKeep", { masked: provider.api_key })
        }
        autoComplete="off"
        spellCheck={false}
        disabled={form.values.removeKey}
        {...form.getInputProps("api_key")}
      />
      {provider.api_key !== null && keys && keys.length > 0 && (
        <Text size="xs" c="dimmed">
          {t("provider.apiKeyUnused")}
        </Text>
      )}
      {provider.api_key !== null && (
        <Switch
          size="sm"
          label={t("provider.apiKeyRemove")}
          description={t("provider.apiKeyRemoveHint")}
          {...form.getInputProps("removeKey", { type: "checkbox" })}
        />
      )}
    </Stack>
  );
}

function valuesOf({ name, slug, base_url, kind, preset }: Provider): Values {
  return { name, slug, base_url, kind, preset, api_key: "", removeKey: false };
}

/** Only what was changed here: someone else may have changed the rest meanwhile. */
function patchOf(values: Values, isDirty: (field: keyof Values) => boolean): ProviderPatch {
  const typed = values.api_key.trim();
  return {
    ...(isDirty("name") ? { name: values.name.trim() } : {}),
    ...(isDirty("slug") ? { slug: values.slug } : {}),
    ...(isDirty("base_url") ? { base_url: values.base_url.trim() } : {}),
    ...(isDirty("kind") ? { kind: values.kind } : {}),
    // It was chosen from the list of those that there are.
    ...(isDirty("preset") ? { preset: values.preset as ProviderPatch["preset"] & (string | null) } : {}),
    ...(values.removeKey ? { api_key: null } : typed === "" ? {} : { api_key: typed }),
  };
}

function hostOf(baseUrl: string): string {
  return URL.parse(baseUrl.trim())?.origin ?? baseUrl;
}
