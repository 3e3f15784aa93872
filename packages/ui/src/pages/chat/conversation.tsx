import { ActionIcon, Alert, Button, EmptyState, Group, Skeleton, Text, Title, VisuallyHidden } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconAlertTriangle, IconArrowDown, IconMessages } from "@tabler/icons-react";
import type { TFunction } from "i18next";
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";
import type { Provider } from "../../api/openapi.ts";
import { LoadFailed } from "../../parts/load-failed.tsx";
import { AddresseeFields } from "./addressee-fields.tsx";
import { ChatMenu } from "./chat-menu.tsx";
import type { ChatRoom } from "./chat-room.ts";
import { type AnswerPatch, type AnswerTurn, type Chat, ChatConflict, type Turn } from "./chat-store.ts";
import { Composer } from "./composer.tsx";
import { Answer, Question } from "./turn.tsx";
import { useAddressee } from "./use-addressee.ts";
import type { ChatDeeds } from "./use-chat-deeds.tsx";
import { turnsQuery, useComing } from "./use-chat-room.ts";
import { useStickToEnd } from "./use-stick-to-end.ts";
import classes from "./conversation.module.css";

export interface ConversationProps {
  readonly room: ChatRoom;
  /** Undefined for one that begins with its first question. */
  readonly chat: Chat | undefined;
  readonly providers: readonly Provider[];
  readonly deeds: ChatDeeds;
  /** Opens the list of chats where there is no room for it beside. */
  readonly listButton: ReactNode;
}

const noTurns: readonly Turn[] = [];

/** One chat: what was said, and where one goes on. */
export function Conversation({ room, chat, providers, deeds, listButton }: ConversationProps): ReactNode {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const chatId = chat?.id ?? "";
  const { data, error, refetch } = useQuery({ ...turnsQuery(room, chatId), enabled: chat !== undefined });
  const coming = useComing(room, chatId);
  const turns = withComing(data ?? noTurns, coming);
  const to = useAddressee(chat, providers);
  const [problem, setProblem] = useState<string>();
  const last = turns.at(-1);
  const isAnswering = coming?.state === undefined ? coming !== undefined : false;
  const isBusy = isAnswering || (last?.role === "assistant" && last.state === "streaming");

  const attempt = async (work: () => Promise<unknown>): Promise<boolean> => {
    setProblem(undefined);
    try {
      await work();
      return true;
    } catch (cause) {
      setProblem(
        cause instanceof ChatConflict ? conflictText(cause.reason, t) : t("chat.notKept", { reason: String(cause) }),
      );
      return false;
    }
  };
  const send = async (text: string): Promise<boolean> => {
    const addressee = to.complete();
    if (addressee === undefined) return false;
    if (chat !== undefined) return attempt(() => room.ask(chat.id, text, addressee));
    return attempt(async () => navigate(`/chat/${await room.start(text, addressee)}`, { replace: true }));
  };
  const retry = (turn: AnswerTurn): void => {
    const addressee = to.complete();
    if (addressee !== undefined) void attempt(() => room.retry(turn, addressee));
  };
  const stop = (): void => void room.stop(chatId);

  return (
    <section
      className={classes.conversation}
      aria-label={chat?.title ?? t("chat.new")}
      onKeyDown={(event) => {
        if (isBusy && isStopKey(event)) stop();
      }}
    >
      <header className={classes.header}>
        <Group gap="xs" wrap="nowrap" className={classes.titleLine}>
          {listButton}
          <Title order={2} className={classes.title} title={chat?.title}>
            {chat?.title ?? t("chat.new")}
          </Title>
          {chat && <ChatMenu chat={chat} deeds={deeds} />}
        </Group>
        <div className={classes.fields}>
          <AddresseeFields {...to.fields} providers={providers} />
        </div>
      </header>
      <Log
        room={room}
        turns={turns}
        providers={providers}
        isBusy={isBusy}
        onRetry={chat?.closedAt === undefined ? retry : undefined}
      >
        {error && <LoadFailed error={error} onRetry={() => void refetch()} />}
        {chat !== undefined && data === undefined && !error && <Skeleton h={80} radius="md" aria-busy />}
        {chat === undefined && <Greeting />}
      </Log>
      <footer className={classes.footer}>
        <div className={classes.column}>
          {problem !== undefined && (
            <Alert
              color="red"
              role="alert"
              icon={<IconAlertTriangle />}
              mb="xs"
              withCloseButton
              closeButtonLabel={t("common.close")}
              onClose={() => setProblem(undefined)}
            >
              {problem}
            </Alert>
          )}
          {chat?.closedAt === undefined ? (
            <Composer draftName={chat?.id ?? "new"} isAnswering={isBusy} onSend={send} onStop={stop} />
          ) : (
            <Closed onReopen={() => deeds.reopen(chat)} />
          )}
        </div>
      </footer>
    </section>
  );
}

