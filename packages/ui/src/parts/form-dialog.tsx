import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { Dialog, type DialogProps } from "./dialog.tsx";

/** What would be lost with a dialog. */
export type AtStake = "nothing" | "typed" | "shownOnce";

export interface FormDialogProps extends Pick<DialogProps, "isOpen" | "onClose" | "title" | "size"> {
  /** @param onStake tells what would be lost; the dialog asks before it closes over anything */
  readonly children: (onStake: (stake: AtStake) => void) => ReactNode;
}

/** A dialog that holds what cannot be had again: a slip of the mouse or of a key does not close it. */
export function FormDialog({ isOpen, onClose, children, ...props }: FormDialogProps): ReactNode {
  const { t } = useTranslation();
  const [stake, setStake] = useState<AtStake>("nothing");
  const [isAsking, setAsking] = useState(false);
  // Closed by what is in it, it says nothing more of what is at stake.
  const [wasOpen, setWasOpen] = useState(isOpen);
  if (wasOpen !== isOpen) {
    setWasOpen(isOpen);
    setStake("nothing");
    setAsking(false);
  }
  return (
    // The stack gives Escape to the one on top alone.
    <Modal.Stack>
      <Dialog
        stackId="form"
        {...props}
        isOpen={isOpen}
        onClose={onClose}
        onDismiss={() => (stake === "nothing" ? onClose() : setAsking(true))}
        closeOnClickOutside={stake === "nothing"}
      >
        {children(setStake)}
      </Dialog>
      <Modal
        stackId="question"
        opened={isOpen && isAsking}
        onClose={() => setAsking(false)}
        title={t("common.discardHeading")}
        closeButtonProps={{ "aria-label": t("common.discardNot") }}
      >
        <Stack>
          <Text size="sm">{stake === "shownOnce" ? t("common.discardShownOnce") : t("common.discardTyped")}</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setAsking(false)} data-autofocus>
              {t("common.discardNot")}
            </Button>
            <Button color="red" onClick={onClose}>
              {t("common.discard")}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </Modal.Stack>
  );
}
