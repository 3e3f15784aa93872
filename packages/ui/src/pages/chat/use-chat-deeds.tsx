import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { useNotify } from "../../parts/notify.ts";
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

type Dialog =
  | { readonly kind: "rename" | "remove"; readonly chat: Chat }
  | { readonly kind: "removeAll"; readonly chat?: undefined };

/** @returns the deeds, and the dialogs that they open, to be put somewhere in the page */
export function useChatDeeds(room: ChatRoom, shownId: string | undefined): readonly [ChatDeeds, ReactNode] {
  const { t } = useTranslation();
  const notify = useNotify();
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<Dialog>();
  const [isOpen, setOpen] = useState(false);
  const open = (next: Dialog): void => {
    setDialog(next);
    setOpen(true);
  };
  const closeDialog = (): void => setOpen(false);
  const chat = dialog?.chat;
  const deeds: ChatDeeds = {
    rename: (one) => open({ kind: "rename", chat: one }),
    remove: (one) => open({ kind: "remove", chat: one }),
    removeAll: () => open({ kind: "removeAll" }),
    close: (one) =>
      void room.close(one.id).then(
        () => {
          // The chat that is shown says so itself, where the notice would lie.
          if (one.id !== shownId) notify.done(t("chat.closed"), t("chat.closedHint"));
        },
        (error: unknown) => notify.failed(t("chat.closeFailed"), error),
      ),
    reopen: (one) => void room.reopen(one.id).catch((error: unknown) => notify.failed(t("errors.failed"), error)),
  };
  const remove = async (): Promise<void> => {
    if (!chat) return;
    await room.remove(chat.id);
    if (chat.id === shownId) await navigate("/chat", { replace: true });
  };
  const removeAll = async (): Promise<void> => {
    await room.removeAll();
    await navigate("/chat", { replace: true });
  };
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
        onConfirm={remove}
      >
        {t("chat.deleteText")}
      </ConfirmDialog>
      <ConfirmDialog
        isOpen={isOpen && dialog?.kind === "removeAll"}
        onClose={closeDialog}
        title={t("chat.deleteAllConfirm")}
        confirmLabel={t("chat.deleteAll")}
        onConfirm={removeAll}
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
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={t("chat.renameHeading")}
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <RenameForm title={chat?.title ?? ""} onRename={onRename} onClose={onClose} />
    </Modal>
  );
}

function RenameForm({
  title,
  onRename,
  onClose,
}: Pick<RenameDialogProps, "onRename" | "onClose"> & { readonly title: string }): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const form = useForm({
    initialValues: { title },
    validate: { title: (value) => (value.trim() === "" ? t("chat.titleMissing") : null) },
  });
  const rename = (value: string): void =>
    void onRename(value.trim()).then(onClose, (error: unknown) => notify.failed(t("errors.failed"), error));
  return (
    <form noValidate onSubmit={form.onSubmit((values) => rename(values.title))}>
      <Stack>
        <TextInput label={t("chat.title")} data-autofocus maxLength={120} {...form.getInputProps("title")} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("common.cancel")}
          </Button>
          <Button type="submit">{t("common.save")}</Button>
        </Group>
      </Stack>
    </form>
  );
}
