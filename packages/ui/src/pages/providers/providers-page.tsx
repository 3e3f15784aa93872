import { Button, EmptyState, Paper, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconPlus, IconSearch, IconServer2 } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Provider } from "../../api/openapi.ts";
import { providersQuery, statusQuery } from "../../api/queries.ts";
import { LoadFailed } from "../../parts/load-failed.tsx";
import { Page } from "../../parts/page.tsx";
import { useRefreshAtCooldownsEnd } from "../../parts/use-refresh-at-cooldowns-end.ts";
import { AddProviderDialog, type Chosen } from "./add-provider-dialog.tsx";
import { PresetPicker } from "./preset-picker.tsx";
import { ProviderRow } from "./provider-row.tsx";

/** From so many on, a list is searched rather than read. */
const searchFrom = 5;

/** The list of providers. */
export function ProvidersPage(): ReactNode {
  const { t } = useTranslation();
  const { data: providers, error, refetch, isPending } = useQuery(providersQuery);
  const [dialog, setDialog] = useState<{ readonly chosen: Chosen } | undefined>();
  const [opened, setOpened] = useState(0);
  const open = (chosen: Chosen): void => {
    setOpened((count) => count + 1);
    setDialog({ chosen });
  };
  const isEmpty = providers?.length === 0;
  return (
    <Page
      title={t("providers.heading")}
      description={t("providers.intro")}
      actions={
        !isEmpty && (
          <Button leftSection={<IconPlus size={16} />} onClick={() => open(undefined)}>
            {t("providers.add")}
          </Button>
        )
      }
    >
      {isPending && <Loading />}
      {error && <LoadFailed error={error} onRetry={() => void refetch()} />}
      {isEmpty && <FirstProvider onPick={(preset) => open(preset ?? "other")} />}
      {providers && !isEmpty && <ProviderList providers={providers} />}
      <AddProviderDialog
        key={opened}
        isOpen={dialog !== undefined}
        onClose={() => setDialog(undefined)}
        taken={(providers ?? []).map(({ slug }) => slug)}
        initial={dialog?.chosen}
      />
    </Page>
  );
}

function ProviderList({ providers }: { readonly providers: readonly Provider[] }): ReactNode {
  const { t } = useTranslation();
  const [search, setSearch] = useState("");
  const { data: status } = useQuery(statusQuery);
  useRefreshAtCooldownsEnd(status);
  const wanted = search.trim().toLowerCase();
  const found = providers.filter(({ name, slug, base_url }) =>
    `${name} ${slug} ${base_url}`.toLowerCase().includes(wanted),
  );
  return (
    <Stack>
      {providers.length >= searchFrom && (
        <TextInput
          type="search"
          maw={360}
          aria-label={t("providers.search")}
          placeholder={t("providers.search")}
          leftSection={<IconSearch size={16} />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      {found.length === 0 && <Text c="dimmed">{t("providers.nothingFound", { search })}</Text>}
      <Stack component="ul" gap="sm" m={0} p={0} role="list">
        {found.map((provider) => (
          <ProviderRow
            key={provider.id}
            provider={provider}
            health={status?.providers.find(({ id }) => id === provider.id)}
          />
        ))}
      </Stack>
    </Stack>
  );
}

function FirstProvider({ onPick }: Parameters<typeof PresetPicker>[0]): ReactNode {
  const { t } = useTranslation();
  return (
    <Paper withBorder p={{ base: "md", sm: "xl" }} radius="lg">
      <Stack gap="xl">
        <EmptyState
          variant="light"
          icon={<IconServer2 />}
          title={t("providers.emptyHeading")}
          description={t("providers.chooseFirst")}
        />
        <PresetPicker onPick={onPick} />
      </Stack>
    </Paper>
  );
}

function Loading(): ReactNode {
  return (
    <Stack gap="sm" aria-busy>
      <Skeleton h={88} radius="md" />
      <Skeleton h={88} radius="md" />
    </Stack>
  );
}
