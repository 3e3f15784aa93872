import { Button, Group, PasswordInput, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { call } from "../api/client.ts";
import { useErrorText } from "../api/error-text.ts";
import { isSignedOut } from "../api/problem.ts";
import { signInGate } from "../api/sign-in-gate.ts";

export interface SignInFormProps {
  readonly onSignedIn?: () => Promise<void>;
  /** Stands beside the button that signs in; without it, that one fills the line. */
  readonly otherWay?: ReactNode;
}

/** Asks for the admin token and signs this browser in with it. */
export function SignInForm({ onSignedIn, otherWay }: SignInFormProps): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { token: "" },
    validate: { token: (value) => (value.trim() === "" ? t("signIn.tokenMissing") : null) },
  });
  const signIn = useMutation({
    mutationFn: (token: string) => call("POST /api/sign-in", { body: { token } }),
    onSuccess: async () => {
      await onSignedIn?.();
      signInGate.signedIn();
    },
    onError: (error) => form.setErrors({ token: isSignedOut(error) ? t("signIn.tokenWrong") : errorText(error) }),
  });
  const submit = (
    <Button type="submit" loading={signIn.isPending} fullWidth={otherWay === undefined}>
      {t("signIn.submit")}
    </Button>
  );
  return (
    <form onSubmit={form.onSubmit(({ token }) => signIn.mutate(token))} noValidate>
      <Stack>
        <PasswordInput
          label={t("signIn.token")}
          description={t("signIn.tokenHint")}
          autoComplete="current-password"
          autoFocus
          data-autofocus
          required
          visibilityToggleButtonProps={{ "aria-label": t("common.showHide") }}
          key={form.key("token")}
          {...form.getInputProps("token")}
        />
        {otherWay === undefined ? (
          submit
        ) : (
          <Group justify="flex-end">
            {otherWay}
            {submit}
          </Group>
        )}
      </Stack>
    </form>
  );
}
