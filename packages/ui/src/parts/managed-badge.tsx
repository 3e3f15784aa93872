import { Badge } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

/** Beside what the file of configuration has made: it is changed there. */
export function ManagedBadge({ by }: { readonly by: "file" | null }): ReactNode {
  const { t } = useTranslation();
  if (by === null) return null;
  return (
    <Badge size="sm" variant="default" tt="none" fw={500} title={t("common.managedHint")}>
      {t("common.managed")}
    </Badge>
  );
}
