import { Badge, Box, Button, Group, Paper, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Provider, Token } from "../../api/openapi.ts";
import { useFormat } from "../../format/format.ts";
import { reachOf } from "./token-facts.ts";
import classes from "./token-row.module.css";

export interface TokenRowProps {
  readonly token: Token;
  /** Undefined until they are loaded. */
  readonly providers: readonly Provider[] | undefined;
  readonly onRevoke: () => void;
}

/** One token of the list: its name and beginning, what it is good for, when it was used. */
export function TokenRow({ token, providers, onRevoke }: TokenRowProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const { name, prefix, created_at: createdAt, last_used_at: usedAt } = token;
  return (
    <Paper component="li" withBorder radius="md" px="md" py="sm" className={classes.row}>
      <Group justify="space-between" wrap="nowrap" gap="md">
        <Box className={classes.text}>
          <Stack gap={6}>
            <Group gap="xs">
              <Text fw={600}>{name}</Text>
              <Text size="xs" c="dimmed" ff="monospace">
                {prefix}…
              </Text>
            </Group>
            {providers && <Reach token={token} providers={providers} />}
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
          </Stack>
        </Box>
        <Button
          variant="default"
          size="xs"
          onClick={onRevoke}
          aria-label={t("tokens.revokeNamed", { name })}
          className={classes.action}
        >
          {t("tokens.revoke")}
        </Button>
      </Group>
    </Paper>
  );
}

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
        <Badge key={name} variant="default" tt="none" fw={500} maw="100%">
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
