import { Text, UnstyledButton } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Request } from "../../api/openapi.ts";
import { useFormat } from "../../format/format.ts";
import { isolated } from "../../format/isolated.ts";
import { keyNameOf } from "../../parts/key-name.ts";
import tones from "../../parts/tone.module.css";
import { AttemptPath, toneIcons } from "./attempt-path.tsx";
import { endingLabel, tokenParts, toneOf } from "./request-facts.ts";
import classes from "./request-list.module.css";

export interface RequestRowProps {
  readonly request: Request;
  readonly providerName: string;
  readonly onOpen: (request: Request) => void;
  /** Of the virtual list. */
  readonly index: number;
  readonly offset: number;
  readonly measure: (node: Element | null) => void;
}

/** One request: a line that opens into its explanation. */
export function RequestRow({ request, providerName, onOpen, index, offset, measure }: RequestRowProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const { method, path, model, started_at: startedAt, first_byte_ms: firstByte, duration_ms: took, usage } = request;
  const keyName = keyNameOf(request, t) || "–";
  return (
    <div
      ref={measure}
      data-index={index}
      role="row"
      aria-rowindex={index + 2}
      className={classes.place}
      style={{ transform: `translateY(${offset}px)` }}
    >
      <div className={classes.row} role="presentation">
        <div role="cell" className={classes.time}>
          <UnstyledButton
            className={classes.open}
            onClick={() => onOpen(request)}
            aria-label={t("activity.details", { request: `${method} ${path}`, time: format.time(startedAt) })}
          >
            <time dateTime={startedAt} title={format.dateTime(startedAt)}>
              {format.time(startedAt)}
            </time>
          </UnstyledButton>
        </div>
        <div role="cell" className={classes.result}>
          <Result request={request} />
        </div>
        <div role="cell" className={classes.request}>
          <Text size="sm" truncate title={`${isolated(providerName)} – ${method} ${path}`}>
            <Text component="bdi" size="sm" fw={600}>
              {providerName}
            </Text>{" "}
            <Text span size="xs" ff="monospace" c="dimmed">
              {path}
            </Text>
          </Text>
          <Text size="xs" c="dimmed" truncate title={model ?? method}>
            {model ?? method}
          </Text>
        </div>
        <div role="cell" className={classes.key}>
          <Text size="sm" fw={500} truncate dir="auto" title={keyName}>
            {keyName}
          </Text>
        </div>
        <div role="cell" className={classes.attempts}>
          <AttemptPath attempts={request.attempts} />
        </div>
        <div role="cell" className={classes.speed}>
          <Text size="sm">{format.latency(took)}</Text>
          {firstByte !== null && (
            <Text size="xs" c="dimmed">
              {t("activity.firstByte", { duration: format.latency(firstByte) })}
            </Text>
          )}
        </div>
        <div role="cell" className={classes.tokens}>
          {usage === null ? (
            <Text size="xs" c="dimmed" className={classes.none}>
              –
            </Text>
          ) : (
            <Text size="xs">{tokenParts(usage, format.compact, t).join(" · ")}</Text>
          )}
        </div>
      </div>
    </div>
  );
}

/** The status that the client got, with a sign, and what it does not tell. */
export function Result({ request }: { readonly request: Request }): ReactNode {
  const { t } = useTranslation();
  const tone = toneOf(request);
  const Icon = toneIcons[tone];
  const ending = endingLabel(request, t);
  return (
    <>
      <Text size="sm" fw={600} className={tones[tone]} component="div">
        <Icon size={15} className={classes.sign} aria-hidden />
        {request.status === 0 ? t("activity.endingGone") : request.status}
      </Text>
      {ending !== "" && request.status !== 0 && (
        <Text size="xs" c="dimmed" truncate title={ending}>
          {ending}
        </Text>
      )}
    </>
  );
}
