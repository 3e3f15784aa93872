import { ActionBar, Button, Text } from "@mantine/core";
import { IconBan, IconCircleCheck, IconRefresh, IconTestPipe, IconTrash } from "@tabler/icons-react";
import { useWindowEvent } from "@mantine/hooks";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import type { KeyBulk } from "../../../api/openapi.ts";
import { ConfirmDialog } from "../../../parts/confirm-dialog.tsx";
import { useNotify } from "../../../parts/notify.ts";
import { useLastShown } from "../../../parts/use-last-shown.ts";
import type { KeyActions } from "./use-key-actions.ts";

export interface BulkBarProps {
  readonly ids: readonly string[];
  /** Those of them that the filter leaves out. */
  readonly hiddenIds: readonly string[];
  readonly actions: KeyActions;
  readonly onTest: (ids: readonly string[]) => void;
  readonly onDeselect: (ids: readonly string[]) => void;
}

/** Whether Escape has something nearer to close, or brings back what stood in a field. */
function isMeantElsewhere(target: EventTarget | null): boolean {
  const isTyping = target instanceof HTMLInputElement && target.type !== "checkbox";
  return isTyping || document.querySelector("[role=dialog], [role=menu]") !== null;
}

/** What a question is about: what is selected behind it may change. */
interface Asked {
  readonly ids: readonly string[];
  readonly hidden: number;
}

/** What can be done with all selected keys at once. */
export function BulkBar({ ids, hiddenIds, actions, onTest, onDeselect }: BulkBarProps): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const [asked, setAsked] = useState<Asked>();
  const shown = useLastShown(asked);
  const run = async (action: KeyBulk["action"], of: readonly string[]): Promise<void> => {
    await actions.bulk({ action, ids: [...of] });
    // What was selected meanwhile stays selected.
    onDeselect(of);
  };
  const tryTo = (action: KeyBulk["action"]): void => {
    run(action, ids).catch((error: unknown) => notify.failed(t("errors.failed"), error));
  };
  const hidden = hiddenIds.length;
  const clear = (): void => onDeselect(ids);
  useWindowEvent(
    "keydown",
    (event) => {
      if (event.key === "Escape" && !event.isComposing && !isMeantElsewhere(event.target)) clear();
    },
    // Before what it is meant for is closed by it.
    { capture: true },
  );
  return (
    <>
      <ActionBar
        opened={ids.length > 0}
        onClose={clear}
        role="region"
        aria-label={t("keys.selectedActions")}
        maw="calc(100vw - 1rem)"
        style={{ flexWrap: "wrap" }}
      >
        <Text size="sm" fw={600} role="status">
          {t("keys.selected", { count: ids.length })}
          {hidden > 0 && ` · ${t("keys.selectedHidden", { count: hidden })}`}
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
            clear();
          }}
        >
          {t("keys.test")}
        </Button>
        <Button
          size="compact-sm"
          variant="subtle"
          color="red"
          leftSection={<IconTrash size={15} />}
          onClick={() => setAsked({ ids, hidden })}
        >
          {t("keys.bulkDelete")}
        </Button>
        <ActionBar.CloseButton aria-label={t("keys.clearSelection")} />
      </ActionBar>
      <ConfirmDialog
        isOpen={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title={t("keys.bulkDeleteConfirm", { count: shown?.ids.length ?? 0 })}
        confirmLabel={t("common.delete")}
        onConfirm={() => run("delete", shown?.ids ?? [])}
      >
        {shown !== undefined && shown.hidden > 0 && (
          <Text size="sm" fw={600} component="span" display="block" mb="xs">
            {t("keys.bulkDeleteHidden", { count: shown.hidden })}
          </Text>
        )}
        {t("keys.bulkDeleteText")}
      </ConfirmDialog>
    </>
  );
}
