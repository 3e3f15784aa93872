import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { call } from "../../api/client.ts";
import type { Provider, Token } from "../../api/openapi.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { useNotify } from "../../parts/notify.ts";
import { useLastShown } from "../../parts/use-last-shown.ts";
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
  const shown = useLastShown(token);
  return (
    <FormDialog isOpen={token !== undefined} onClose={onClose} title={t("tokens.editHeading")}>
      {(onStake) =>
        shown && (
          <TokenForm
            token={shown}
            providers={providers}
            submitLabel={t("common.save")}
            failedTitle={t("tokens.editFailed")}
            onSubmit={async (terms) => {
              await call("PATCH /api/tokens/{id}", { params: { id: shown.id }, body: terms });
              await client.invalidateQueries({ queryKey: queryKeys.tokens });
              notify.done(t("tokens.edited", { name: terms.name }));
            }}
            onDone={onClose}
            onStake={onStake}
          />
        )
      }
    </FormDialog>
  );
}
