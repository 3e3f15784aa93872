import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { call } from "../../api/client.ts";
import type { Token } from "../../api/openapi.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { isApiError } from "../../api/problem.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { useNotify } from "../../parts/notify.ts";
import { useLastShown } from "../../parts/use-last-shown.ts";

export interface RevokeTokenDialogProps {
  /** The dialog is open while there is one. */
  readonly token: Token | undefined;
  readonly onClose: () => void;
}

export function RevokeTokenDialog({ token, onClose }: RevokeTokenDialogProps): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const client = useQueryClient();
  const name = useLastShown(token)?.name ?? "";
  const revoke = async (): Promise<void> => {
    if (token === undefined) return;
    try {
      await call("DELETE /api/tokens/{id}", { params: { id: token.id } });
    } catch (error) {
      // Somebody else was quicker; that it is gone is what was wanted.
      if (!isApiError(error) || error.status !== 404) throw error;
    }
    await client.invalidateQueries({ queryKey: queryKeys.tokens });
    notify.done(t("tokens.revoked", { name }));
  };
  return (
    <ConfirmDialog
      isOpen={token !== undefined}
      onClose={onClose}
      title={t("tokens.revokeConfirm", { name })}
      confirmLabel={t("tokens.revoke")}
      onConfirm={revoke}
    >
      {t("tokens.revokeText")}
    </ConfirmDialog>
  );
}
