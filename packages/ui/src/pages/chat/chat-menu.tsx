import { ActionIcon, Menu } from "@mantine/core";
import { IconArchive, IconArchiveOff, IconDots, IconPencil, IconTrash } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Chat } from "./chat-store.ts";
import type { ChatDeeds } from "./use-chat-deeds.tsx";

export interface ChatMenuProps {
  readonly chat: Chat;
  readonly deeds: ChatDeeds;
  readonly className?: string | undefined;
}

export function ChatMenu({ chat, deeds, className }: ChatMenuProps): ReactNode {
  const { t } = useTranslation();
  const isClosed = chat.closedAt !== undefined;
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          className={className}
          aria-label={t("chat.actions", { title: chat.title })}
        >
          <IconDots size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconPencil size={16} />} onClick={() => deeds.rename(chat)}>
          {t("chat.rename")}
        </Menu.Item>
        {isClosed ? (
          <Menu.Item leftSection={<IconArchiveOff size={16} />} onClick={() => deeds.reopen(chat)}>
            {t("chat.reopen")}
          </Menu.Item>
        ) : (
          <Menu.Item leftSection={<IconArchive size={16} />} onClick={() => deeds.close(chat)}>
            {t("chat.close")}
          </Menu.Item>
        )}
        <Menu.Divider />
        <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => deeds.remove(chat)}>
          {t("common.delete")}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
