import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Provider } from "../api/openapi.ts";
import { providersQuery } from "../api/queries.ts";

export interface ProviderSelectProps {
  /** Slug or id. */
  readonly value: string | undefined;
  readonly onChange: (slug: string | null) => void;
}

/** From so many on, they are searched rather than read. */
const searchFrom = 8;

/** One provider, or all. */
export function ProviderSelect({ value, onChange }: ProviderSelectProps): ReactNode {
  const { t } = useTranslation();
  const { data: providers = [] } = useQuery(providersQuery);
  return (
    <Select
      label={t("activity.filterProvider")}
      placeholder={t("activity.allProviders")}
      data={providers.map(({ slug, name }) => ({ value: slug, label: name }))}
      value={useProvider(value)?.slug ?? (value === "" ? null : (value ?? null))}
      onChange={onChange}
      clearable
      searchable={providers.length >= searchFrom}
      w={{ base: "100%", xs: 200 }}
    />
  );
}

/** @param idOrSlug undefined while none is chosen */
export function useProvider(idOrSlug: string | undefined): Provider | undefined {
  const { data: providers = [] } = useQuery(providersQuery);
  return providers.find(({ id, slug }) => id === idOrSlug || slug === idOrSlug);
}
