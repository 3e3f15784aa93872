import { ActionIcon, Menu, useMantineColorScheme, type MantineColorScheme } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import {
  IconCheck,
  IconDeviceDesktop,
  IconLanguage,
  IconLogout,
  IconMoon,
  IconSettings2,
  IconSun,
} from "@tabler/icons-react";
import { use, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";
import { call } from "../../api/client.ts";
import { LiveContext } from "../../events/live-context.ts";
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
        {languages.map((language) => (
          <Menu.Item
            key={language}
            lang={language}
            role="menuitemradio"
            aria-checked={i18n.language === language}
            leftSection={<IconLanguage size={16} />}
            rightSection={i18n.language === language ? <IconCheck size={16} /> : undefined}
            onClick={() => chooseLanguage(language)}
          >
            {languageNames[language]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Label>{t("shell.colorScheme")}</Menu.Label>
        {schemes.map(([scheme, label, icon]) => (
          <Menu.Item
            key={scheme}
            role="menuitemradio"
            aria-checked={colorScheme === scheme}
            leftSection={icon}
            rightSection={colorScheme === scheme ? <IconCheck size={16} /> : undefined}
            onClick={() => setColorScheme(scheme)}
          >
            {label}
          </Menu.Item>
        ))}
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

function useSignOut(): () => void {
  const client = useQueryClient();
  const navigate = useNavigate();
  const live = use(LiveContext);
  return () => {
    live?.events.stop();
    void call("POST /api/sign-out")
      // Signed out already, or unreachable: what was loaded is forgotten either way.
      .catch(() => undefined)
      .then(async () => {
        await navigate("/sign-in", { replace: true });
        client.clear();
      });
  };
}
