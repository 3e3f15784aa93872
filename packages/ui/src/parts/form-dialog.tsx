import { Modal } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { Dialog, type DialogProps } from "./dialog.tsx";
import { DiscardQuestion } from "./discard-question.tsx";

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
      <DiscardQuestion
        stackId="question"
        isOpen={isOpen && isAsking}
        title={t("common.discardHeading")}
        stayLabel={t("common.discardNot")}
        discardLabel={t("common.discard")}
        onStay={() => setAsking(false)}
        onDiscard={onClose}
      >
        {stake === "shownOnce" ? t("common.discardShownOnce") : t("common.discardTyped")}
      </DiscardQuestion>
    </Modal.Stack>
  );
}
