import { Alert, Button, Group, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";
import { useErrorText } from "../../api/error-text.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { CancelButton, Dialog } from "../../parts/dialog.tsx";
import { useDialog } from "../../parts/dialog-context.ts";
import { useNotify } from "../../parts/notify.ts";
import { useDialogCall } from "../../parts/use-dialog-call.ts";
import { useLatest } from "../../parts/use-latest.ts";
import type { ChatRoom } from "./chat-room.ts";
import type { Chat } from "./chat-store.ts";

/** What can be done with a chat as a whole. */
export interface ChatDeeds {
  readonly rename: (chat: Chat) => void;
  readonly close: (chat: Chat) => void;
  readonly reopen: (chat: Chat) => void;
  readonly remove: (chat: Chat) => void;
  /** All that this browser keeps. */
  readonly removeAll: () => void;
}

type Asked =
  | { readonly kind: "rename" | "remove"; readonly chat: Chat }
  | { readonly kind: "removeAll"; readonly chat?: undefined };

/** @returns the deeds, and the dialogs that they open, to be put somewhere in the page */
export function useChatDeeds(room: ChatRoom, shownId: string | undefined): readonly [ChatDeeds, ReactNode] {
  const { t } = useTranslation();
  const notify = useNotify();
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<Asked>();
  const [isOpen, setOpen] = useState(false);
  const open = (next: Asked): void => {
    setDialog(next);
    setOpen(true);
  };
  const closeDialog = (): void => setOpen(false);
  const chat = dialog?.chat;
  // Asked after a wait: another chat may be shown by then.
  const { isShown } = useLatest({ isShown: (id: string) => id === shownId });
  const deeds: ChatDeeds = {
    rename: (one) => open({ kind: "rename", chat: one }),
    remove: (one) => open({ kind: "remove", chat: one }),
    removeAll: () => open({ kind: "removeAll" }),
    close: (one) =>
      void room.close(one.id).then(
        () => {
          // The chat that is shown says so itself, where the notice would lie.
          if (!isShown(one.id)) notify.done(t("chat.closed"), t("chat.closedHint"));
        },
        (error: unknown) => notify.failed(t("chat.closeFailed"), error),
      ),
    reopen: (one) => void room.reopen(one.id).catch((error: unknown) => notify.failed(t("errors.failed"), error)),
  };
  const leaveChat = (): void => void navigate("/chat", { replace: true });
  const dialogs = (
    <>
      <RenameDialog
        key={chat?.id}
        chat={dialog?.kind === "rename" ? chat : undefined}
        isOpen={isOpen && dialog?.kind === "rename"}
        onClose={closeDialog}
        onRename={(title) => room.rename(chat?.id ?? "", title)}
      />
      <ConfirmDialog
        isOpen={isOpen && dialog?.kind === "remove"}
        onClose={closeDialog}
        title={t("chat.deleteConfirm", { title: chat?.title ?? "" })}
        confirmLabel={t("common.delete")}
        onConfirm={async () => chat && room.remove(chat.id)}
        onDone={() => {
          if (chat && isShown(chat.id)) leaveChat();
        }}
      >
        {t("chat.deleteText")}
      </ConfirmDialog>
      <ConfirmDialog
        isOpen={isOpen && dialog?.kind === "removeAll"}
        onClose={closeDialog}
        title={t("chat.deleteAllConfirm")}
        confirmLabel={t("chat.deleteAll")}
        onConfirm={() => room.removeAll()}
        onDone={leaveChat}
      >
        {t("chat.deleteAllText")}
      </ConfirmDialog>
    </>
  );
  return [deeds, dialogs];
}

interface RenameDialogProps {
  readonly chat: Chat | undefined;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onRename: (title: string) => Promise<void>;
}

function RenameDialog({ chat, isOpen, onClose, onRename }: RenameDialogProps): ReactNode {
  const { t } = useTranslation();
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={t("chat.renameHeading")}>
      <RenameForm title={chat?.title ?? ""} onRename={onRename} />
    </Dialog>
  );
}

interface RenameFormProps extends Pick<RenameDialogProps, "onRename"> {
  readonly title: string;
}

function RenameForm({ title, onRename }: RenameFormProps): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const { isBusy, close } = useDialog();
  const { run, error } = useDialogCall({ send: onRename, onDone: close });
  const form = useForm({
    initialValues: { title },
    validate: { title: (value) => (value.trim() === "" ? t("chat.titleMissing") : null) },
  });
  return (
    <form noValidate onSubmit={form.onSubmit((values) => run(values.title.trim()))}>
      <Stack>
        <TextInput label={t("chat.title")} data-autofocus maxLength={120} {...form.getInputProps("title")} />
        {error !== null && (
          <Alert color="red" role="alert">
            {errorText(error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <CancelButton />
          <Button type="submit" loading={isBusy}>
            {t("common.save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
