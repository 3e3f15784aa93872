import { Paper, Stack, Tabs, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Provider } from "../../api/openapi.ts";
import { CopyBlock, CopyText } from "../../parts/copy-text.tsx";
import { snippetsFor } from "./snippets.ts";
import { useClientToken } from "./use-client-token.ts";

/** How clients are moved over to the gateway. */
export function ConnectTab({ provider: { kind, slug } }: { readonly provider: Provider }): ReactNode {
  const { t } = useTranslation();
  const { token, isRequired } = useClientToken();
  const url = `${window.location.origin}/${slug}`;
  const snippets = snippetsFor({ kind, url, token });
  return (
    <Paper withBorder radius="md" p="md">
      <Stack>
        <Title order={2}>{t("provider.connect")}</Title>
        <Text size="sm">
          {t("provider.connectHint")} {isRequired ? t("provider.connectToken") : t("provider.connectAnyKey")}
        </Text>
        <CopyText value={url} />
        <Tabs defaultValue={snippets[0]?.id ?? ""} variant="outline" keepMounted={false}>
          <Tabs.List aria-label={t("provider.connect")}>
            {snippets.map(({ id }) => (
              <Tabs.Tab key={id} value={id}>
                {t(`provider.${id}`)}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {snippets.map(({ id, code }) => (
            <Tabs.Panel key={id} value={id} pt="sm">
              <CopyBlock value={code} label={t(`provider.${id}`)} />
            </Tabs.Panel>
          ))}
        </Tabs>
      </Stack>
    </Paper>
  );
}
