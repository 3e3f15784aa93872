import { Button, EmptyState } from "@mantine/core";
import { IconMapOff } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

export function NotFoundPage(): ReactNode {
  const { t } = useTranslation();
  return (
    <EmptyState py="xl" icon={<IconMapOff />} title={t("errors.notFoundPage")}>
      <EmptyState.Actions>
        <Button component={Link} to="/settings/providers">
          {t("errors.toProviders")}
        </Button>
      </EmptyState.Actions>
    </EmptyState>
  );
}
