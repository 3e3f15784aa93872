import { Alert, Button, Group, Stack } from "@mantine/core";
import { IconAlertTriangle, IconHourglass, IconUsersGroup } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Key, Provider } from "../../../api/openapi.ts";
import { useTimeLeft } from "../../../parts/use-time-left.ts";
import { useNotify } from "../../../parts/notify.ts";
import { countByStatus, disabledTogether, firstBack, ownerOf, standstillOf } from "./key-facts.ts";
import { reasonLabel } from "./key-status.tsx";
import type { KeyActions } from "./use-key-actions.ts";

export interface PoolNoticesProps {
  readonly provider: Provider;
  readonly keys: readonly Key[];
  readonly actions: KeyActions;
  readonly onAdd: () => void;
}

/** What is wrong with the pool as a whole, and what to do about it. */
export function PoolNotices({ keys, actions, onAdd }: PoolNoticesProps): ReactNode {
  const together = disabledTogether(keys);
  const owner = ownerOf(keys);
  if (together.length === 0 && owner === undefined && countByStatus(keys).available > 0) return null;
  return (
    <Stack gap="sm">
      {owner !== undefined && <OneOwner owner={owner} />}
      <NobodyServes keys={keys} onAdd={onAdd} />
      {together.map(({ reason, ids }) => (
        <DisabledTogether key={reason} reason={reason} count={ids.length} actions={actions} />
      ))}
    </Stack>
  );
}

function OneOwner({ owner }: { readonly owner: string }): ReactNode {
  const { t } = useTranslation();
  return (
    <Alert color="yellow" icon={<IconUsersGroup />} title={t("keys.oneOwner", { owner })}>
      {t("keys.oneOwnerHint")}
    </Alert>
  );
}

function NobodyServes({ keys, onAdd }: Pick<PoolNoticesProps, "keys" | "onAdd">): ReactNode {
  const { t } = useTranslation();
  const counts = countByStatus(keys);
  const first = firstBack(keys);
  if (counts.available > 0) return null;
  if (first !== undefined) return <SomeComeBack keys={keys} until={first} onAdd={onAdd} />;
  const isRefused = keys.every(({ status_reason: reason }) => reason?.code === "authentication_failed");
  return (
    <Alert
      color="red"
      role="alert"
      icon={<IconAlertTriangle />}
      title={isRefused ? t("keys.allRefused") : t("keys.allDisabled")}
    >
      {isRefused ? t("keys.allRefusedHint") : t("keys.allDisabledHint")}
    </Alert>
  );
}

interface SomeComeBackProps extends Pick<PoolNoticesProps, "keys" | "onAdd"> {
  readonly until: string;
}

function SomeComeBack({ keys, until, onAdd }: SomeComeBackProps): ReactNode {
  const { t } = useTranslation();
  const left = useTimeLeft(until);
  const standstill = standstillOf(keys);
  return (
    <Alert
      color="orange"
      icon={<IconHourglass />}
      title={standstill === "mixed" ? t("keys.noneServes") : t("keys.allCooling")}
    >
      <Stack gap="xs" align="flex-start">
        <span>
          {standstill === "limited" ? t("keys.allCoolingHint", { left }) : t("keys.noneServesHint", { left })}
        </span>
        <Button size="compact-sm" variant="default" onClick={onAdd}>
          {t("keys.add")}
        </Button>
      </Stack>
    </Alert>
  );
}

interface DisabledTogetherProps {
  readonly reason: NonNullable<Key["status_reason"]>["code"];
  readonly count: number;
  readonly actions: KeyActions;
}

function DisabledTogether({ reason, count, actions }: DisabledTogetherProps): ReactNode {
  const { t } = useTranslation();
  const notify = useNotify();
  const [isBusy, setBusy] = useState(false);
  const enable = async (): Promise<void> => {
    setBusy(true);
    try {
      await actions.bulk({ action: "enable", where: { status: "disabled", reason } });
    } catch (error) {
      notify.failed(t("errors.failed"), error);
    }
    setBusy(false);
  };
  return (
    <Alert
      color="yellow"
      icon={<IconAlertTriangle />}
      title={t("keys.sameReason", { count, reason: reasonLabel(reason, t) })}
    >
      <Group justify="space-between" gap="xs">
        <span>{reason === "quota_exhausted" ? t("keys.reasonQuotaHint") : t("keys.reasonAuthHint")}</span>
        <Button size="compact-sm" variant="default" loading={isBusy} onClick={() => void enable()}>
          {t("keys.enableAll", { count })}
        </Button>
      </Group>
    </Alert>
  );
}
