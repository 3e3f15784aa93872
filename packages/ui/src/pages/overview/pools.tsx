import { Anchor, Button, Group, Paper, Progress, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import type { Provider, Status } from "../../api/openapi.ts";
import { useFormat } from "../../format/format.ts";
import { ProviderHealth } from "../providers/provider-health.tsx";
import classes from "./pools.module.css";
import { trafficText } from "./traffic-text.ts";
import type { LastHour } from "./use-last-hour.ts";

export interface PoolsProps {
  readonly providers: readonly Provider[];
  readonly status: Status;
  readonly hour: LastHour;
}

/** From so many on, those that are well are shown on demand. */
const shownAtFirst = 6;

/** Every provider's pool, those that cannot serve first. */
export function Pools({ providers, status, hour }: PoolsProps): ReactNode {
  const { t } = useTranslation();
  const [showsAll, setShowsAll] = useState(false);
  const healthOf = (id: string) => status.providers.find((other) => other.id === id);
  const isDown = ({ id, enabled }: Provider): boolean => {
    const health = healthOf(id);
    return enabled && health !== undefined && health.keys.total > 0 && !health.can_serve;
  };
  const sorted = [...providers].sort((one, other) => Number(isDown(other)) - Number(isDown(one)));
  const shown = showsAll ? sorted : sorted.slice(0, shownAtFirst);
  const rest = sorted.length - shown.length;
  return (
    <Stack gap="sm">
      <Title order={2}>{t("overview.pools")}</Title>
      <SimpleGrid component="ul" role="list" m={0} p={0} cols={{ base: 1, xs: 2, lg: 3 }} spacing="md">
        {shown.map((provider) => (
          <PoolCard key={provider.id} provider={provider} health={healthOf(provider.id)} hour={hour} />
        ))}
      </SimpleGrid>
      {rest > 0 && (
        <Button variant="subtle" size="compact-sm" w="fit-content" onClick={() => setShowsAll(true)}>
          {t("overview.poolsMore", { count: rest })}
        </Button>
      )}
    </Stack>
  );
}

interface PoolCardProps {
  readonly provider: Provider;
  readonly health: Status["providers"][number] | undefined;
  readonly hour: LastHour;
}

function PoolCard({ provider, health, hour }: PoolCardProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <Paper component="li" withBorder radius="md" p="md" className={classes.card}>
      <Stack gap="xs">
        <Group justify="space-between" gap="xs" wrap="nowrap">
          <Anchor
            component={Link}
            to={`/settings/providers/${provider.slug}`}
            fw={600}
            truncate
            title={provider.name}
            dir="auto"
            className={classes.link}
          >
            {provider.name}
          </Anchor>
          {health && health.keys.total > 0 && (
            <Text size="sm" fw={600} className={classes.count} aria-hidden>
              {format.number(health.keys.available)}
              <Text span size="xs" c="dimmed" fw={400}>
                {" / "}
                {format.number(health.keys.total)}
              </Text>
            </Text>
          )}
        </Group>
        {health && health.keys.total > 0 && <KeyBar keys={health.keys} isOn={provider.enabled} />}
        <ProviderHealth provider={provider} health={health} />
        <Text size="xs" c="dimmed">
          {t("overview.poolLastHour")}: {trafficText(hour.of(provider.id), t, format)}
        </Text>
      </Stack>
    </Paper>
  );
}

/** The same as the words below it, for the eye. */
function KeyBar({ keys, isOn }: { readonly keys: Status["counts"]["keys"]; readonly isOn: boolean }): ReactNode {
  const share = (count: number): number => (100 * count) / keys.total;
  return (
    <Progress.Root size={8} aria-hidden opacity={isOn ? 1 : 0.4}>
      <Progress.Section value={share(keys.available)} color="teal.6" aria-label="" />
      <Progress.Section value={share(keys.cooling_down)} color="orange.5" aria-label="" />
      <Progress.Section value={share(keys.unresolved)} color="yellow.4" aria-label="" />
      <Progress.Section value={share(keys.disabled)} color="gray.5" aria-label="" />
    </Progress.Root>
  );
}
