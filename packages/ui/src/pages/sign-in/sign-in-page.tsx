import { Alert, Box, Button, Center, Group, Paper, PasswordInput, Stack, Title } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { IconInfoCircle } from "@tabler/icons-react";
import { useEffect, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate, useSearchParams } from "react-router";
import { call } from "../../api/client.ts";
import { useErrorText } from "../../api/error-text.ts";
import { isSignedOut } from "../../api/problem.ts";
import { Logo } from "../../app/shell/logo.tsx";
import { Preferences } from "../../app/shell/preferences.tsx";

export function SignInPage(): ReactNode {
  const { t } = useTranslation();
  const [search] = useSearchParams();
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
            <SignInForm back={safeBack(search.get("back"))} />
          </Stack>
        </Paper>
      </Center>
    </Box>
  );
}

function SignInForm({ back }: { readonly back: string }): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const navigate = useNavigate();
  const client = useQueryClient();
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { token: "" },
    validate: { token: (value) => (value.trim() === "" ? t("signIn.tokenMissing") : null) },
  });
  const signIn = useMutation({
    mutationFn: (token: string) => call("POST /api/sign-in", { body: { token } }),
    onSuccess: async () => {
      client.clear();
      await navigate(back, { replace: true });
    },
    onError: (error) => form.setErrors({ token: isSignedOut(error) ? t("signIn.tokenWrong") : errorText(error) }),
  });
  return (
    <form onSubmit={form.onSubmit(({ token }) => signIn.mutate(token))} noValidate>
      <Stack>
        <PasswordInput
          label={t("signIn.token")}
          description={t("signIn.tokenHint")}
          autoComplete="current-password"
          autoFocus
          required
          visibilityToggleButtonProps={{ "aria-label": t("common.showHide") }}
          key={form.key("token")}
          {...form.getInputProps("token")}
        />
        <Button type="submit" loading={signIn.isPending} fullWidth>
          {t("signIn.submit")}
        </Button>
      </Stack>
    </form>
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
