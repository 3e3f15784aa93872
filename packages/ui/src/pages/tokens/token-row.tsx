import { Badge, Button, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Provider, Token } from "../../api/openapi.ts";
import { serverNow } from "../../api/server-time.ts";
import { useFormat } from "../../format/format.ts";
import { ManagedBadge } from "../../parts/managed-badge.tsx";
import { ListRow } from "../../parts/row-list.tsx";
import { useNowAndThen } from "../../parts/use-now-and-then.ts";
import { reachOf } from "./token-facts.ts";

export interface TokenRowProps {
  readonly token: Token;
  /** Undefined until they are loaded. */
  readonly providers: readonly Provider[] | undefined;
  readonly onEdit: () => void;
  readonly onRevoke: () => void;
}

/** One token of the list: its name and beginning, what it is good for, when it was used. */
export function TokenRow({ token, providers, onEdit, onRevoke }: TokenRowProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const { name, prefix, created_at: createdAt, last_used_at: usedAt } = token;
  return (
    <ListRow
      actions={
        <>
          <Button
            variant="default"
            size="xs"
            disabled={token.managed_by !== null}
            onClick={onEdit}
            aria-label={t("tokens.editNamed", { name })}
          >
            {t("tokens.edit")}
          </Button>
          <Button
            variant="default"
            size="xs"
            disabled={token.managed_by !== null}
            onClick={onRevoke}
            aria-label={t("tokens.revokeNamed", { name })}
          >
            {t("tokens.revoke")}
          </Button>
        </>
      }
    >
      <Group gap="xs">
        <Text fw={600} lineClamp={2} title={name} dir="auto">
          {name}
        </Text>
        <Text size="xs" c="dimmed" ff="monospace">
          {prefix}…
        </Text>
        <ManagedBadge by={token.managed_by} />
      </Group>
      {providers && <Reach token={token} providers={providers} />}
      <Terms token={token} />
      <Text size="xs" c="dimmed">
        <time dateTime={createdAt} title={format.dateTime(createdAt)}>
          {t("tokens.createdAgo", { ago: format.ago(createdAt) })}
        </time>
        {" · "}
        {usedAt === null ? (
          t("tokens.neverUsed")
        ) : (
          <time dateTime={usedAt} title={format.dateTime(usedAt)}>
            {t("tokens.usedAgo", { ago: format.ago(usedAt) })}
          </time>
        )}
      </Text>
    </ListRow>
  );
}

/** Its end and its limits, where it has any. */
function Terms({ token }: { readonly token: Token }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  // So that an end that passes is seen without loading anew.
  useNowAndThen(expiryCheckMs);
  const { expires_at: expiresAt, max_requests_per_minute: perMinute, max_concurrent: concurrent } = token;
  const limits = [
    ...(perMinute === null ? [] : [t("tokens.perMinuteShown", { count: perMinute, number: format.number(perMinute) })]),
    ...(concurrent === null
      ? []
      : [t("tokens.concurrentShown", { count: concurrent, number: format.number(concurrent) })]),
  ];
  if (expiresAt === null && limits.length === 0) return null;
  const isExpired = expiresAt !== null && Date.parse(expiresAt) <= serverNow();
  return (
    <Group gap={6}>
      {expiresAt !== null && isExpired && (
        <Badge color="red" variant="light" tt="none" title={format.dateTime(expiresAt)}>
          {t("tokens.expired")}
        </Badge>
      )}
      {expiresAt !== null && !isExpired && (
        <Text size="sm" c="dimmed">
          <time dateTime={expiresAt}>{t("tokens.goodUntil", { at: format.dateTime(expiresAt) })}</time>
        </Text>
      )}
      {limits.map((limit) => (
        <Badge key={limit} variant="default" tt="none" fw={500}>
          {limit}
        </Badge>
      ))}
    </Group>
  );
}

const expiryCheckMs = 30_000;

function Reach({ token, providers }: { readonly token: Token; readonly providers: readonly Provider[] }): ReactNode {
  const { t } = useTranslation();
  const reach = reachOf(token, providers);
  if (!reach) {
    return (
      <Text size="sm" c="dimmed">
        {t("tokens.allProviders")}
      </Text>
    );
  }
  return (
    <Group gap={6}>
      {reach.map((name) => (
        <Badge key={name} variant="default" tt="none" fw={500} maw="100%" title={name}>
          {name}
        </Badge>
      ))}
      {reach.length === 0 && (
        <Text size="sm" c="red">
          {t("tokens.goodForNothing")}
        </Text>
      )}
    </Group>
  );
}
