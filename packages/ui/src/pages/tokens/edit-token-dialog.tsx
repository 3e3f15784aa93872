import { Modal } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { call } from "../../api/client.ts";
import type { Provider, Token } from "../../api/openapi.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { useNotify } from "../../parts/notify.ts";
import { TokenForm } from "./token-form.tsx";

export interface EditTokenDialogProps {
  /** The dialog is open while there is one. */
  readonly token: Token | undefined;
  readonly providers: readonly Provider[];
  readonly onClose: () => void;
}

/** Changes what a token is good for; the token itself stays, and so do its clients. */
export function EditTokenDialog({ token, providers, onClose }: EditTokenDialogProps): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const client = useQueryClient();
  // The dialog fades out with the token that it had.
  const [shown, setShown] = useState(token);
  if (token !== undefined && token !== shown) setShown(token);
  return (
    <Modal
      opened={token !== undefined}
      onClose={onClose}
      title={t("tokens.editHeading")}
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      {shown && (
        <TokenForm
          key={shown.id}
          token={shown}
          providers={providers}
          submitLabel={t("common.save")}
          failedTitle={t("tokens.editFailed")}
          onSubmit={async (terms) => {
            await call("PATCH /api/tokens/{id}", { params: { id: shown.id }, body: terms });
            await client.invalidateQueries({ queryKey: queryKeys.tokens });
            notify.done(t("tokens.edited", { name: terms.name }));
            onClose();
          }}
          onCancel={onClose}
        />
      )}
    </Modal>
  );
}
