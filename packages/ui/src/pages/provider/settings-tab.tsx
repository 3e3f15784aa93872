import { Button, Paper, Stack, Text, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { type Location, useNavigate } from "react-router";
import { call } from "../../api/client.ts";
import type { Provider } from "../../api/openapi.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { decided, LeaveGuard } from "../../parts/leave-guard.tsx";
import { useNotify } from "../../parts/notify.ts";
import { AdvancedForm } from "./advanced-form.tsx";
import { ConnectionForm } from "./connection-form.tsx";

/** Where a provider is, the key of its own, how it is treated, and its end. */
export function SettingsTab({ provider }: { readonly provider: Provider }): ReactNode {
  const [isConnectionDirty, setConnectionDirty] = useState(false);
  const [isAdvancedDirty, setAdvancedDirty] = useState(false);
  return (
    <Stack>
      <ConnectionForm provider={provider} onDirty={setConnectionDirty} />
      <AdvancedForm provider={provider} onDirty={setAdvancedDirty} />
      <LeaveGuard isDirty={isConnectionDirty || isAdvancedDirty} isSamePlace={isSettings} />
      <DeleteProvider provider={provider} />
    </Stack>
  );
}

/** Also where the provider got another path: the page goes there with what was typed. */
function isSettings({ pathname, search }: Location): boolean {
  return pathname.startsWith("/settings/providers/") && new URLSearchParams(search).get("part") === "settings";
}

function DeleteProvider({ provider: { id, name, slug } }: { readonly provider: Provider }): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const text = t("provider.deleteText", { path: `/${slug}` });
  return (
    <Paper withBorder radius="md" p="md">
      <Stack align="flex-start" gap="xs">
        <Title order={2}>{t("provider.delete")}</Title>
        <Text size="sm" c="dimmed">
          {text}
        </Text>
        <Button color="red" variant="outline" onClick={() => setAsking(true)}>
          {t("provider.deleteAction")}
        </Button>
      </Stack>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={t("provider.deleteConfirm", { name })}
        confirmLabel={t("common.delete")}
        onConfirm={async () => {
          await call("DELETE /api/providers/{id}", { params: { id } });
          // By the address: the event of it may come first, and its page then holds nothing of this any more.
          const isHere = window.location.pathname.endsWith(`/settings/providers/${slug}`);
          if (isHere) await navigate("/settings/providers", { replace: true, state: decided });
          void client.invalidateQueries({ queryKey: queryKeys.providers, exact: true });
          notify.done(t("provider.deleted", { name }));
        }}
      >
        {text}
      </ConfirmDialog>
    </Paper>
  );
}
