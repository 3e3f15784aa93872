import { Button, Chip, EmptyState, Group, Paper, Skeleton, Stack, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconFileImport, IconKey, IconPlus, IconSearch } from "@tabler/icons-react";
import { type ReactNode, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Key, Provider } from "../../../api/openapi.ts";
import { keysQuery } from "../../../api/queries.ts";
import { useRefresher } from "../../../events/live-context.ts";
import { useFormat } from "../../../format/format.ts";
import { ConfirmDialog } from "../../../parts/confirm-dialog.tsx";
import { LoadFailed } from "../../../parts/load-failed.tsx";
import { useAtFirstEnd } from "../../../parts/use-at-first-end.ts";
import { useLastShown } from "../../../parts/use-last-shown.ts";
import { useLatest } from "../../../parts/use-latest.ts";
import { FirstRequest } from "../first-request.tsx";
import { BulkBar } from "./bulk-bar.tsx";
import { ImportDialog } from "./import-dialog.tsx";
import { KeyDialog } from "./key-dialog.tsx";
import { countByStatus, filterKeys, type KeyFilter, moved, nameOf, type StatusFilter } from "./key-facts.ts";
import type { RowDeeds } from "./key-row.tsx";
import { statusLabel } from "./key-status.tsx";
import { KeyTable } from "./key-table.tsx";
import { PoolNotices } from "./notices.tsx";
import { TestRunPanel } from "./test-run.tsx";
import { useKeyActions } from "./use-key-actions.ts";
import { useKeyTests } from "./use-key-tests.ts";
import { Wheel } from "./wheel.tsx";

type Dialog = { readonly kind: "add" | "import" } | { readonly kind: "edit" | "remove"; readonly key: Key };

/** From so many keys on, they are searched rather than read. */
const searchFrom = 6;
const noKeys: readonly Key[] = [];

/** The API Key Pool of a provider. */
export function PoolTab({ provider }: { readonly provider: Provider }): ReactNode {
  // What is selected, filtered and typed is of this pool alone.
  return <PoolSection key={provider.id} provider={provider} />;
}

function PoolSection({ provider }: { readonly provider: Provider }): ReactNode {
  const { t } = useTranslation();
  const { data: keys, error, refetch } = useQuery(keysQuery(provider.id));
  const [dialog, setDialog] = useState<Dialog>();
  const openDialog = (kind: "add" | "import"): void => setDialog({ kind });
  useRefreshKeysAtCooldownsEnd(provider.id, keys ?? noKeys);
  return (
    <Stack gap="md">
      <Group justify="space-between" gap="sm">
        <Title order={2}>{t("keys.heading")}</Title>
        {keys && keys.length > 0 && <AddButtons onOpen={openDialog} />}
      </Group>
      {error && <LoadFailed error={error} onRetry={() => void refetch()} />}
      {!keys && !error && <Skeleton h={240} radius="md" />}
      {keys?.length === 0 && (
        <Paper withBorder radius="md" p="xl">
          <EmptyState
            variant="light"
            icon={<IconKey />}
            title={t("keys.noneYet")}
            description={
              <>
                {provider.api_key !== null && `${t("keys.noneYetOwn")} `}
                {t("keys.addFirstHint")}
              </>
            }
          >
            <EmptyState.Actions>
              <AddButtons onOpen={openDialog} />
            </EmptyState.Actions>
          </EmptyState>
        </Paper>
      )}
      {keys && keys.length > 0 && (
        <Pool provider={provider} keys={keys} onDialog={setDialog} onAdd={() => openDialog("add")} />
      )}
      <Dialogs providerId={provider.id} dialog={dialog} onClose={() => setDialog(undefined)} />
    </Stack>
  );
}

function AddButtons({ onOpen }: { readonly onOpen: (kind: "add" | "import") => void }): ReactNode {
  const { t } = useTranslation();
  return (
    <Group gap="xs">
      <Button variant="default" leftSection={<IconFileImport size={16} />} onClick={() => onOpen("import")}>
        {t("keys.import")}
      </Button>
      <Button leftSection={<IconPlus size={16} />} onClick={() => onOpen("add")}>
        {t("keys.add")}
      </Button>
    </Group>
  );
}

interface PoolProps {
  readonly provider: Provider;
  readonly keys: readonly Key[];
  readonly onDialog: (dialog: Dialog) => void;
  readonly onAdd: () => void;
}

