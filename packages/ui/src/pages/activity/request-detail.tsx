import { Anchor, Code, DataList, Drawer, Group, List, Stack, Text, Timeline, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import type { Attempt, Request } from "../../api/openapi.ts";
import { providersQuery, tokensQuery } from "../../api/queries.ts";
import { type Format, useFormat } from "../../format/format.ts";
import { CopyIcon } from "../../parts/copy-text.tsx";
import { keyInSentence, keyNameOf } from "../../parts/key-name.ts";
import { becauseText, leavingLabel, outcomeLabel, outcomeText, ownErrorText } from "../../parts/outcomes.ts";
import tones from "../../parts/tone.module.css";
import { toneIcons } from "./attempt-path.tsx";
import classes from "./request-detail.module.css";
import {
  endingLabel,
  inShort,
  isAboutKeys,
  standingParts,
  tokenParts,
  toneOf,
  toneOfAttempt,
  whyText,
} from "./request-facts.ts";

export interface RequestDetailProps {
  /** Undefined while none is open. */
  readonly request: Request | undefined;
  readonly onClose: () => void;
}

/** Why a request went where it went, beside the list. */
export function RequestDetail({ request, onClose }: RequestDetailProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <Drawer
      opened={request !== undefined}
      onClose={onClose}
      position="right"
      size="lg"
      title={
        request && (
          <Text span fw={650} ff="monospace" size="sm" className={classes.title}>
            {request.method} {request.path}
          </Text>
        )
      }
      closeButtonProps={{ "aria-label": t("common.close") }}
      attributes={{ header: { role: "presentation" } }}
      overlayProps={{ backgroundOpacity: 0.25 }}
    >
      {request && (
        <Stack gap="lg">
          <Stack gap={4}>
            <Text size="xs" c="dimmed">
              {format.dateTime(request.started_at)}
            </Text>
            <Text fw={600}>{inShort(request, t)}</Text>
            {hasMoved(request) && (
              <Text size="sm" c="dimmed">
                {t("activity.switchedHint")}
              </Text>
            )}
          </Stack>
          <Stack gap="sm">
            <Title order={2}>{t("activity.detailsHeading")}</Title>
            <Course request={request} />
          </Stack>
          <Stack gap="sm">
            <Title order={2}>{t("activity.facts")}</Title>
            <Facts request={request} />
          </Stack>
        </Stack>
      )}
    </Drawer>
  );
}

/** A session's request that was served by another key than the one that its session had. */
function hasMoved({ session_id: session, attempts }: Request): boolean {
  const [first] = attempts;
  return session !== null && first?.why === "session" && attempts.some((attempt) => attempt.key_id !== first.key_id);
}

const colors = { good: "teal.9", bad: "red.9", neutral: "gray.7" } as const;

function Course({ request }: { readonly request: Request }): ReactNode {
  const { t } = useTranslation();
  const { attempts, standing, error } = request;
  const tone = toneOf(request);
  const ResultIcon = toneIcons[tone];
  return (
    <Timeline bulletSize={24} lineWidth={2} active={attempts.length + 2} classNames={{ itemTitle: classes.step }}>
      {attempts.map((attempt, place) => (
        <Timeline.Item
          key={`${attempt.key_id}${attempt.started_at}${place}`}
          color={colors[toneOfAttempt(attempt)]}
          bullet={<Bullet attempt={attempt} />}
          title={
            <>
              {keyNameOf(attempt, t)}{" "}
              <Text span size="sm" fw={600} className={tones[toneOfAttempt(attempt)]}>
                {outcomeLabel(attempt.outcome, t)}
                {attempt.http_status !== null && ` (${attempt.http_status})`}
              </Text>
            </>
          }
        >
          <AttemptStory attempt={attempt} place={place} next={attempts[place + 1]} />
        </Timeline.Item>
      ))}
      {standing !== null && (
        <Timeline.Item color={colors.bad} bullet={<toneIcons.bad size={14} />} title={t("activity.noneLeft")}>
          <Text size="sm">
            {t("activity.noneLeftText", { count: standing.total, reasons: standingParts(standing, t).join(", ") })}
          </Text>
          {request.provider_id !== null && (
            <Anchor component={Link} to={`/settings/providers/${request.provider}`} size="sm">
              {t("activity.openPool")}
            </Anchor>
          )}
        </Timeline.Item>
      )}
      <Timeline.Item color={colors[tone]} bullet={<ResultIcon size={14} />} title={t("activity.toClient")}>
        <ToClient request={request} />
        {error !== null && !isAboutKeys(error) && (
          <Text size="sm">{t("activity.otherError", { error: ownErrorText(error, t) })}</Text>
        )}
      </Timeline.Item>
    </Timeline>
  );
}

function Bullet({ attempt }: { readonly attempt: Attempt }): ReactNode {
  const Icon = toneIcons[toneOfAttempt(attempt)];
  return <Icon size={14} />;
}

interface AttemptStoryProps {
  readonly attempt: Attempt;
  readonly place: number;
  readonly next: Attempt | undefined;
}

