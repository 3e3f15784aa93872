import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useErrorText } from "../api/error-text.ts";
import { Dialog } from "./dialog.tsx";
import { useDialog } from "./dialog-context.ts";
import { useDialogCall } from "./use-dialog-call.ts";

interface QuestionProps {
  /** The consequence. */
  readonly children: ReactNode;
  readonly confirmLabel: string;
  readonly color?: string;
  /** The dialog closes when it is done, and stays with the error when it fails. */
  readonly onConfirm: () => Promise<unknown>;
  /** Done, and the person is still here: the place to lead on. */
  readonly onDone?: () => void;
}

export interface ConfirmDialogProps extends QuestionProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Names the thing: "Delete Key A?". */
  readonly title: string;
}

/** Asks before what cannot be undone. */
export function ConfirmDialog({ isOpen, onClose, title, ...question }: ConfirmDialogProps): ReactNode {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={title}>
      <Question {...question} />
    </Dialog>
  );
}

function Question({ children, confirmLabel, color = "red", onConfirm, onDone }: QuestionProps): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const { isBusy, close } = useDialog();
  const { run, error } = useDialogCall({
    send: onConfirm,
    onDone: () => {
      close();
      onDone?.();
    },
  });
  return (
    <Stack>
      <Text size="sm">{children}</Text>
      {error !== null && (
        <Alert color="red" role="alert">
          {errorText(error)}
        </Alert>
      )}
      <Group justify="flex-end">
        <Button variant="default" disabled={isBusy} onClick={close} data-autofocus>
          {t("common.cancel")}
        </Button>
        <Button color={color} loading={isBusy} onClick={() => run()}>
          {confirmLabel}
        </Button>
      </Group>
    </Stack>
  );
}
