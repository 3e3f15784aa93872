import { Button, Loader, ScrollArea, Text, TextInput, Title } from "@mantine/core";
import { IconPlus, IconSearch } from "@tabler/icons-react";
import { type ReactNode, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import type { Provider } from "../../api/openapi.ts";
import { useFormat } from "../../format/format.ts";
import { isolated } from "../../format/isolated.ts";
import { ChatMenu } from "./chat-menu.tsx";
import type { ChatRoom } from "./chat-room.ts";
import type { Chat } from "./chat-store.ts";
import type { ChatDeeds } from "./use-chat-deeds.tsx";
import classes from "./chat-list.module.css";

/** From so many on, a list is searched rather than read. */
const searchFrom = 8;

export interface ChatListProps {
  readonly room: ChatRoom;
  readonly chats: readonly Chat[];
  readonly providers: readonly Provider[];
  readonly shownId: string | undefined;
  readonly deeds: ChatDeeds;
  /** Whether the page's heading stands elsewhere. */
  readonly isInDrawer?: boolean;
}

/** The chats of this browser: open ones, then those that were closed. */
export function ChatList(props: ChatListProps): ReactNode {
  const { chats, deeds, isInDrawer = false } = props;
  const { t } = useTranslation();
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const found = chats.filter(({ title }) => title.toLowerCase().includes(wanted));
  const open = found.filter(({ closedAt }) => closedAt === undefined);
  const closed = found.filter(({ closedAt }) => closedAt !== undefined);
  return (
    <div className={classes.panel}>
      {!isInDrawer && (
        <Title order={1} className={classes.heading}>
          {t("chat.heading")}
        </Title>
      )}
      <Button
        component={Link}
        to="/chat"
        variant="default"
        leftSection={<IconPlus size={16} />}
        className={classes.new}
      >
        {t("chat.new")}
      </Button>
      {chats.length >= searchFrom && (
        <TextInput
          type="search"
          size="xs"
          aria-label={t("chat.search")}
          placeholder={t("chat.search")}
          leftSection={<IconSearch size={14} />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          className={classes.search}
        />
      )}
      <ScrollArea className={classes.scroll} type="auto" scrollbarSize={8}>
        {wanted !== "" && found.length === 0 && (
          <Text size="sm" c="dimmed" px="sm">
            {t("chat.nothingFound", { search })}
          </Text>
        )}
        <Group {...props} label={t("chat.openOnes")} isNamed={closed.length > 0} chats={open} />
        <Group {...props} label={t("chat.closedOnes")} isNamed chats={closed} />
      </ScrollArea>
      <div className={classes.note}>
        <Text size="xs" c="dimmed">
          {t("chat.keptHere")}
        </Text>
        {chats.length > 0 && (
          <Button variant="subtle" color="red" size="compact-xs" mt={4} ml={-6} onClick={deeds.removeAll}>
            {t("chat.deleteAll")}
          </Button>
        )}
      </div>
    </div>
  );
}

interface GroupProps extends ChatListProps {
  readonly label: string;
  readonly isNamed: boolean;
}

function Group({ label, isNamed, chats, ...rest }: GroupProps): ReactNode {
  if (chats.length === 0) return null;
  return (
    <>
      {isNamed && (
        <Text size="xs" fw={600} c="dimmed" px="sm" pt="xs" pb={4} aria-hidden>
          {label}
        </Text>
      )}
      <ul className={classes.list} aria-label={label}>
        {chats.map((chat) => (
          <Entry key={chat.id} chat={chat} {...rest} />
        ))}
      </ul>
    </>
  );
}

function Entry({
  room,
  chat,
  providers,
  shownId,
  deeds,
}: Omit<ChatListProps, "chats"> & { readonly chat: Chat }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const isAnswering = useSyncExternalStore(room.subscribe, () => room.isAnswering(chat.id));
  const provider = providers.find(({ id }) => id === chat.providerId);
  return (
    <li className={classes.entry} data-shown={chat.id === shownId || undefined}>
      <Link
        to={`/chat/${chat.id}`}
        className={classes.link}
        aria-current={chat.id === shownId ? "page" : undefined}
        title={chat.title}
      >
        <span className={classes.title} dir="auto">
          {chat.title}
        </span>
        <span className={classes.about}>
          {isAnswering ? (
            <>
              <Loader size={10} aria-hidden /> {t("chat.answering")}
            </>
          ) : (
            [provider && isolated(provider.name), format.ago(new Date(chat.updatedAt).toISOString())]
              .filter(Boolean)
              .join(" · ")
          )}
        </span>
      </Link>
      <ChatMenu chat={chat} deeds={deeds} className={classes.menu} />
    </li>
  );
}