/** Why this key, who was passed over, what came of it, what followed. */
function AttemptStory({ attempt, place, next }: AttemptStoryProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const passedOver = attempt.passed_over.filter(({ because }) => because !== "tried");
  return (
    <Stack gap={6} mt={2}>
      <Text size="sm">{whyText(attempt, place, t)}</Text>
      {isLeftAlone(attempt) && (
        <Text size="sm">
          {t("activity.leftBehind", {
            name: keyInSentence(attempt.left, t),
            because: leavingLabel(attempt.left.because, t),
          })}
        </Text>
      )}
      {passedOver.length > 0 && (
        <div>
          <Text size="xs" c="dimmed">
            {t("activity.passedOver")}
          </Text>
          <List size="sm" spacing={2}>
            {passedOver.map((passed) => (
              <List.Item key={passed.key_id}>{`${keyNameOf(passed, t)} – ${becauseText(passed.because, t)}`}</List.Item>
            ))}
          </List>
        </div>
      )}
      <Text size="sm">
        {outcomeText(attempt.outcome, t)}
        {next !== undefined &&
          ` ${next.key_id === attempt.key_id ? t("activity.sameKeyAgain") : t("activity.nextAsked")}`}
      </Text>
      {attempt.message !== null && attempt.http_status !== null && (
        <Text size="sm" c="dimmed" className={classes.value}>
          {t("keys.reasonSaid", { message: attempt.message })}
        </Text>
      )}
      <Text size="xs" c="dimmed">
        {t("activity.attemptTook", { duration: format.latency(attempt.duration_ms) })}
      </Text>
    </Stack>
  );
}

type Left = Attempt & { readonly left: NonNullable<Attempt["left"]> };

/** Whether its former key is told of nowhere else: it rested before, and may be well again. */
function isLeftAlone(attempt: Attempt): attempt is Left {
  const { left, passed_over: passedOver } = attempt;
  return left !== null && left.because !== "tried" && passedOver.every(({ key_id: id }) => id !== left.key_id);
}

function ToClient({ request }: { readonly request: Request }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const { status, duration_ms: took } = request;
  if (status === 0) return <Text size="sm">{t("activity.toClientGone")}</Text>;
  return (
    <Text size="sm">
      {t("activity.toClientStatus", { status, duration: format.latency(took) })}{" "}
      {cutShort(request) && endingLabel(request, t)}
    </Text>
  );
}

function cutShort({ ending }: Request): boolean {
  return ending !== "completed";
}

function Facts({ request }: { readonly request: Request }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const { data: providers } = useQuery(providersQuery);
  const { data: tokens } = useQuery(tokensQuery);
  const provider = providers?.find(({ id }) => id === request.provider_id);
  const token = tokens?.find(({ id }) => id === request.token_id);
  const facts: readonly (readonly [string, ReactNode])[] = [
    [t("activity.filterProvider"), provider ? <ProviderLink {...provider} /> : request.provider],
    [t("activity.factModel"), request.model ?? "–"],
    [t("activity.factSession"), request.session_id === null ? "–" : <SessionLink id={request.session_id} />],
    [t("activity.factToken"), request.token_id === null ? t("activity.noToken") : (token?.name ?? request.token_id)],
    [t("activity.factFirstByte"), request.first_byte_ms === null ? "–" : format.latency(request.first_byte_ms)],
    [t("activity.factTook"), format.latency(request.duration_ms)],
    [t("activity.factTokens"), request.usage === null ? "–" : tokenParts(request.usage, format.number, t).join(" · ")],
    [t("activity.factBytes"), bytesOf(request, format)],
    [t("activity.factEnding"), endingLabel(request, t) || t("activity.endingCompleted")],
    [t("activity.factId"), <RequestId key="id" id={request.id} />],
  ];
  return (
    <DataList size="sm" labelWidth={150}>
      {facts.map(([label, value]) => (
        <DataList.Item key={label}>
          <DataList.ItemLabel>{label}</DataList.ItemLabel>
          <DataList.ItemValue className={classes.value}>{value}</DataList.ItemValue>
        </DataList.Item>
      ))}
    </DataList>
  );
}

function bytesOf({ request_bytes: sent, response_bytes: received }: Request, format: Format): string {
  return `${format.bytes(sent)} / ${received === null ? "–" : format.bytes(received)}`;
}

function ProviderLink({ slug, name }: { readonly slug: string; readonly name: string }): ReactNode {
  return (
    <Anchor component={Link} to={`/settings/providers/${slug}`} size="sm">
      {name}
    </Anchor>
  );
}

function SessionLink({ id }: { readonly id: string }): ReactNode {
  return (
    <Anchor component={Link} to={`/activity?session=${encodeURIComponent(id)}`} size="sm">
      {id}
    </Anchor>
  );
}

function RequestId({ id }: { readonly id: string }): ReactNode {
  const { t } = useTranslation();
  return (
    <Group gap={4} wrap="nowrap">
      <Code className={classes.value}>{id}</Code>
      <CopyIcon value={id} what={t("activity.factId")} />
    </Group>
  );
}
