import { Alert, Anchor, Button, CopyButton, Group, MultiSelect, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { IconAlertTriangle, IconCheck, IconCopy } from "@tabler/icons-react";
import { useEffect, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import { useErrorText } from "../../api/error-text.ts";
import type { NewToken } from "../../api/openapi.ts";
import { isApiError } from "../../api/problem.ts";
import { providersQuery } from "../../api/queries.ts";
import { type AtStake, FormDialog } from "../../parts/form-dialog.tsx";
import { useStake } from "../../parts/use-stake.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { connectPath } from "./token-facts.ts";
import classes from "./create-token-dialog.module.css";

export interface CreateTokenDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Makes a token and shows it this once: with the dialog, everything that holds it is gone. */
export function CreateTokenDialog({ isOpen, onClose }: CreateTokenDialogProps): ReactNode {
  const { t } = useTranslation();
  const [isShown, setShown] = useState(false);
  const close = (): void => {
    setShown(false);
    onClose();
  };
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={close}
      title={isShown ? t("tokens.createdHeading") : t("tokens.createHeading")}
    >
      {(onStake) => <Steps onCreated={() => setShown(true)} onDone={close} onStake={onStake} />}
    </FormDialog>
  );
}

interface StepsProps {
  readonly onCreated: () => void;
  readonly onDone: () => void;
  readonly onStake: (stake: AtStake) => void;
}

function Steps({ onCreated, onDone, onStake }: StepsProps): ReactNode {
  const [created, setCreated] = useState<NewToken>();
  if (created) return <CreatedToken created={created} onDone={onDone} onStake={onStake} />;
  return (
    <TokenForm
      onCreated={(token) => {
        setCreated(token);
        onCreated();
      }}
      onCancel={onDone}
      onStake={onStake}
    />
  );
}

interface TokenFormProps {
  readonly onCreated: (token: NewToken) => void;
  readonly onCancel: () => void;
  readonly onStake: (stake: AtStake) => void;
}

function TokenForm({ onCreated, onCancel, onStake }: TokenFormProps): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const client = useQueryClient();
  const { data: providers } = useQuery(providersQuery);
  const form = useForm<{ name: string; providers: string[] }>({
    initialValues: { name: "", providers: [] },
    validate: {
      name: (value) => {
        if (value.trim() === "") return t("tokens.nameMissing");
        return value.trim().length > 200 ? t("tokens.nameTooLong") : null;
      },
    },
  });
  useStake(form.isDirty(), onStake);
  const create = useMutation({
    mutationFn: ({ name, providers: ids }: typeof form.values) =>
      call("POST /api/tokens", { body: { name: name.trim(), ...(ids.length === 0 ? {} : { providers: ids }) } }),
    // Else the answer, and the token with it, would be kept for five minutes after the dialog is gone.
    gcTime: 0,
    onSuccess: (token) => {
      void client.invalidateQueries({ queryKey: queryKeys.tokens });
      void client.invalidateQueries({ queryKey: queryKeys.status });
      onCreated(token);
    },
    onError: (error) => {
      if (isApiError(error)) form.setErrors(byField(error.fields));
    },
  });
  return (
    <form noValidate onSubmit={form.onSubmit((values) => create.mutate(values))}>
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
          data={(providers ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          nothingFoundMessage={t("tokens.noProviders")}
          searchable
          clearable
          hidePickedOptions
          clearButtonProps={{ "aria-label": t("tokens.allProviders") }}
          {...form.getInputProps("providers")}
        />
        {create.isError && Object.keys(form.errors).length === 0 && (
          <Alert color="red" role="alert" title={t("tokens.createFailed")}>
            {errorText(create.error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {t("common.cancel")}
          </Button>
          <Button type="submit" loading={create.isPending}>
            {t("tokens.create")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** `providers.0` is shown beside `providers`. */
function byField(fields: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([path, message]) => [path.split(".")[0] ?? path, message]));
}

interface CreatedTokenProps {
  readonly created: NewToken;
  readonly onDone: () => void;
  readonly onStake: (stake: AtStake) => void;
}

function CreatedToken({ created: { token, providers: ids }, onDone, onStake }: CreatedTokenProps): ReactNode {
  const { t } = useTranslation();
  useEffect(() => onStake("shownOnce"), [onStake]);
  const { data: all } = useQuery(providersQuery);
  const usable = (all ?? []).filter(({ id }) => ids === null || ids.includes(id));
  return (
    <Stack>
      <Alert color="yellow" icon={<IconAlertTriangle />} title={t("tokens.shownOnce")}>
        {t("tokens.shownOnceHint")}
      </Alert>
      <TextInput
        label={t("tokens.token")}
        value={token}
        readOnly
        autoComplete="off"
        spellCheck={false}
        classNames={{ input: classes.token ?? "" }}
        onFocus={(event) => event.currentTarget.select()}
      />
      <Text size="sm">
        {t("tokens.useIt")}{" "}
        <Anchor component={Link} to={connectPath(usable)} size="sm" underline="always" target="_blank">
          {t("provider.connect")}
        </Anchor>
      </Text>
      <Group justify="flex-end">
        <CopyButton value={token} timeout={2_000}>
          {({ copied, copy }) => (
            <Button
              onClick={copy}
              data-autofocus
              {...(copied && { color: "teal" })}
              leftSection={copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
            >
              {copied ? t("common.copied") : t("tokens.copy")}
            </Button>
          )}
        </CopyButton>
        <Button variant="default" onClick={onDone}>
          {t("tokens.done")}
        </Button>
      </Group>
    </Stack>
  );
}
