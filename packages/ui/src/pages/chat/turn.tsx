import { ActionIcon, Badge, CopyButton, Group, Loader, Text, Tooltip, VisuallyHidden } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconCheck, IconCopy, IconKey, IconRefresh } from "@tabler/icons-react";
import { memo, type ReactNode, useDeferredValue } from "react";
import { useTranslation } from "react-i18next";
import type { Provider } from "../../api/openapi.ts";
import { isApiError } from "../../api/problem.ts";
import { keyQuery } from "../../api/queries.ts";
import { useFormat } from "../../format/format.ts";
import { nameOf } from "../provider/pool/key-facts.ts";
import type { AnswerTurn, UserTurn } from "./chat-store.ts";
import { Markdown } from "./markdown.tsx";
import { TurnErrorBox } from "./turn-error.tsx";
import classes from "./turn.module.css";

/** What the person said. */
export const Question = memo(function Question({ turn: { text } }: { readonly turn: UserTurn }): ReactNode {
  const { t } = useTranslation();
  return (
    <article className={classes.question}>
      <VisuallyHidden>{t("chat.youSaid")}</VisuallyHidden>
      {text}
    </article>
  );
});

export interface AnswerProps {
  readonly turn: AnswerTurn;
  /** Undefined for one that was deleted. */
  readonly provider: Provider | undefined;
  /** Undefined where it cannot be asked for again. */
  readonly onRetry: ((turn: AnswerTurn) => void) | undefined;
}

/** What a model said, by which key it was answered, and why it ended. */
export const Answer = memo(function Answer({ turn, provider, onRetry }: AnswerProps): ReactNode {
  const { t } = useTranslation();
  const { text, reasoning = "", state, error, seq } = turn;
  const isComing = state === "streaming";
  // A long answer takes its time to be drawn, and typing goes before it.
  const drawn = useDeferredValue(text);
  const retry = onRetry && (() => onRetry(turn));
  return (
    <article className={classes.answer}>
      <VisuallyHidden>{t("chat.modelSaid", { model: turn.model })}</VisuallyHidden>
      {reasoning !== "" && (
        <details className={classes.reasoning}>
          <summary>{t("chat.reasoning")}</summary>
          <div className={classes.thoughts}>{reasoning}</div>
        </details>
      )}
      {drawn !== "" && <Markdown text={drawn} scope={`turn-${seq}`} />}
      {isComing && (
        <Group gap={8} className={classes.coming}>
          <Loader type="dots" size={22} aria-hidden />
          {text === "" && (
            <Text size="sm" c="dimmed">
              {reasoning === "" ? t("chat.waiting") : t("chat.thinking")}
            </Text>
          )}
        </Group>
      )}
      {error && <TurnErrorBox error={error} slug={provider?.slug} onRetry={retry} />}
      {!isComing && <Remark turn={turn} />}
      {(!isComing || turn.keyId !== undefined) && (
        <Facts turn={turn} provider={provider} onRetry={error ? undefined : retry} />
      )}
    </article>
  );
});

/** That there could be more of it. */
function Remark({ turn: { state, end } }: { readonly turn: AnswerTurn }): ReactNode {
  const { t } = useTranslation();
  const text =
    state === "stopped"
      ? t("chat.stopped")
      : state === "broken"
        ? t("chat.broken")
        : end === "length"
          ? t("chat.cutAtLength")
          : end === "filter"
            ? t("chat.filtered")
            : undefined;
  if (text === undefined) return null;
  return (
    <Text size="sm" c="dimmed" mt="xs">
      {text}
    </Text>
  );
}

function Facts({
  turn,
  provider,
  onRetry,
}: Omit<AnswerProps, "onRetry"> & { readonly onRetry: (() => void) | undefined }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const { text, state, model, durationMs, attempts = 1, keyId } = turn;
  const isAnswered = keyId !== undefined || (state !== "failed" && text !== "");
  return (
    <Group gap={6} className={classes.facts}>
      {isAnswered && <KeyName keyId={keyId} attempts={attempts} />}
      <Text size="xs" c="dimmed" component="span">
        {[
          provider?.name,
          model,
          ...(durationMs === undefined ? [] : [format.duration(durationMs)]),
          ...(attempts > 1 ? [t("chat.attempts", { count: attempts })] : []),
        ]
          .filter(Boolean)
          .join(" · ")}
      </Text>
      <Group gap={0} className={classes.deeds}>
        {text !== "" && state !== "streaming" && <Copy text={text} />}
        {onRetry && state !== "streaming" && (
          <Tooltip label={t("chat.again")}>
            <ActionIcon variant="subtle" color="gray" onClick={onRetry} aria-label={t("chat.again")}>
              <IconRefresh size={15} />
            </ActionIcon>
          </Tooltip>
        )}
      </Group>
    </Group>
  );
}

function Copy({ text }: { readonly text: string }): ReactNode {
  const { t } = useTranslation();
  return (
    <CopyButton value={text} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? t("common.copied") : t("chat.copyAnswer")}>
          <ActionIcon
            variant="subtle"
            color={copied ? "teal" : "gray"}
            onClick={copy}
            aria-label={t("chat.copyAnswer")}
          >
            {copied ? <IconCheck size={15} /> : <IconCopy size={15} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** Which key answered; the provider-level one has no id. */
function KeyName({ keyId, attempts }: { readonly keyId: string | undefined; readonly attempts: number }): ReactNode {
  const { t } = useTranslation();
  const { data: key, error } = useQuery({ ...keyQuery(keyId ?? ""), enabled: keyId !== undefined });
  const isGone = isApiError(error) && error.status === 404;
  const name = keyId === undefined ? t("providers.ownKeyServes") : isGone ? t("chat.keyGone") : key ? nameOf(key) : "…";
  return (
    <Tooltip label={attempts > 1 ? t("chat.answeredAfter", { name, count: attempts }) : t("chat.answeredBy", { name })}>
      <Badge variant="default" tt="none" fw={500} leftSection={<IconKey size={12} />} tabIndex={0} maw="14rem">
        {name}
      </Badge>
    </Tooltip>
  );
}
