import { Button, Center, Code, EmptyState, Group } from "@mantine/core";
import { IconMoodSad } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useRouteError } from "react-router";

/** In the place of a page that threw while it was drawn or loaded. */
export function PageError(): ReactNode {
  const { t } = useTranslation();
  const error = useRouteError();
  return (
    <Center mih="60vh" p="md" role="alert">
      <EmptyState icon={<IconMoodSad />} title={t("errors.pageBroke")} description={t("errors.pageBrokeHint")}>
        <Code block maw="36rem">
          {error instanceof Error ? error.message : String(error)}
        </Code>
        <EmptyState.Actions>
          <Group justify="center">
            <Button onClick={() => window.location.reload()}>{t("errors.reload")}</Button>
          </Group>
        </EmptyState.Actions>
      </EmptyState>
    </Center>
  );
}
