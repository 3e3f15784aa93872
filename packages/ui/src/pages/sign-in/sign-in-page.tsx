import { Alert, Box, Center, Group, Paper, Stack, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { IconInfoCircle } from "@tabler/icons-react";
import { useEffect, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate, useSearchParams } from "react-router";
import { Logo } from "../../app/shell/logo.tsx";
import { Preferences } from "../../app/shell/preferences.tsx";
import { SignInForm } from "../../parts/sign-in-form.tsx";

export function SignInPage(): ReactNode {
  const { t } = useTranslation();
  const [search] = useSearchParams();
  const navigate = useNavigate();
  const client = useQueryClient();
  const goBack = async (): Promise<void> => {
    client.clear();
    await navigate(safeBack(search.get("back")), { replace: true });
  };
  useSpendCode(search.has("code"));
  return (
    <Box component="main" mih="100dvh" p="md">
      <title>{`${t("signIn.submit")} · Keywheel`}</title>
      <Group justify="flex-end">
        <Preferences canSignOut={false} />
      </Group>
      <Center mih="70dvh">
        <Paper withBorder shadow="sm" radius="lg" p={{ base: "lg", sm: "xl" }} w="100%" maw={420}>
          <Stack gap="lg">
            <Group gap="sm" wrap="nowrap">
              <Logo size={36} />
              <Title order={1}>{t("signIn.heading")}</Title>
            </Group>
            {search.get("link") === "spent" && (
              <Alert icon={<IconInfoCircle />} color="yellow" title={t("signIn.linkSpent")}>
                {t("signIn.linkSpentHint")}
              </Alert>
            )}
            <SignInForm onSignedIn={goBack} />
          </Stack>
        </Paper>
      </Center>
    </Box>
  );
}

/**
 * The server spends the code of a sign-in link and leads on. This page is seen with a code only when a browser looked ahead,
 * which must not spend it: once a person really looks, the same address is asked for again.
 */
function useSpendCode(hasCode: boolean): void {
  useEffect(() => {
    if (!hasCode) return;
    const { prerendering = false } = document as Document & { readonly prerendering?: boolean };
    if (prerendering) document.addEventListener("prerenderingchange", () => window.location.reload(), { once: true });
    else window.location.reload();
  }, [hasCode]);
}

/** Only to a page of ours: `//elsewhere` is another site. */
function safeBack(back: string | null): string {
  return back !== null && /^\/(?![/\\])/.test(back) ? back : "/";
}