/** Escape, where it is for nothing else: neither a menu or list that is open, nor a syllable that is being composed. */
function isStopKey({ key, target, currentTarget, nativeEvent }: KeyboardEvent<HTMLElement>): boolean {
  if (key !== "Escape" || nativeEvent.isComposing || !(target instanceof HTMLElement)) return false;
  return currentTarget.contains(target) && target.getAttribute("aria-expanded") !== "true";
}

function conflictText(reason: ChatConflict["reason"], t: TFunction): string {
  return {
    busy: t("chat.conflictBusy"),
    closed: t("chat.conflictClosed"),
    gone: t("chat.conflictGone"),
    moved: t("chat.conflictMoved"),
  }[reason];
}

/** The answer that this tab receives is newer than what is written down of it. */
function withComing(turns: readonly Turn[], coming: AnswerPatch | undefined): readonly Turn[] {
  const last = turns.at(-1);
  if (coming === undefined || last?.role !== "assistant") return turns;
  return [...turns.slice(0, -1), { ...last, ...coming }];
}

interface LogProps {
  readonly room: ChatRoom;
  readonly turns: readonly Turn[];
  readonly providers: readonly Provider[];
  readonly isBusy: boolean;
  readonly onRetry: ((turn: AnswerTurn) => void) | undefined;
  readonly children: ReactNode;
}

function Log({ room, turns, providers, isBusy, onRetry, children }: LogProps): ReactNode {
  const { t } = useTranslation();
  const { scroller, isAtEnd, toEnd, onScroll } = useStickToEnd(turns, turns.at(-1)?.seq);
  // The same function for as long as the page is there, so that turns that did not change are not drawn anew.
  const latest = useRef(onRetry);
  useEffect(() => {
    latest.current = onRetry;
  });
  const retry = useCallback((turn: AnswerTurn) => latest.current?.(turn), []);
  return (
    <div className={classes.middle}>
      <div
        ref={scroller}
        className={classes.log}
        role="log"
        aria-label={t("chat.log")}
        // Read when it is whole, not word by word.
        aria-busy={isBusy}
        tabIndex={0}
        onScroll={onScroll}
      >
        <div className={classes.turns}>
          {children}
          {turns.map((turn, index) =>
            turn.role === "user" ? (
              <Question key={turn.seq} turn={turn} />
            ) : (
              <Answer
                key={turn.seq}
                turn={turn}
                provider={providers.find(({ id }) => id === turn.providerId)}
                onRetry={onRetry && index === turns.length - 1 ? retry : undefined}
              />
            ),
          )}
        </div>
      </div>
      <Announcer room={room} last={turns.at(-1)} />
      {!isAtEnd && (
        <ActionIcon
          variant="default"
          radius="xl"
          size="lg"
          className={classes.toEnd}
          onClick={toEnd}
          aria-label={t("chat.toEnd")}
        >
          <IconArrowDown size={18} />
        </ActionIcon>
      )}
    </div>
  );
}

/** Says how the answer stands that this tab asked for. */
function Announcer({ room, last }: { readonly room: ChatRoom; readonly last: Turn | undefined }): ReactNode {
  const { t } = useTranslation();
  const isOurs = last?.role === "assistant" && room.received(last);
  const text = {
    streaming: t("chat.answering"),
    done: t("chat.answered"),
    stopped: t("chat.stopped"),
    broken: t("chat.broken"),
    failed: t("chat.failed"),
  };
  return <VisuallyHidden role="status">{isOurs ? text[last.state] : ""}</VisuallyHidden>;
}

function Greeting(): ReactNode {
  const { t } = useTranslation();
  return (
    <EmptyState
      variant="light"
      icon={<IconMessages />}
      title={t("chat.greeting")}
      description={t("chat.greetingHint")}
      maw={520}
      mx="auto"
      my="auto"
    />
  );
}

function Closed({ onReopen }: { readonly onReopen: () => void }): ReactNode {
  const { t } = useTranslation();
  return (
    <Group justify="center" gap="sm" py="xs">
      <Text size="sm" c="dimmed">
        {t("chat.isClosed")}
      </Text>
      <Button size="xs" variant="default" onClick={onReopen}>
        {t("chat.reopen")}
      </Button>
    </Group>
  );
}
