import { Paper, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Provider } from "../../api/openapi.ts";
import { CopyBlock } from "../../parts/copy-text.tsx";
import { snippetsFor } from "./snippets.ts";
import { useClientToken } from "./use-client-token.ts";

/** Once there is a key: how to see it at work. */
export function FirstRequest({ provider: { kind, slug } }: { readonly provider: Provider }): ReactNode {
  const { t } = useTranslation();
  const { token } = useClientToken();
  const [snippet] = snippetsFor({ kind, url: `${window.location.origin}/${slug}`, token });
  return (
    <Paper withBorder radius="md" p="md">
      <Stack gap="xs">
        <Title order={3}>{t("provider.firstRequest")}</Title>
        <Text size="sm" c="dimmed">
          {t("provider.firstRequestHint")}
        </Text>
        {snippet && <CopyBlock value={snippet.code} label={t(`provider.${snippet.id}`)} />}
      </Stack>
    </Paper>
  );
}