function Pool({ provider, keys, onDialog, onAdd }: PoolProps): ReactNode {
  const { t } = useTranslation();
  const actions = useKeyActions(provider.id);
  const [filter, setFilter] = useState<KeyFilter>({ status: "all", search: "" });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const tests = useKeyTests(provider.id);
  const shown = useMemo(() => filterKeys(keys, filter), [keys, filter]);
  // A key that was deleted meanwhile is selected no more.
  const chosen = useMemo(() => keys.filter(({ id }) => selected.has(id)).map(({ id }) => id), [keys, selected]);

  const hidden = useMemo(() => {
    const inSight = new Set(shown.map(({ id }) => id));
    return chosen.filter((id) => !inSight.has(id));
  }, [shown, chosen]);

  const deeds: RowDeeds = useLatest({
    edit: (key) => onDialog({ kind: "edit", key }),
    remove: (key) => onDialog({ kind: "remove", key }),
    test: tests.test,
    dismissTest: tests.dismiss,
    select: (key, isSelected) => setSelected((before) => withOrWithout(before, [key.id], isSelected)),
    move: (key, place) => {
      const ids = keys.map(({ id }) => id);
      void actions.reorder(moved(ids, key.id, place));
    },
  });
  const isUnused = keys.every(({ stats, status }) => stats.requests === 0 && status !== "disabled");
  return (
    <>
      {isUnused && <FirstRequest provider={provider} />}
      <PoolNotices provider={provider} keys={keys} actions={actions} onAdd={onAdd} />
      <Wheel providerId={provider.id} keys={keys} />
      {tests.run && (
        <TestRunPanel
          run={tests.run}
          keys={keys}
          tests={tests.tests}
          onCancel={tests.cancel}
          onDismiss={tests.dismissRun}
          onSelect={(ids) => setSelected(new Set(ids))}
        />
      )}
      {keys.length >= searchFrom && <Filters keys={keys} filter={filter} onChange={setFilter} />}
      {shown.length === 0 ? (
        <Text c="dimmed">{t("keys.noMatch")}</Text>
      ) : (
        <KeyTable
          keys={keys}
          shown={shown}
          selected={selected}
          onSelectAll={(isSelected) =>
            setSelected((before) =>
              withOrWithout(
                before,
                shown.map(({ id }) => id),
                isSelected,
              ),
            )
          }
          tests={tests.tests}
          cooldown={provider.settings.cooldown}
          actions={actions}
          deeds={deeds}
        />
      )}
      <BulkBar
        ids={chosen}
        hiddenIds={hidden}
        actions={actions}
        onTest={tests.testMany}
        onDeselect={(ids) => setSelected((before) => withOrWithout(before, ids, false))}
      />
    </>
  );
}

interface FiltersProps {
  readonly keys: readonly Key[];
  readonly filter: KeyFilter;
  readonly onChange: (filter: KeyFilter) => void;
}

function Filters({ keys, filter, onChange }: FiltersProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const counts = useMemo(() => countByStatus(keys), [keys]);
  const statuses: readonly StatusFilter[] = ["all", "available", "cooling_down", "disabled", "unresolved"];
  return (
    <Group gap="sm" justify="space-between">
      <TextInput
        type="search"
        w={{ base: "100%", sm: 260 }}
        aria-label={t("keys.search")}
        placeholder={t("keys.search")}
        leftSection={<IconSearch size={16} />}
        value={filter.search}
        onChange={(event) => onChange({ ...filter, search: event.currentTarget.value })}
      />
      <Chip.Group value={filter.status} onChange={(status) => onChange({ ...filter, status })}>
        <Group gap={6} role="group" aria-label={t("keys.filter")}>
          {statuses
            .filter((status) => status === "all" || counts[status] > 0 || filter.status === status)
            .map((status) => (
              <Chip key={status} value={status} size="xs" variant="outline">
                {status === "all" ? t("keys.filterAll") : statusLabel(status, t)} {format.number(counts[status])}
              </Chip>
            ))}
        </Group>
      </Chip.Group>
    </Group>
  );
}

interface DialogsProps {
  readonly providerId: string;
  readonly dialog: Dialog | undefined;
  readonly onClose: () => void;
}

function Dialogs({ providerId, dialog, onClose }: DialogsProps): ReactNode {
  const { t } = useTranslation();
  const actions = useKeyActions(providerId);
  const shown = useLastShown(dialog);
  const key = shown && "key" in shown ? shown.key : undefined;
  return (
    <>
      <KeyDialog isOpen={dialog?.kind === "add"} onClose={onClose} providerId={providerId} />
      <KeyDialog isOpen={dialog?.kind === "edit"} onClose={onClose} providerId={providerId} value={key} />
      <ImportDialog isOpen={dialog?.kind === "import"} onClose={onClose} providerId={providerId} />
      <ConfirmDialog
        isOpen={dialog?.kind === "remove"}
        onClose={onClose}
        title={t("keys.deleteConfirm", { name: key ? nameOf(key) : "" })}
        confirmLabel={t("common.delete")}
        onConfirm={async () => {
          if (key) await actions.remove(key);
        }}
      >
        {t("keys.deleteText")}
      </ConfirmDialog>
    </>
  );
}

/** Asks anew for the keys whose cooldown has passed. */
function useRefreshKeysAtCooldownsEnd(providerId: string, keys: readonly Key[]): void {
  const refresher = useRefresher();
  useAtFirstEnd(
    keys,
    (shown) => shown.flatMap((key) => endOf(key) ?? []),
    (first) => {
      const due = keys.filter((key) => (endOf(key) ?? Infinity) <= first + 500).map(({ id }) => id);
      refresher.noteKeys(providerId, due);
    },
  );
}

function endOf({ status, cooldown_until: until }: Key): number | undefined {
  return status === "cooling_down" && until !== null ? Date.parse(until) : undefined;
}

function withOrWithout(before: ReadonlySet<string>, ids: readonly string[], isIn: boolean): ReadonlySet<string> {
  const after = new Set(before);
  for (const id of ids) {
    if (isIn) after.add(id);
    else after.delete(id);
  }
  return after;
}
