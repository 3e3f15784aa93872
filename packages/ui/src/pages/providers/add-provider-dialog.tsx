import { Alert, Anchor, Button, Group, Select, Stack, TextInput } from "@mantine/core";
import { useForm, type UseFormReturnType } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { IconArrowLeft } from "@tabler/icons-react";
import { useLayoutEffect, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";
import { call } from "../../api/client.ts";
import { useErrorText } from "../../api/error-text.ts";
import type { ProviderPreset } from "../../api/openapi.ts";
import { useFieldTexts } from "../../api/fault-text.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { useDialog } from "../../parts/dialog-context.ts";
import { type AtStake, FormDialog } from "../../parts/form-dialog.tsx";
import { useDialogCall } from "../../parts/use-dialog-call.ts";
import { useLatest } from "../../parts/use-latest.ts";
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
  // What was typed before another provider was looked for, by the slug of the one that it was typed for.
  const [drafts, setDrafts] = useState<ReadonlyMap<string, Values>>(new Map());
  useStake(drafts.size > 0, onStake);
  if (chosen === undefined) return <PresetPicker onPick={(preset) => setChosen(preset ?? "other")} />;
  const name = chosen === "other" ? chosen : chosen.slug;
  return (
    <ProviderForm
      chosen={chosen}
      taken={taken}
      draft={drafts.get(name)}
      onDraft={(draft) => setDrafts((before) => withOrWithout(before, name, draft))}
      onBack={() => setChosen(undefined)}
    />
  );
}

function withOrWithout(before: ReadonlyMap<string, Values>, name: string, draft: Values | undefined) {
  const after = new Map(before);
  if (draft === undefined) after.delete(name);
  else after.set(name, draft);
  return after;
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
  /** What was typed here before. */
  readonly draft: Values | undefined;
  /** Told what is typed; undefined for what was filled in already. */
  readonly onDraft: (draft: Values | undefined) => void;
  readonly onBack: () => void;
}

function ProviderForm({ chosen, taken, draft, onDraft, onBack }: ProviderFormProps): ReactNode {
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
  const { isBusy } = useDialog();
  const add = useAddProvider((error) => form.setErrors(fieldTexts(error)));
  useDraft(form, draft, onDraft);
  const { name, slug } = form.values;
  const isOwnSlug = form.isDirty("slug");

  return (
    <form
      noValidate
      onSubmit={form.onSubmit((values) => add.run({ ...values, ...(preset ? { preset: preset.slug } : {}) }))}
    >
      <Stack>
        <Anchor component="button" type="button" size="sm" disabled={isBusy} onClick={onBack}>
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
        {add.error !== null && Object.keys(form.errors).length === 0 && (
          <Alert color="red" role="alert" title={t("providers.addFailed")}>
            {errorText(add.error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button type="submit" loading={isBusy}>
            {t("common.confirm")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function useAddProvider(onFailed: (error: Error) => void) {
  const { t } = useTranslation();
  const notify = useNotify();
  const navigate = useNavigate();
  const client = useQueryClient();
  return useDialogCall({
    send: async (body: Values & { readonly preset?: ProviderPreset["slug"] }) => {
      const provider = await call("POST /api/providers", { body });
      client.setQueryData(queryKeys.provider(provider.slug), provider);
      void client.invalidateQueries({ queryKey: queryKeys.providers, exact: true });
      notify.done(t("providers.added", { name: provider.name }));
      return provider;
    },
    onDone: ({ slug }) => void navigate(`/settings/providers/${slug}`),
    onFailed,
  });
}

/** Puts back what was typed before, and tells of what is. */
function useDraft(
  form: UseFormReturnType<Values>,
  draft: Values | undefined,
  onDraft: (draft: Values | undefined) => void,
): void {
  const [initial] = useState(draft);
  const { setValues } = form;
  useLayoutEffect(() => {
    if (initial !== undefined) setValues(initial);
  }, [initial, setValues]);
  const { note } = useLatest({ note: onDraft });
  const { values } = form;
  const isDirty = form.isDirty();
  useLayoutEffect(() => note(isDirty ? values : undefined), [note, isDirty, values]);
}

/** A second provider of the same preset is told from the first. */
function nameFor(name: string, taken: readonly string[]): string {
  const slug = slugFor(name, taken);
  const number = /-(\d+)$/.exec(slug)?.[1];
  return number === undefined ? name : `${name} ${number}`;
}
