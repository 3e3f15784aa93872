import { Anchor, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import type { NewToken } from "../../api/openapi.ts";
import { providersQuery } from "../../api/queries.ts";
import { type AtStake, FormDialog } from "../../parts/form-dialog.tsx";
import { useNotify } from "../../parts/notify.ts";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { queryKeys } from "../../api/query-keys.ts";
import { connectPath } from "./token-facts.ts";
import { TokenForm } from "./token-form.tsx";

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
  const { data: all } = useQuery(providersQuery);
  const usable = (all ?? []).filter(({ id }) => ids === null || ids.includes(id));
  return (
    <ShownOnce
      value={token}
      label={t("tokens.token")}
      warning={{ title: t("tokens.shownOnce"), text: t("tokens.shownOnceHint") }}
      words={{ copy: t("tokens.copy"), done: t("tokens.done") }}
      onDone={onDone}
      onStake={onStake}
    >
      <Text size="sm">
        {t("tokens.useIt")}{" "}
        <Anchor component={Link} to={connectPath(usable)} size="sm" underline="always" target="_blank">
          {t("provider.connect")}
        </Anchor>
      </Text>
    </ShownOnce>
  );
}
