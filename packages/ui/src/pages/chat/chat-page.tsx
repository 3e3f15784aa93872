import { ActionIcon, Button, Center, Drawer, EmptyState, Group, Skeleton, Title, VisuallyHidden } from "@mantine/core";
import { useDisclosure, useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { IconList, IconMessageOff, IconServer2 } from "@tabler/icons-react";
import { type ReactNode, useEffect } from "react";
import { useTranslation } from "react-i18next";
import { Link, useParams } from "react-router";
import type { Provider } from "../../api/openapi.ts";
import { providersQuery } from "../../api/queries.ts";
import { LoadFailed } from "../../parts/load-failed.tsx";
import { Page } from "../../parts/page.tsx";
import { ChatList } from "./chat-list.tsx";
import type { Chat } from "./chat-store.ts";
import { Conversation } from "./conversation.tsx";
import { useChatDeeds } from "./use-chat-deeds.tsx";
import { chatsQuery, useChatRoom } from "./use-chat-room.ts";
import classes from "./chat-page.module.css";

/** Talks to a provider through the gateway. */
export function ChatPage(): ReactNode {
  const { t } = useTranslation();
  const room = useChatRoom();
  const providers = useQuery(providersQuery);
  const chats = useQuery(chatsQuery(room));
  const error = providers.error ?? chats.error;
  if (providers.data?.length === 0 && chats.data?.length === 0) {
    return (
      <Page title={t("chat.heading")}>
        <NoProvider />
      </Page>
    );
  }
  if (providers.data && chats.data) return <Chats providers={providers.data} chats={chats.data} />;
  return (
    <Page title={t("chat.heading")}>
      {error ? (
        <LoadFailed
          error={error}
          onRetry={() => {
            void providers.refetch();
            void chats.refetch();
          }}
        />
      ) : (
        <Skeleton h={320} radius="md" aria-busy />
      )}
    </Page>
  );
}

interface ChatsProps {
  readonly providers: readonly Provider[];
  readonly chats: readonly Chat[];
}

function Chats({ providers, chats }: ChatsProps): ReactNode {
  const { t } = useTranslation();
  const room = useChatRoom();
  const { id } = useParams();
  const chat = chats.find((one) => one.id === id);
  const [deeds, dialogs] = useChatDeeds(room, id);
  const isWide = useMediaQuery("(min-width: 75em)", false, { getInitialValueInEffect: false });
  const [isListOpen, { open, close }] = useDisclosure();
  useEffect(() => close(), [id, isWide, close]);
  const list = { room, chats, providers, shownId: id, deeds };
  const title = chat === undefined ? t("chat.heading") : `${chat.title} · ${t("chat.heading")}`;
  const listButton = !isWide && (
    <ActionIcon variant="default" size="lg" onClick={open} aria-label={t("chat.list")} aria-expanded={isListOpen}>
      <IconList size={18} />
    </ActionIcon>
  );
  return (
    <div className={classes.page}>
      <title>{`${title} · Keywheel`}</title>
      {isWide ? (
        <aside className={classes.list} aria-label={t("chat.list")}>
          <ChatList {...list} />
        </aside>
      ) : (
        <>
          <VisuallyHidden>
            <Title order={1}>{t("chat.heading")}</Title>
          </VisuallyHidden>
          <Drawer
            opened={isListOpen}
            onClose={close}
            title={t("chat.list")}
            size={320}
            closeButtonProps={{ "aria-label": t("common.close") }}
            classNames={{ content: classes.drawer ?? "", body: classes.drawerBody ?? "" }}
            attributes={{ header: { role: "presentation" } }}
          >
            <ChatList {...list} isInDrawer />
          </Drawer>
        </>
      )}
      {id !== undefined && chat === undefined ? (
        <Gone>{listButton}</Gone>
      ) : (
        <Conversation
          key={id ?? "new"}
          room={room}
          chat={chat}
          providers={providers}
          deeds={deeds}
          listButton={listButton}
        />
      )}
      {dialogs}
    </div>
  );
}

function NoProvider(): ReactNode {
  const { t } = useTranslation();
  return (
    <EmptyState
      variant="light"
      icon={<IconServer2 />}
      title={t("providers.emptyHeading")}
      description={t("chat.noProvider")}
      py="xl"
    >
      <EmptyState.Actions>
        <Button component={Link} to="/settings/providers">
          {t("providers.add")}
        </Button>
      </EmptyState.Actions>
    </EmptyState>
  );
}

/** It was deleted, perhaps in another tab, or lies in another browser. */
function Gone({ children }: { readonly children: ReactNode }): ReactNode {
  const { t } = useTranslation();
  return (
    <Center className={classes.gone}>
      <EmptyState icon={<IconMessageOff />} title={t("chat.gone")} description={t("chat.goneHint")}>
        <EmptyState.Actions>
          <Group justify="center">
            {children}
            <Button component={Link} to="/chat">
              {t("chat.new")}
            </Button>
          </Group>
        </EmptyState.Actions>
      </EmptyState>
    </Center>
  );
}
