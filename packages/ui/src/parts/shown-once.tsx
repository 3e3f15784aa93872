import { Alert, Button, CopyButton, Group, Stack, TextInput } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconCopy } from "@tabler/icons-react";
import { useLayoutEffect, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { AtStake } from "./form-dialog.tsx";
import classes from "./shown-once.module.css";

export interface ShownOnceProps {
  readonly value: string;
  /** What it is, as the label of its field. */
  readonly label: string;
  readonly warning: { readonly title: string; readonly text: string };
  readonly words: { readonly copy: string; readonly done: string };
  readonly onDone: () => void;
  readonly onStake: (stake: AtStake) => void;
  /** Between it and the buttons. */
  readonly children?: ReactNode;
}

/** A secret that was just made, to be copied: it is not shown again. */
export function ShownOnce({ value, label, warning, words, onDone, onStake, children }: ShownOnceProps): ReactNode {
  const { t } = useTranslation();
  useLayoutEffect(() => onStake("shownOnce"), [onStake]);
  return (
    <Stack>
      <Alert color="yellow" icon={<IconAlertTriangle />} title={warning.title}>
        {warning.text}
      </Alert>
      <TextInput
        label={label}
        value={value}
        readOnly
        autoComplete="off"
        spellCheck={false}
        classNames={{ input: classes.value ?? "" }}
        onFocus={(event) => event.currentTarget.select()}
      />
      {children}
      <Group justify="flex-end">
        <CopyButton value={value} timeout={2_000}>
          {({ copied, copy }) => (
            <Button
              onClick={copy}
              data-autofocus
              {...(copied && { color: "teal" })}
              leftSection={copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
            >
              {copied ? t("common.copied") : words.copy}
            </Button>
          )}
        </CopyButton>
        <Button variant="default" onClick={onDone}>
          {words.done}
        </Button>
      </Group>
    </Stack>
  );
}
