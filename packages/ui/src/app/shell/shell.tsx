import { AppShell, Burger, Group, ScrollArea, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useEffect, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Outlet, useLocation } from "react-router";
import { statusQuery } from "../../api/queries.ts";
import { Logo } from "./logo.tsx";
import { LiveBadge } from "./live-badge.tsx";
import { Navigation } from "./navigation.tsx";
import { Preferences } from "./preferences.tsx";
import { SignInAgain } from "./sign-in-again.tsx";
import classes from "./shell.module.css";

/** What stands around every page behind the sign-in. */
export function Shell(): ReactNode {
  const { t } = useTranslation();
  const [isOpen, { toggle, close }] = useDisclosure();
  const { pathname } = useLocation();
  useEffect(() => close(), [pathname, close]);

  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 248, breakpoint: "sm", collapsed: { mobile: !isOpen } }}
      padding={{ base: "md", md: "xl" }}
    >
      <a className={classes.skip} href="#main">
        {t("shell.skipToContent")}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={t("shell.openNavigation")}
              aria-expanded={isOpen}
            />
            <Logo size={26} />
            <Text fw={700} size="lg" component="span">
              Keywheel
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <LiveBadge />
            <Preferences />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label={t("shell.navigation")}>
        <AppShell.Section grow component={ScrollArea}>
          <Navigation />
        </AppShell.Section>
        <AppShell.Section px="sm">
          <Version />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1} className={classes.main}>
        <Outlet />
      </AppShell.Main>
      <SignInAgain />
    </AppShell>
  );
}

function Version(): ReactNode {
  const { t } = useTranslation();
  const { data } = useQuery(statusQuery);
  return (
    <Text size="xs" c="dimmed">
      {data && t("shell.version", { version: data.version })}
    </Text>
  );
}
