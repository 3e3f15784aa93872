import { AppShell, Burger, Group, ScrollArea, Skeleton, Stack, Text, VisuallyHidden } from "@mantine/core";
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
  return (
    <Frame
      beside={
        <Group gap="xs" wrap="nowrap">
          <LiveBadge />
          <Preferences />
        </Group>
      }
      below={<Version />}
    >
      <Outlet />
      <SignInAgain />
    </Frame>
  );
}

/** The same while it is asked who is signed in: a slow gateway leaves no blank page. */
export function ShellToCome(): ReactNode {
  const { t } = useTranslation();
  return (
    <Frame>
      <Stack gap="lg" maw={1200} mx="auto" role="status" aria-busy aria-label={t("shell.loading")}>
        <VisuallyHidden component="h1">{t("shell.loading")}</VisuallyHidden>
        <Skeleton h={32} w="12rem" radius="md" />
        <Skeleton h={240} radius="md" />
      </Stack>
    </Frame>
  );
}

interface FrameProps {
  /** At the end of the header. */
  readonly beside?: ReactNode;
  /** At the foot of the navigation. */
  readonly below?: ReactNode;
  readonly children: ReactNode;
}

function Frame({ beside, below, children }: FrameProps): ReactNode {
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
          {beside}
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label={t("shell.navigation")}>
        <AppShell.Section grow component={ScrollArea}>
          <Navigation />
        </AppShell.Section>
        <AppShell.Section px="sm">{below}</AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1} className={classes.main}>
        {children}
      </AppShell.Main>
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
