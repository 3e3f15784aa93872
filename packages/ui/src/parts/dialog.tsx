import { Button, Modal, type ModalProps, Text } from "@mantine/core";
import { Fragment, type ReactNode, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { DialogContext, useDialog } from "./dialog-context.ts";
import { useKeptFocus } from "./use-kept-focus.ts";
import { useLatest } from "./use-latest.ts";

export interface DialogProps extends Pick<ModalProps, "size" | "stackId" | "closeOnClickOutside"> {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Escape, a click outside, the button at the top; closes unless it is told otherwise. */
  readonly onDismiss?: () => void;
  readonly title: string;
  /** Made anew with every opening. */
  readonly children: ReactNode;
}

/**
 * A dialog that cannot be closed while a call of it is under way: what was sent is not taken back by it.
 *
 * @see useDialogCall
 */
export function Dialog({ isOpen, onClose, onDismiss, title, children, ...props }: DialogProps): ReactNode {
  const { t } = useTranslation();
  const [isBusy, setBusy] = useState(false);
  const [isTold, setTold] = useState(false);
  const [ends, setEnds] = useState(0);
  const note = useRef<HTMLParagraphElement>(null);
  useKeptFocus(note, isBusy, isOpen);
  const openings = useOpenings(isOpen);
  // How it stands at this instant, ahead of the drawing: two clicks may come before the first one is drawn.
  const now = useRef<{ isOpen: boolean; call: "none" | "running" | "ended" }>({ isOpen, call: "none" });
  useLayoutEffect(() => {
    now.current.isOpen = isOpen;
  });
  // Only once what the answer led to is drawn: until then the button that sent it is still there.
  useLayoutEffect(() => {
    now.current.call = "none";
  }, [ends]);

  const calls = useLatest({
    close: () => {
      if (!now.current.isOpen || now.current.call === "running") return;
      now.current.isOpen = false;
      onClose();
    },
    begin: () => {
      if (!now.current.isOpen || now.current.call !== "none") return false;
      now.current.call = "running";
      setBusy(true);
      return true;
    },
    end: () => {
      now.current.call = "ended";
      setEnds((count) => count + 1);
      setBusy(false);
      setTold(false);
    },
  });
  const handle = useMemo(() => ({ title, isBusy, ...calls }), [title, isBusy, calls]);
  const dismiss = (): void => {
    if (now.current.call === "running") setTold(true);
    else (onDismiss ?? calls.close)();
  };
  return (
    <Modal
      {...props}
      opened={isOpen}
      onClose={dismiss}
      title={title}
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <DialogContext value={handle}>
        <Fragment key={openings}>{children}</Fragment>
      </DialogContext>
      <Text ref={note} size="sm" c="dimmed" role="status" mt={isTold ? "sm" : 0}>
        {isTold && t("common.underWay")}
      </Text>
    </Modal>
  );
}

/** Closes the dialog around it, which is no way to take back what is under way. */
export function CancelButton(): ReactNode {
  const { t } = useTranslation();
  const { isBusy, close } = useDialog();
  return (
    <Button variant="default" disabled={isBusy} onClick={close}>
      {t("common.cancel")}
    </Button>
  );
}

/** How often it was opened. One that is opened while it still fades out holds nothing of what it was before. */
function useOpenings(isOpen: boolean): number {
  const [{ wasOpen, count }, setOpenings] = useState({ wasOpen: isOpen, count: 0 });
  const opened = !wasOpen && isOpen ? count + 1 : count;
  if (wasOpen !== isOpen) setOpenings({ wasOpen: isOpen, count: opened });
  return opened;
}
