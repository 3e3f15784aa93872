import { Anchor, Badge, EmptyState, Group, Skeleton, Tabs, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { IconAdjustments, IconArrowLeft, IconDatabaseHeart, IconKey, IconMapOff, IconPlug } from "@tabler/icons-react";
import { type ReactNode, useEffect } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation, useNavigate, useParams, useSearchParams } from "react-router";
import { call } from "../../api/client.ts";
import type { Provider } from "../../api/openapi.ts";
import { isApiError } from "../../api/problem.ts";
import { providerQuery } from "../../api/queries.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { LoadFailed } from "../../parts/load-failed.tsx";
import { ManagedBadge } from "../../parts/managed-badge.tsx";
import { Page } from "../../parts/page.tsx";
import classes from "./provider-page.module.css";
import { kindLabel } from "../providers/provider-forms.ts";
import { EnabledSwitch } from "../providers/provider-row.tsx";
import { AffinityTab } from "./affinity/affinity-tab.tsx";
import { ConnectTab } from "./connect-tab.tsx";
import { PoolTab } from "./pool/pool-tab.tsx";
import { SettingsTab } from "./settings-tab.tsx";

/** One provider: its pool, how clients connect, its settings. */
export function ProviderPage(): ReactNode {
  const { t } = useTranslation();
  const { slug = "" } = useParams();
  const { data: provider, error, refetch } = useQuery(providerQuery(slug));
  const isGone = isApiError(error) && error.status === 404;
  const isFollowed = useFollowMoved(provider, isGone);
  // While it is looked up, what was typed stays.
  if (isGone && !isFollowed) {
    return (
      <Page title={t("provider.notFound", { slug })} above={<BackLink />}>
        <EmptyState icon={<IconMapOff />} description={t("provider.notFoundHint")} />
      </Page>
    );
  }
  return (
    <Page
      title={provider?.name ?? slug}
      above={<BackLink />}
      beside={
        provider && (
          <Group gap="xs">
            <Badge variant="default" tt="none">
              {kindLabel(provider.kind)}
            </Badge>
            <ManagedBadge by={provider.managed_by} />
          </Group>
        )
      }
      description={provider && <Where provider={provider} />}
      actions={provider && <EnabledSwitch provider={provider} withLabel />}
    >
      {provider && <Parts provider={provider} />}
      {!provider && !error && <Skeleton h={320} radius="md" aria-busy />}
      {!provider && error && <LoadFailed error={error} onRetry={() => void refetch()} />}
    </Page>
  );
}

/**
 * Goes where a provider that was shown here is found, once its path leads nowhere: another tab, or somebody else, has given
 * it another path.
 *
 * @returns whether that is under way
 */
function useFollowMoved(known: Provider | undefined, isGone: boolean): boolean {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { search } = useLocation();
  const { data: slug, isFetching } = useQuery({
    queryKey: ["moved-provider", known?.id, known?.slug],
    queryFn: async ({ signal }) => {
      const found = await call("GET /api/providers/{id}", { params: { id: known?.id ?? "" }, signal });
      // So that the page goes on with what it shows.
      client.setQueryData(queryKeys.provider(found.slug), found);
      return found.slug;
    },
    enabled: isGone && known !== undefined,
    retry: false,
    gcTime: 0,
  });
  const next = isGone && slug !== known?.slug ? slug : undefined;
  useEffect(() => {
    if (next !== undefined) void navigate({ pathname: `/settings/providers/${next}`, search }, { replace: true });
  }, [next, navigate, search]);
  return isFetching || next !== undefined;
}

function BackLink(): ReactNode {
  const { t } = useTranslation();
  return (
    <Anchor component={Link} to="/settings/providers" size="sm" w="fit-content">
      <Group gap={4} component="span">
        <IconArrowLeft size={14} />
        {t("providers.heading")}
      </Group>
    </Anchor>
  );
}

/** The address here and the one that it stands in for. */
function Where({ provider: { slug, base_url: baseUrl } }: { readonly provider: Provider }): ReactNode {
  return (
    <Text size="sm" span ff="monospace" lineClamp={3} title={baseUrl} style={{ overflowWrap: "anywhere" }}>
      {window.location.origin}/{slug} → {baseUrl}
    </Text>
  );
}

const parts = ["pool", "affinity", "connect", "settings"] as const;

function Parts({ provider }: { readonly provider: Provider }): ReactNode {
  const { t } = useTranslation();
  const [search, setSearch] = useSearchParams();
  const shown = parts.find((part) => part === search.get("part")) ?? "pool";
  return (
    <Tabs
      value={shown}
      onChange={(part) => setSearch(part === null || part === "pool" ? {} : { part }, { replace: true })}
      keepMounted={false}
    >
      <Tabs.List aria-label={t("provider.tabs")} mb="md" className={classes.tabs}>
        <Tabs.Tab value="pool" leftSection={<IconKey size={16} />}>
          {t("provider.pool")}
        </Tabs.Tab>
        <Tabs.Tab value="affinity" leftSection={<IconDatabaseHeart size={16} />}>
          {t("affinity.heading")}
        </Tabs.Tab>
        <Tabs.Tab value="connect" leftSection={<IconPlug size={16} />}>
          {t("provider.connect")}
        </Tabs.Tab>
        <Tabs.Tab value="settings" leftSection={<IconAdjustments size={16} />}>
          {t("provider.connectionAndMore")}
        </Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="pool">
        <PoolTab provider={provider} />
      </Tabs.Panel>
      <Tabs.Panel value="affinity">
        <AffinityTab key={provider.id} provider={provider} />
      </Tabs.Panel>
      <Tabs.Panel value="connect">
        <ConnectTab provider={provider} />
      </Tabs.Panel>
      <Tabs.Panel value="settings">
        <SettingsTab key={provider.id} provider={provider} />
      </Tabs.Panel>
    </Tabs>
  );
}
