import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { keysQuery } from "../api/queries.ts";
import { keyNameOf } from "./key-name.ts";

export interface KeySelectProps {
  /** Of which provider; undefined while none is chosen. */
  readonly providerId: string | undefined;
  readonly value: string | undefined;
  readonly onChange: (keyId: string | null) => void;
  readonly placeholder: string;
}

/** More are found by typing. */
const mostShown = 100;

/** One key of a provider. */
export function KeySelect({ providerId, value, onChange, placeholder }: KeySelectProps): ReactNode {
  const { t } = useTranslation();
  const { data: keys } = useQuery({ ...keysQuery(providerId ?? ""), enabled: providerId !== undefined });
  const options = useMemo(() => {
    const known = (keys ?? []).map((key) => ({ value: key.id, label: keyNameOf({ key_id: key.id, ...key }, t) }));
    // It may have been deleted since it served.
    const isGone = value !== undefined && keys !== undefined && known.every((option) => option.value !== value);
    return isGone ? [...known, { value, label: t("activity.keyGone") }] : known;
  }, [keys, value, t]);
  return (
    <Select
      label={t("activity.filterKey")}
      placeholder={providerId === undefined ? t("activity.chooseProvider") : placeholder}
      data={options}
      value={value ?? null}
      onChange={onChange}
      disabled={providerId === undefined}
      searchable
      clearable
      limit={mostShown}
      w={{ base: "100%", xs: 220 }}
    />
  );
}
