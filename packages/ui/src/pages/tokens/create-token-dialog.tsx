import { Alert, Anchor, Button, CopyButton, Group, Stack, Text, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { IconAlertTriangle, IconCheck, IconCopy } from "@tabler/icons-react";
import { useLayoutEffect, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import type { NewToken } from "../../api/openapi.ts";
import { providersQuery } from "../../api/queries.ts";
import { type AtStake, FormDialog } from "../../parts/form-dialog.tsx";
import { useNotify } from "../../parts/notify.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { connectPath } from "./token-facts.ts";
import { TokenForm } from "./token-form.tsx";
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
  const { t } = useTranslation();
  const notify = useNotify();
  const client = useQueryClient();
  const { data: providers } = useQuery(providersQuery);
  const [created, setCreated] = useState<NewToken>();
  if (created) return <CreatedToken created={created} onDone={onDone} onStake={onStake} />;
  return (
    <TokenForm
      providers={providers ?? []}
      submitLabel={t("tokens.create")}
      failedTitle={t("tokens.createFailed")}
      onSubmit={async (terms) => {
        const token = await call("POST /api/tokens", { body: terms });
        void client.invalidateQueries({ queryKey: queryKeys.tokens });
        void client.invalidateQueries({ queryKey: queryKeys.status });
        return token;
      }}
      onDone={(token) => {
        setCreated(token);
        onCreated();
      }}
      onMissed={({ name }) => notify.warn(t("tokens.neverShown", { name }), t("tokens.neverShownHint"))}
      onStake={onStake}
    />
  );
}

interface CreatedTokenProps {
  readonly created: NewToken;
  readonly onDone: () => void;
  readonly onStake: (stake: AtStake) => void;
}

function CreatedToken({ created: { token, providers: ids }, onDone, onStake }: CreatedTokenProps): ReactNode {
  const { t } = useTranslation();
  useLayoutEffect(() => onStake("shownOnce"), [onStake]);
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
