import { Alert, Button, Group, MultiSelect, NumberInput, Select, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useErrorText } from "../../api/error-text.ts";
import { useFieldTexts } from "../../api/fault-text.ts";
import type { Provider, Token, TokenPatch } from "../../api/openapi.ts";
import { serverNow } from "../../api/server-time.ts";
import { useFormat } from "../../format/format.ts";
import { CancelButton } from "../../parts/dialog.tsx";
import { useDialog } from "../../parts/dialog-context.ts";
import type { AtStake } from "../../parts/form-dialog.tsx";
import { useDialogCall } from "../../parts/use-dialog-call.ts";
import { useStake } from "../../parts/use-stake.ts";
import {
  changedTerms,
  dayOf,
  endOfDay,
  type ExpiryChoice,
  initialTerms,
  isLimit,
  most,
  type TermValues,
} from "./token-terms.ts";

export interface TokenFormProps<Answer> {
  /** The token that is changed; left out for a new one. */
  readonly token?: Token | undefined;
  readonly providers: readonly Provider[];
  readonly submitLabel: string;
  readonly failedTitle: string;
  /** Sends what was filled in. The form stays, with the error, when it rejects. */
  readonly onSubmit: (terms: TokenPatch & { readonly name: string }) => Promise<Answer>;
  readonly onDone: (answer: Answer) => void;
  /** It was done when the form was there no more. */
  readonly onMissed?: (answer: Answer) => void;
  /** Told whether something was typed that would be lost with the form. */
  readonly onStake: (stake: AtStake) => void;
}

/** What a token is good for. */
export function TokenForm<Answer>(props: TokenFormProps<Answer>): ReactNode {
  const { token, providers, submitLabel, failedTitle, onSubmit, onDone, onMissed, onStake } = props;
  const { t } = useTranslation();
  const errorText = useErrorText();
  const fieldTexts = useFieldTexts();
  const form = useTermsForm(token, providers);
  useStake(form.isDirty(), onStake);
  const { isBusy } = useDialog();
  const { run, error } = useDialogCall({
    send: (values: TermValues) => {
      const name = values.name.trim();
      return onSubmit({ ...changedTerms(values, form.getInitialValues(), serverNow()), name });
    },
    onDone,
    ...(onMissed && { onMissed }),
    onFailed: (failure) => form.setErrors(byField(fieldTexts(failure))),
  });
  return (
    <form noValidate onSubmit={form.onSubmit((values) => run(values))}>
      <Stack>
        <TextInput
          label={t("tokens.name")}
          description={t("tokens.nameHint")}
          required
          data-autofocus
          autoComplete="off"
          {...form.getInputProps("name")}
        />
        <MultiSelect
          label={t("tokens.providers")}
          description={t("tokens.providersHint")}
          placeholder={form.values.providers.length === 0 ? t("tokens.allProviders") : ""}
          data={providers.map(({ id, name }) => ({ value: id, label: name }))}
          nothingFoundMessage={t("tokens.noProviders")}
          searchable
          clearable
          hidePickedOptions
          clearButtonProps={{ "aria-label": t("tokens.allProviders") }}
          {...form.getInputProps("providers")}
        />
        <Expiry form={form} />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <LimitField
            label={t("tokens.perMinute")}
            description={t("tokens.perMinuteHint")}
            {...form.getInputProps("perMinute")}
          />
          <LimitField
            label={t("tokens.concurrent")}
            description={t("tokens.concurrentHint")}
            {...form.getInputProps("concurrent")}
          />
        </SimpleGrid>
        {error !== null && Object.keys(form.errors).length === 0 && (
          <Alert color="red" role="alert" title={failedTitle}>
            {errorText(error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <CancelButton />
          <Button type="submit" loading={isBusy}>
            {submitLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type TermsForm = ReturnType<typeof useTermsForm>;

function useTermsForm(token: Token | undefined, providers: readonly Provider[]) {
  const { t } = useTranslation();
  const format = useFormat();
  const limit = (value: number | string, largest: number): string | null =>
    isLimit(value, largest) ? null : t("tokens.limitRange", { most: format.number(largest) });
  const initialValues = initialTerms(
    token,
    providers.map(({ id }) => id),
  );
  return useForm<TermValues>({
    initialValues,
    validate: {
      name: (value) => {
        if (value.trim() === "") return t("tokens.nameMissing");
        return value.trim().length > 200 ? t("tokens.nameTooLong") : null;
      },
      lastDay: (value, { expiry }) => {
        if (expiry !== "day" || value === initialValues.lastDay) return null;
        return endOfDay(value) > serverNow() ? null : t("tokens.lastDayPast");
      },
      perMinute: (value) => limit(value, most.perMinute),
      concurrent: (value) => limit(value, most.concurrent),
    },
  });
}

function Expiry({ form }: { readonly form: TermsForm }): ReactNode {
  const { t } = useTranslation();
  const choices: readonly { readonly value: ExpiryChoice; readonly label: string }[] = [
    { value: "never", label: t("tokens.expiryNever") },
    ...(["7", "30", "90", "365"] as const).map((value) => ({
      value,
      label: t("tokens.expiryDays", { count: Number(value) }),
    })),
    { value: "day", label: t("tokens.expiryDay") },
  ];
  return (
    <SimpleGrid cols={{ base: 1, xs: form.values.expiry === "day" ? 2 : 1 }}>
      <Select label={t("tokens.expiry")} data={choices} allowDeselect={false} {...form.getInputProps("expiry")} />
      {form.values.expiry === "day" && (
        <TextInput
          type="date"
          label={t("tokens.lastDay")}
          required
          min={dayOf(serverNow())}
          max="9999-12-30"
          {...form.getInputProps("lastDay")}
        />
      )}
    </SimpleGrid>
  );
}

interface LimitFieldProps {
  readonly label: string;
  readonly description: string;
}

function LimitField(props: LimitFieldProps): ReactNode {
  const { t } = useTranslation();
  return (
    <NumberInput
      placeholder={t("tokens.noLimit")}
      min={1}
      allowDecimal={false}
      allowNegative={false}
      clampBehavior="none"
      thousandSeparator=","
      {...props}
    />
  );
}

const fieldOf: Readonly<Record<string, keyof TermValues>> = {
  max_requests_per_minute: "perMinute",
  max_concurrent: "concurrent",
};

/** `providers.0` is shown beside `providers`; an end that is refused beside the day, or the choice that led to it. */
function byField(fields: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([path, message]) => {
      const field = path.split(".")[0] ?? path;
      return field === "expires_at"
        ? [
            ["lastDay", message],
            ["expiry", message],
          ]
        : [[fieldOf[field] ?? field, message]];
    }),
  );
}
