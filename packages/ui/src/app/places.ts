import {
  IconActivity,
  IconChartBar,
  IconLayoutDashboard,
  IconListDetails,
  IconMessages,
  IconServer2,
  IconTicket,
  IconWebhook,
} from "@tabler/icons-react";
import type { ComponentType } from "react";
import type { ParseKeys } from "i18next";

/** A page that the navigation leads to. */
interface Place {
  readonly path: string;
  readonly label: ParseKeys;
  readonly icon: ComponentType<{ readonly size?: number; readonly stroke?: number }>;
  /** Below the heading "Settings". */
  readonly isSetting?: boolean;
}

/** In the order in which the navigation shows them. A new page is named here and in `router.tsx`. */
export const places = [
  { path: "/", label: "overview.heading", icon: IconLayoutDashboard },
  { path: "/activity", label: "activity.heading", icon: IconActivity },
  { path: "/sessions", label: "sessions.heading", icon: IconListDetails },
  { path: "/usage", label: "usage.heading", icon: IconChartBar },
  { path: "/chat", label: "chat.heading", icon: IconMessages },
  { path: "/settings/providers", label: "shell.providers", icon: IconServer2, isSetting: true },
  { path: "/settings/tokens", label: "tokens.heading", icon: IconTicket, isSetting: true },
  { path: "/settings/webhooks", label: "webhooks.heading", icon: IconWebhook, isSetting: true },
] as const satisfies readonly Place[];
