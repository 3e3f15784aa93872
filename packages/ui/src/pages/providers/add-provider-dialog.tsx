import { Alert, Anchor, Button, Group, Select, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { IconArrowLeft } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";
import { call } from "../../api/client.ts";
import { useErrorText } from "../../api/error-text.ts";
import type { Provider, ProviderPreset } from "../../api/openapi.ts";
import { useFieldTexts } from "../../api/fault-text.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { type AtStake, FormDialog } from "../../parts/form-dialog.tsx";
import { useStake } from "../../parts/use-stake.ts";
import { useNotify } from "../../parts/notify.ts";
import { checkProvider, kinds, type ProviderKind, slugFor } from "./provider-forms.ts";
import { PresetPicker } from "./preset-picker.tsx";

/** What was chosen: a known provider, any other address, or nothing yet. */
export type Chosen = ProviderPreset | "other" | undefined;

export interface AddProviderDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly taken: readonly string[];
  /** Chosen already where the dialog was opened. */
  readonly initial?: Chosen;
}

export function AddProviderDialog({ isOpen, onClose, taken, initial }: AddProviderDialogProps): ReactNode {
  const { t } = useTranslation();
  return (
    <FormDialog isOpen={isOpen} onClose={onClose} size="xl" title={t("providers.addHeading")}>
      {(onStake) => <Steps taken={taken} initial={initial} onStake={onStake} />}
    </FormDialog>
  );
}

interface StepsProps {
  readonly taken: readonly string[];
  readonly initial: Chosen;
  readonly onStake: (stake: AtStake) => void;
}

function Steps({ taken, initial, onStake }: StepsProps): ReactNode {
  const [chosen, setChosen] = useState<Chosen>(initial);
  if (chosen === undefined) return <PresetPicker onPick={(preset) => setChosen(preset ?? "other")} />;
  return <ProviderForm chosen={chosen} taken={taken} onStake={onStake} onBack={() => setChosen(undefined)} />;
}

interface Values {
  readonly name: string;
  readonly slug: string;
  readonly base_url: string;
  readonly kind: ProviderKind;
}

interface ProviderFormProps {
  readonly chosen: Exclude<Chosen, undefined>;
  readonly taken: readonly string[];
  readonly onStake: (stake: AtStake) => void;
  readonly onBack: () => void;
}

function ProviderForm({ chosen, taken, onStake, onBack }: ProviderFormProps): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const preset = chosen === "other" ? undefined : chosen;
  const checks = checkProvider(t);
  const form = useForm<Values>({
    initialValues: {
      name: preset ? nameFor(preset.name, taken) : "",
      slug: preset ? slugFor(preset.slug, taken) : "",
      base_url: preset?.base_url ?? "https://",
      kind: preset?.kind ?? "openai-compatible",
    },
    validate: {
      ...checks,
      slug: (value) => (taken.includes(value) ? t("providers.slugTaken") : checks.slug(value)),
    },
  });
  const fieldTexts = useFieldTexts();
  const add = useAddProvider((error) => form.setErrors(fieldTexts(error)));
  useStake(form.isDirty(), onStake);
  const { name, slug } = form.values;
  const isOwnSlug = form.isDirty("slug");

  return (
    <form
      noValidate
      onSubmit={form.onSubmit((values) => add.mutate({ ...values, ...(preset ? { preset: preset.slug } : {}) }))}
    >
      <Stack>
        <Anchor component="button" type="button" size="sm" onClick={onBack}>
          <Group gap={4} component="span">
            <IconArrowLeft size={14} />
            {t("providers.back")}
          </Group>
        </Anchor>
        <TextInput
          label={t("providers.name")}
          description={t("providers.nameHint")}
          required
          data-autofocus
          {...form.getInputProps("name")}
          onChange={(event) => {
            const { value } = event.currentTarget;
            form.setFieldValue("name", value);
            if (!preset && (!isOwnSlug || slug === slugFor(name, taken)))
              form.setFieldValue("slug", slugFor(value, taken));
          }}
        />
        <TextInput
          label={t("providers.baseUrl")}
          description={t("providers.baseUrlHint")}
          required
          inputMode="url"
          {...form.getInputProps("base_url")}
        />
        {!preset && (
          <Select
            label={t("providers.kind")}
            data={kinds}
            allowDeselect={false}
            checkIconPosition="right"
            {...form.getInputProps("kind")}
          />
        )}
        <TextInput
          label={t("providers.slug")}
          description={t("providers.slugHint", { url: `${window.location.origin}/${slug || "…"}` })}
          required
          {...form.getInputProps("slug")}
        />
        {add.isError && Object.keys(form.errors).length === 0 && (
          <Alert color="red" role="alert" title={t("providers.addFailed")}>
            {errorText(add.error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button type="submit" loading={add.isPending}>
            {t("common.confirm")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function useAddProvider(onError: (error: Error) => void) {
  const { t } = useTranslation();
  const notify = useNotify();
  const navigate = useNavigate();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Values & { readonly preset?: ProviderPreset["slug"] }) => call("POST /api/providers", { body }),
    onSuccess: async (provider: Provider) => {
      client.setQueryData(queryKeys.provider(provider.slug), provider);
      void client.invalidateQueries({ queryKey: queryKeys.providers, exact: true });
      notify.done(t("providers.added", { name: provider.name }));
      await navigate(`/settings/providers/${provider.slug}`);
    },
    onError,
  });
}

/** A second provider of the same preset is told from the first. */
function nameFor(name: string, taken: readonly string[]): string {
  const slug = slugFor(name, taken);
  const number = /-(\d+)$/.exec(slug)?.[1];
  return number === undefined ? name : `${name} ${number}`;
}
