import { Button, Group, Modal, type ModalProps, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

export interface DiscardQuestionProps extends Pick<ModalProps, "stackId"> {
  readonly isOpen: boolean;
  readonly title: string;
  readonly children: ReactNode;
  readonly stayLabel: string;
  readonly discardLabel: string;
  readonly onStay: () => void;
  readonly onDiscard: () => void;
}

/** Asks before something that was not saved, or is shown only once, is lost. */
export function DiscardQuestion(props: DiscardQuestionProps): ReactNode {
  const { isOpen, title, children, stayLabel, discardLabel, onStay, onDiscard, ...stack } = props;
  return (
    <Modal {...stack} opened={isOpen} onClose={onStay} title={title} closeButtonProps={{ "aria-label": stayLabel }}>
      <Stack>
        <Text size="sm">{children}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onStay} data-autofocus>
            {stayLabel}
          </Button>
          <Button color="red" onClick={onDiscard}>
            {discardLabel}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
