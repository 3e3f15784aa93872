import { ActionBar, Button, Text } from "@mantine/core";
import { IconBan, IconCircleCheck, IconRefresh, IconTestPipe, IconTrash } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import type { KeyBulk } from "../../../api/openapi.ts";
import { ConfirmDialog } from "../../../parts/confirm-dialog.tsx";
import { useNotify } from "../../../parts/notify.ts";
import type { KeyActions } from "./use-key-actions.ts";

export interface BulkBarProps {
  readonly ids: readonly string[];
  readonly actions: KeyActions;
  readonly onTest: (ids: readonly string[]) => void;
  readonly onClear: () => void;
}

/** What can be done with all selected keys at once. */
export function BulkBar({ ids, actions, onTest, onClear }: BulkBarProps): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const [isAsking, setAsking] = useState(false);
  const run = async (action: KeyBulk["action"]): Promise<void> => {
    await actions.bulk({ action, ids: [...ids] });
    onClear();
  };
  const tryTo = (action: KeyBulk["action"]): void => {
    run(action).catch((error: unknown) => notify.failed(t("errors.failed"), error));
  };
  const count = ids.length;
  return (
    <>
      <ActionBar
        opened={count > 0}
        onClose={onClear}
        closeOnEscape
        role="region"
        aria-label={t("keys.selectedActions")}
        maw="calc(100vw - 1rem)"
        style={{ flexWrap: "wrap" }}
      >
        <Text size="sm" fw={600} role="status">
          {t("keys.selected", { count })}
        </Text>
        <ActionBar.Divider />
        <Button
          size="compact-sm"
          variant="subtle"
          leftSection={<IconCircleCheck size={15} />}
          onClick={() => tryTo("enable")}
        >
          {t("keys.bulkEnable")}
        </Button>
        <Button size="compact-sm" variant="subtle" leftSection={<IconBan size={15} />} onClick={() => tryTo("disable")}>
          {t("keys.bulkDisable")}
        </Button>
        <Button
          size="compact-sm"
          variant="subtle"
          leftSection={<IconRefresh size={15} />}
          onClick={() => tryTo("reset")}
        >
          {t("keys.bulkClear")}
        </Button>
        <Button
          size="compact-sm"
          variant="subtle"
          leftSection={<IconTestPipe size={15} />}
          onClick={() => {
            onTest(ids);
            onClear();
          }}
        >
          {t("keys.test")}
        </Button>
        <Button
          size="compact-sm"
          variant="subtle"
          color="red"
          leftSection={<IconTrash size={15} />}
          onClick={() => setAsking(true)}
        >
          {t("keys.bulkDelete")}
        </Button>
        <ActionBar.CloseButton aria-label={t("keys.clearSelection")} />
      </ActionBar>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={t("keys.bulkDeleteConfirm", { count })}
        confirmLabel={t("common.delete")}
        onConfirm={() => run("delete")}
      >
        {t("keys.bulkDeleteText")}
      </ConfirmDialog>
    </>
  );
}
