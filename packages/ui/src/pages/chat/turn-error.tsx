import { Alert, Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconClock, IconRefresh } from "@tabler/icons-react";
import type { TFunction } from "i18next";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { serverNow } from "../../api/server-time.ts";
import { useTimeLeft } from "../../parts/use-time-left.ts";
import type { TurnError } from "./chat-error.ts";
import classes from "./turn.module.css";

export interface TurnErrorBoxProps {
  readonly error: TurnError;
  /** Undefined for a provider that is gone. */
  readonly slug: string | undefined;
  /** Undefined where it cannot be tried again, as in a chat that went on since. */
  readonly onRetry: (() => void) | undefined;
}

/** Why there is no answer, and what to do about it. */
export function TurnErrorBox({ error, slug, onRetry }: TurnErrorBoxProps): ReactNode {
  const { t } = useTranslation();
  const { title, hint, place } = told(error, t);
  const isWait = error.kind === "pool_exhausted";
  return (
    <Alert
      color={isWait ? "yellow" : "red"}
      icon={isWait ? <IconClock /> : <IconAlertTriangle />}
      title={title}
      className={classes.error}
    >
      <Stack gap="xs" align="flex-start">
        <span>
          {hint}
          {error.retryAt !== undefined && (
            <>
              {" "}
              <TimeLeft until={error.retryAt} isPool={isWait} />
            </>
          )}
        </span>
        {error.message !== "" && <Said error={error} />}
        <Group gap="md" mt={4}>
          {onRetry && (
            <Button size="xs" variant="default" leftSection={<IconRefresh size={14} />} onClick={onRetry}>
              {t("common.retry")}
            </Button>
          )}
          {place !== undefined && (
            <Anchor component={Link} to={pathOf(place, slug)} size="sm" underline="always">
              {placeLabel(place, t)}
            </Anchor>
          )}
        </Group>
      </Stack>
    </Alert>
  );
}

/** The provider's words belong to it; the gateway's say the same once more, for whoever looks into it. */
function Said({ error: { kind, message } }: { readonly error: TurnError }): ReactNode {
  const { t } = useTranslation();
  if (kind === "provider") {
    return (
      <Text size="sm" c="dimmed" className={classes.said}>
        {t("chat.providerSaid", { message })}
      </Text>
    );
  }
  return (
    <details className={classes.details}>
      <summary>{t("chat.details")}</summary>
      <Text size="xs" mt={4} lang="en" className={classes.said}>
        {message}
      </Text>
    </details>
  );
}

function TimeLeft({ until, isPool }: { readonly until: string; readonly isPool: boolean }): ReactNode {
  const { t } = useTranslation();
  const left = useTimeLeft(until);
  if (Date.parse(until) <= serverNow()) return isPool ? t("chat.keyIsBack") : t("chat.waitIsOver");
  // The seconds would be read out one by one.
  return <span aria-live="off">{isPool ? t("chat.firstKeyBack", { left }) : t("chat.waitFor", { left })}</span>;
}

type Place = "pool" | "connection" | "providers";

function placeLabel(place: Place, t: TFunction): string {
  return { pool: t("chat.toPool"), connection: t("chat.toConnection"), providers: t("errors.toProviders") }[place];
}

interface Told {
  readonly title: string;
  readonly hint: string;
  /** Where it can be mended. */
  readonly place?: Place;
}

function pathOf(place: Place, slug: string | undefined): string {
  const provider = `/settings/providers/${slug ?? ""}`;
  if (place === "providers" || slug === undefined) return "/settings/providers";
  return place === "pool" ? provider : `${provider}?part=settings`;
}

function told(error: TurnError, t: TFunction): Told {
  switch (error.kind) {
    case "pool_exhausted":
      return { title: t("chat.exhausted"), hint: t("chat.exhaustedHint"), place: "pool" };
    case "no_usable_key":
      return { title: t("chat.noKey"), hint: t("chat.noKeyHint"), place: "pool" };
    case "unauthorized":
      return { title: t("chat.unauthorized"), hint: t("chat.unauthorizedHint") };
    case "unknown_provider":
      return { title: t("chat.providerOff"), hint: t("chat.providerOffHint"), place: "providers" };
    case "upstream_unreachable":
      return { title: t("chat.unreachable"), hint: t("chat.unreachableHint"), place: "connection" };
    case "upstream_timeout":
      return { title: t("chat.timeout"), hint: t("chat.timeoutHint"), place: "connection" };
    case "body_too_large":
      return { title: t("chat.tooLarge"), hint: t("chat.tooLargeHint") };
    case "offline":
      return { title: t("chat.offline"), hint: t("errors.offline") };
    case "broke_off":
      return { title: t("chat.brokeOff"), hint: t("chat.brokeOffHint") };
    case "gateway":
      return { title: t("chat.gatewayFault"), hint: t("chat.gatewayFaultHint") };
    case "provider":
      return toldByStatus(error.status, t);
  }
}

function toldByStatus(status: number, t: TFunction): Told {
  const title = t("chat.providerRefused", { status });
  if (status === 401 || status === 403) return { title, hint: t("chat.refusedKeyHint"), place: "pool" };
  if (status === 404) return { title, hint: t("chat.unknownModelHint"), place: "connection" };
  if (status === 429) return { title, hint: t("chat.limitHint") };
  if (status === 413 || status === 400 || status === 422) return { title, hint: t("chat.badRequestHint") };
  if (status >= 200 && status < 300) return { title: t("chat.providerBrokeOff"), hint: t("chat.providerFaultHint") };
  return { title, hint: t("chat.providerFaultHint") };
}
