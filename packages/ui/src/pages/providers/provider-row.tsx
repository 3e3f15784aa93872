import { Anchor, Box, Group, Paper, Stack, Switch, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { IconChevronRight } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import type { Provider, Status } from "../../api/openapi.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { useNotify } from "../../parts/notify.ts";
import { ProviderHealth } from "./provider-health.tsx";
import classes from "./provider-row.module.css";

export interface ProviderRowProps {
  readonly provider: Provider;
  readonly health: Status["providers"][number] | undefined;
}

/** One provider of the list: what it is, how its pool stands, whether it serves. */
export function ProviderRow({ provider, health }: ProviderRowProps): ReactNode {
  const { name, slug, base_url: baseUrl } = provider;
  return (
    <Paper component="li" withBorder radius="md" px="md" py="sm" className={classes.row}>
      <Group justify="space-between" wrap="nowrap" gap="md">
        <Box className={classes.text}>
          <Stack gap={4}>
            <Group gap="xs">
              <Anchor
                component={Link}
                to={`/settings/providers/${slug}`}
                fw={600}
                lineClamp={2}
                title={name}
                dir="auto"
                className={classes.link}
              >
                {name}
              </Anchor>
              <Text size="xs" c="dimmed" ff="monospace">
                /{slug}
              </Text>
            </Group>
            <Text size="xs" c="dimmed" lineClamp={2} title={baseUrl} className={classes.url}>
              {baseUrl}
            </Text>
            <ProviderHealth provider={provider} health={health} />
          </Stack>
        </Box>
        <Group gap="md" wrap="nowrap">
          <EnabledSwitch provider={provider} />
          <IconChevronRight size={18} stroke={1.6} className={classes.chevron} aria-hidden />
        </Group>
      </Group>
    </Paper>
  );
}

export interface EnabledSwitchProps {
  readonly provider: Provider;
  readonly withLabel?: boolean;
}

/** Switches a provider on and off. */
export function EnabledSwitch({ provider, withLabel = false }: EnabledSwitchProps): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const client = useQueryClient();
  const { id, name } = provider;
  const change = useMutation({
    mutationFn: (enabled: boolean) => call("PATCH /api/providers/{id}", { params: { id }, body: { enabled } }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.providers }),
    onError: (error) => notify.failed(t("providers.switchFailed", { name }), error),
  });
  const isOn = change.isPending ? change.variables : provider.enabled;
  return (
    <Switch
      className={classes.above}
      checked={isOn}
      onChange={(event) => change.mutate(event.currentTarget.checked)}
      label={withLabel ? t("keys.enabled") : undefined}
      aria-label={withLabel ? undefined : t("providers.enabledSwitch", { name })}
    />
  );
}
