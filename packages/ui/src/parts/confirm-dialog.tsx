import { Alert, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useErrorText } from "../api/error-text.ts";

export interface ConfirmDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Names the thing: "Delete Key A?". */
  readonly title: string;
  /** The consequence. */
  readonly children: ReactNode;
  readonly confirmLabel: string;
  readonly color?: string;
  /** The dialog closes when it is done, and stays with the error when it fails. */
  readonly onConfirm: () => Promise<unknown>;
}

/** Asks before what cannot be undone. */
export function ConfirmDialog(props: ConfirmDialogProps): ReactNode {
  const { isOpen, onClose, title, children, confirmLabel, color = "red", onConfirm } = props;
  const { t } = useTranslation();
  const errorText = useErrorText();
  const action = useMutation({ mutationFn: onConfirm, onSuccess: onClose });
  const close = (): void => {
    action.reset();
    onClose();
  };
  return (
    <Modal opened={isOpen} onClose={close} title={title} closeButtonProps={{ "aria-label": t("common.close") }}>
      <Stack>
        <Text size="sm">{children}</Text>
        {action.isError && (
          <Alert color="red" role="alert">
            {errorText(action.error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            {t("common.cancel")}
          </Button>
          <Button color={color} loading={action.isPending} onClick={() => action.mutate()}>
            {confirmLabel}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
