import { Alert, Button, Stack } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useErrorText } from "../api/error-text.ts";

/** In the place of what could not be loaded. */
export function LoadFailed({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  return (
    <Alert color="red" icon={<IconAlertTriangle />} title={t("errors.loadFailed")}>
      <Stack align="flex-start" gap="sm">
        {errorText(error)}
        <Button size="xs" variant="default" onClick={onRetry}>
          {t("common.retry")}
        </Button>
      </Stack>
    </Alert>
  );
}
