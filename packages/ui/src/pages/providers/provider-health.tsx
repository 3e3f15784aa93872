import { Group, Text } from "@mantine/core";
import {
  IconBan,
  IconCircleCheck,
  IconHourglass,
  IconKeyOff,
  IconPlugOff,
  IconQuestionMark,
} from "@tabler/icons-react";
import type { ComponentType, ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Provider, Status } from "../../api/openapi.ts";
import { useTimeLeft } from "../../parts/use-time-left.ts";

export interface ProviderHealthProps {
  readonly provider: Provider;
  readonly health: Status["providers"][number] | undefined;
}

/** How a provider's pool stands, in words, each with a sign and a colour. */
export function ProviderHealth({ provider, health }: ProviderHealthProps): ReactNode {
  const { t } = useTranslation();
  if (!provider.enabled)
    return (
      <Fact icon={IconPlugOff} color="dimmed" text={`${t("providers.disabled")}. ${t("providers.disabledHint")}`} />
    );
  if (!health) return null;
  const { keys, can_serve: canServe, next_available_at: next } = health;
  if (keys.total === 0) {
    return canServe ? (
      <Fact icon={IconCircleCheck} color="green" text={t("providers.ownKeyServes")} />
    ) : (
      <Fact icon={IconKeyOff} color="dimmed" text={t("providers.noKeys")} />
    );
  }
  return (
    <Group gap="4px 12px">
      <Fact
        icon={canServe ? IconCircleCheck : IconBan}
        color={canServe ? "green" : "red"}
        text={t("providers.health", { available: keys.available, count: keys.total })}
      />
      {keys.cooling_down > 0 && (
        <Fact
          icon={IconHourglass}
          color="orange"
          text={
            <>
              {t("providers.healthCooling", { count: keys.cooling_down })}
              {next !== null && (
                <>
                  {", "}
                  <NextBack until={next} />
                </>
              )}
            </>
          }
        />
      )}
      {keys.disabled > 0 && (
        <Fact icon={IconBan} color="dimmed" text={t("providers.healthDisabled", { count: keys.disabled })} />
      )}
      {keys.unresolved > 0 && (
        <Fact
          icon={IconQuestionMark}
          color="orange"
          text={t("providers.healthUnresolved", { count: keys.unresolved })}
        />
      )}
    </Group>
  );
}

interface FactProps {
  readonly icon: ComponentType<{ readonly size: number }>;
  readonly color: "dimmed" | "green" | "orange" | "red";
  readonly text: ReactNode;
}

const shades = {
  dimmed: "var(--mantine-color-dimmed)",
  green: "light-dark(var(--mantine-color-teal-9), var(--mantine-color-teal-4))",
  orange: "light-dark(#a34700, var(--mantine-color-orange-4))",
  red: "var(--mantine-color-error)",
} as const;

function Fact({ icon: Icon, color, text }: FactProps): ReactNode {
  return (
    <Group gap={4} wrap="nowrap" align="flex-start" c={shades[color]}>
      <Icon size={15} />
      <Text size="xs" component="span">
        {text}
      </Text>
    </Group>
  );
}

function NextBack({ until }: { readonly until: string }): ReactNode {
  const { t } = useTranslation();
  return t("providers.nextBack", { left: useTimeLeft(until) });
}
