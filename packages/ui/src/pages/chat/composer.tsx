import { ActionIcon, Text, Textarea, Tooltip } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconArrowUp, IconPlayerStopFilled } from "@tabler/icons-react";
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { drafts } from "./kept-words.ts";
import classes from "./composer.module.css";

export interface ComposerProps {
  /** Under which what is typed is kept. */
  readonly draftName: string;
  readonly isAnswering: boolean;
  /** @returns whether it was taken; if not, what was typed stays */
  readonly onSend: (text: string) => Promise<boolean>;
  readonly onStop: () => void;
}

/** Where the next question is typed. */
export function Composer({ draftName, isAnswering, onSend, onStop }: ComposerProps): ReactNode {
  const { t } = useTranslation();
  const [text, setText] = useState(() => drafts.of(draftName));
  const isSending = useRef(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useFocusWhereTyped(field);

  const change = (value: string): void => {
    setText(value);
    drafts.keep(draftName, value);
  };
  const send = async (): Promise<void> => {
    if (text.trim() === "" || isAnswering || isSending.current) return;
    isSending.current = true;
    try {
      // What is typed while it is on its way belongs to the next one.
      if (await onSend(text)) {
        setText((now) => rest(now, text));
        drafts.keep(draftName, rest(drafts.of(draftName), text));
      }
    } finally {
      isSending.current = false;
    }
  };
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Textarea
        ref={field}
        classNames={{ input: classes.input ?? "" }}
        aria-label={t("chat.message")}
        aria-describedby="chat-keys"
        placeholder={t("chat.placeholder")}
        autosize
        minRows={1}
        maxRows={10}
        value={text}
        onChange={(event) => change(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (!isSendKey(event)) return;
          event.preventDefault();
          void send();
        }}
      />
      <div className={classes.button}>
        {isAnswering ? (
          <Tooltip label={t("chat.stopHint")}>
            <ActionIcon size="lg" radius="xl" variant="default" onClick={onStop} aria-label={t("chat.stop")}>
              <IconPlayerStopFilled size={16} />
            </ActionIcon>
          </Tooltip>
        ) : (
          <ActionIcon size="lg" radius="xl" type="submit" disabled={text.trim() === ""} aria-label={t("chat.send")}>
            <IconArrowUp size={18} />
          </ActionIcon>
        )}
      </div>
      <Text id="chat-keys" size="xs" c="dimmed" ta="center" mt={6} visibleFrom="sm">
        {t("chat.keys")}
      </Text>
    </form>
  );
}

/**
 * Enter alone. While a syllable is being composed, Enter only completes it; Safari tells so by nothing but the old code.
 */
function isSendKey({ key, shiftKey, nativeEvent }: KeyboardEvent): boolean {
  // eslint-disable-next-line typescript/no-deprecated
  return key === "Enter" && !shiftKey && !nativeEvent.isComposing && nativeEvent.keyCode !== 229;
}

function rest(now: string, sent: string): string {
  return now.startsWith(sent) ? now.slice(sent.length) : now;
}

/** Where there is a keyboard, one can type at once; elsewhere the one on the screen would cover the page. */
function useFocusWhereTyped(field: { readonly current: HTMLTextAreaElement | null }): void {
  const hasPointer = useMediaQuery("(hover: hover) and (pointer: fine)", false, { getInitialValueInEffect: false });
  useEffect(() => {
    if (hasPointer) field.current?.focus();
  }, [hasPointer, field]);
}
