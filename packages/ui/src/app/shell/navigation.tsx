import { NavLink, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "react-router";
import classes from "./shell.module.css";
import { places } from "../places.ts";

type Place = (typeof places)[number];

/** The pages, those that set something below a heading of their own. */
export function Navigation(): ReactNode {
  const { t } = useTranslation();
  return (
    <>
      {places
        .filter((place) => !isSetting(place))
        .map((place) => (
          <PlaceLink key={place.path} place={place} />
        ))}
      <Text size="xs" fw={600} c="dimmed" px="sm" pt="md" pb={4}>
        {t("shell.settings")}
      </Text>
      {places.filter(isSetting).map((place) => (
        <PlaceLink key={place.path} place={place} />
      ))}
    </>
  );
}

function PlaceLink({ place: { path, label, icon: Icon } }: { readonly place: Place }): ReactNode {
  const { t } = useTranslation();
  const { pathname } = useLocation();
  const isActive = pathname === path || pathname.startsWith(`${path}/`);
  return (
    <NavLink
      component={Link}
      to={path}
      label={t(label)}
      leftSection={<Icon size={18} stroke={1.6} />}
      active={isActive}
      className={classes.place}
      aria-current={isActive ? "page" : undefined}
    />
  );
}

function isSetting(place: Place): boolean {
  return "isSetting" in place && place.isSetting;
}
