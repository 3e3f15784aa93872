import { Alert, Anchor, Button, CopyButton, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { IconAlertTriangle, IconCheck, IconCopy } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import type { NewToken } from "../../api/openapi.ts";
import { providersQuery } from "../../api/queries.ts";
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
    <Modal
      opened={isOpen}
      onClose={close}
      title={isShown ? t("tokens.createdHeading") : t("tokens.createHeading")}
      closeButtonProps={{ "aria-label": t("common.close") }}
      // A slip of the mouse must not cost the only sight of it.
      closeOnClickOutside={!isShown}
    >
      <Steps onCreated={() => setShown(true)} onDone={close} />
    </Modal>
  );
}

function Steps({ onCreated, onDone }: { readonly onCreated: () => void; readonly onDone: () => void }): ReactNode {
  const { t } = useTranslation();
  const client = useQueryClient();
  const { data: providers } = useQuery(providersQuery);
  const [created, setCreated] = useState<NewToken>();
  if (created) return <CreatedToken created={created} onDone={onDone} />;
  return (
    <TokenForm
      providers={providers ?? []}
      submitLabel={t("tokens.create")}
      failedTitle={t("tokens.createFailed")}
      onSubmit={async (terms) => {
        const token = await call("POST /api/tokens", { body: terms });
        void client.invalidateQueries({ queryKey: queryKeys.tokens });
        void client.invalidateQueries({ queryKey: queryKeys.status });
        setCreated(token);
        onCreated();
      }}
      onCancel={onDone}
    />
  );
}

interface CreatedTokenProps {
  readonly created: NewToken;
  readonly onDone: () => void;
}

function CreatedToken({ created: { token, providers: ids }, onDone }: CreatedTokenProps): ReactNode {
  const { t } = useTranslation();
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
        <Anchor component={Link} to={connectPath(usable)} size="sm" underline="always" onClick={onDone}>
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
