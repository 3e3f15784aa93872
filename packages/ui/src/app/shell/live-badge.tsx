import { Badge, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useLiveState } from "../../events/live-context.ts";

/** Whether what is shown follows what happens. */
export function LiveBadge(): ReactNode {
  const { t } = useTranslation();
  const state = useLiveState();
  const isLost = state === "lost";
  const label = { live: t("shell.live"), connecting: t("shell.liveConnecting"), lost: t("shell.liveLost") }[state];
  const color = { live: "teal", connecting: "gray", lost: "red" }[state];
  return (
    <Tooltip label={isLost ? t("shell.liveLostHint") : t("shell.liveHint")}>
      <Badge variant="dot" color={color} tt="none" fw={500} tabIndex={0} role="status">
        {label}
      </Badge>
    </Tooltip>
  );
}
