import { ActionIcon, Menu, useMantineColorScheme, type MantineColorScheme } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { IconDeviceDesktop, IconLogout, IconMoon, IconSettings2, IconSun } from "@tabler/icons-react";
import { use, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";
import { call } from "../../api/client.ts";
import { signInGate } from "../../api/sign-in-gate.ts";
import { isSignedOut } from "../../api/problem.ts";
import { LiveContext } from "../../events/live-context.ts";
import { decided } from "../../parts/leave-guard.tsx";
import { useNotify } from "../../parts/notify.ts";
import { chooseLanguage, languages, type Language } from "../../i18n/i18n.ts";

const languageNames: Record<Language, string> = { en: "English", ko: "한국어" };

/** Language and colour scheme of these pages, and the way out. */
export function Preferences({ canSignOut = true }: { readonly canSignOut?: boolean }): ReactNode {
  const { t, i18n } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const signOut = useSignOut();
  const schemes: readonly (readonly [MantineColorScheme, string, ReactNode])[] = [
    ["light", t("shell.colorSchemeLight"), <IconSun key="light" size={16} />],
    ["dark", t("shell.colorSchemeDark"), <IconMoon key="dark" size={16} />],
    ["auto", t("shell.colorSchemeAuto"), <IconDeviceDesktop key="auto" size={16} />],
  ];
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t("shell.preferences")}>
          <IconSettings2 size={20} stroke={1.6} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t("shell.language")}</Menu.Label>
        <Menu.RadioGroup value={i18n.language} onChange={(value) => chooseLanguage(languageOf(value))}>
          {languages.map((language) => (
            <Menu.RadioItem key={language} value={language} lang={language}>
              {languageNames[language]}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Label>{t("shell.colorScheme")}</Menu.Label>
        <Menu.RadioGroup value={colorScheme} onChange={(value) => setColorScheme(schemeOf(value))}>
          {schemes.map(([scheme, label, icon]) => (
            <Menu.RadioItem key={scheme} value={scheme} rightSection={icon}>
              {label}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        {canSignOut && (
          <>
            <Menu.Divider />
            <Menu.Item leftSection={<IconLogout size={16} />} onClick={signOut}>
              {t("shell.signOut")}
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function languageOf(value: string): Language {
  return languages.find((language) => language === value) ?? "en";
}

function schemeOf(value: string): MantineColorScheme {
  return value === "light" || value === "dark" ? value : "auto";
}

function useSignOut(): () => void {
  const client = useQueryClient();
  const navigate = useNavigate();
  const live = use(LiveContext);
  const { t } = useTranslation();
  const notify = useNotify();
  return () => {
    const underWay = notify.underWay(t("shell.signingOut"));
    void call("POST /api/sign-out")
      .catch((error: unknown) => {
        // Signed out already.
        if (!isSignedOut(error)) throw error;
      })
      .then(async () => {
        live?.events.stop();
        signInGate.signedOut();
        await navigate("/sign-in", { replace: true, state: decided });
        client.clear();
      })
      // The cookie is the browser's and stays good: to look signed out would be worse than to say so.
      .catch((error: unknown) => notify.failed(t("shell.signOutFailed"), error))
      .finally(underWay);
  };
}
