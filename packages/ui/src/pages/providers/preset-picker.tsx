import { SimpleGrid, Stack, Text, TextInput, UnstyledButton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconPlus, IconSearch } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { ProviderPreset } from "../../api/openapi.ts";
import { presetsQuery } from "../../api/queries.ts";
import classes from "./preset-picker.module.css";

export interface PresetPickerProps {
  /** @param preset undefined for an address that is in no list */
  readonly onPick: (preset: ProviderPreset | undefined) => void;
}

/** The known providers, to choose one from. */
export function PresetPicker({ onPick }: PresetPickerProps): ReactNode {
  const { t } = useTranslation();
  const { data: presets = [] } = useQuery(presetsQuery);
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const found = presets.filter(({ name, base_url }) => `${name} ${base_url}`.toLowerCase().includes(wanted));
  return (
    <Stack gap="md">
      <TextInput
        type="search"
        aria-label={t("providers.searchPresets")}
        placeholder={t("providers.searchPresets")}
        leftSection={<IconSearch size={16} />}
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
        data-autofocus
      />
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="sm">
        {found.map((preset) => (
          <Choice key={preset.slug} title={preset.name} text={hostOf(preset.base_url)} onClick={() => onPick(preset)} />
        ))}
        <Choice
          title={t("providers.chosenOther")}
          text={t("providers.chosenOtherHint")}
          icon={<IconPlus size={16} />}
          onClick={() => onPick(undefined)}
        />
      </SimpleGrid>
    </Stack>
  );
}

interface ChoiceProps {
  readonly title: string;
  readonly text: string;
  readonly icon?: ReactNode;
  readonly onClick: () => void;
}

function Choice({ title, text, icon, onClick }: ChoiceProps): ReactNode {
  return (
    <UnstyledButton className={classes.choice} onClick={onClick}>
      <Text fw={600} size="sm" className={classes.title}>
        {icon}
        {title}
      </Text>
      <Text c="dimmed" size="xs" className={classes.text}>
        {text}
      </Text>
    </UnstyledButton>
  );
}

function hostOf(baseUrl: string): string {
  return baseUrl.replace(/^https?:\/\//, "").split("/", 1)[0] ?? baseUrl;
}
