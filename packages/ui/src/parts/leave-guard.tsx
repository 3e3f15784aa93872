import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { type Location, useBeforeUnload, useBlocker } from "react-router";

/** Of a navigation that nobody is to be asked about: what was at stake is gone, or the person has decided. */
export const decided = { isDecided: true } as const;

export interface LeaveGuardProps {
  /** Whether something would be lost. */
  readonly isDirty: boolean;
  /** Whether what was typed is still there at that place. */
  readonly isSamePlace: (next: Location) => boolean;
}

/** Asks before a page is left on which something was typed and not saved. One to a page: a router knows one at a time. */
export function LeaveGuard({ isDirty, isSamePlace }: LeaveGuardProps): ReactNode {
  const { t } = useTranslation();
  const blocker = useBlocker(({ nextLocation }) => {
    const isDecided = (nextLocation.state as Partial<typeof decided> | null)?.isDecided === true;
    return isDirty && !isDecided && !isSamePlace(nextLocation);
  });
  useBeforeUnload((event) => {
    if (isDirty) event.preventDefault();
  });
  return (
    <Modal
      opened={blocker.state === "blocked"}
      onClose={() => blocker.reset?.()}
      title={t("common.leaveHeading")}
      closeButtonProps={{ "aria-label": t("common.leaveNot") }}
    >
      <Stack>
        <Text size="sm">{t("common.discardTyped")}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={() => blocker.reset?.()} data-autofocus>
            {t("common.leaveNot")}
          </Button>
          <Button color="red" onClick={() => blocker.proceed?.()}>
            {t("common.leave")}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
