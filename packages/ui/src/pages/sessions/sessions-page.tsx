import { Alert, Group, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconHelpCircle, IconSearch } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import type { SessionFilter } from "../../api/queries.ts";
import { Page } from "../../parts/page.tsx";
import { PoolSelect } from "../../parts/pool-select.tsx";
import { useFilter } from "../../parts/use-filter.ts";
import { SessionTable } from "./session-table.tsx";

const filterNames = ["provider", "key", "q"] as const;
const typingMs = 250;

/** Which key each session is bound to. */
export function SessionsPage(): ReactNode {
  const { t } = useTranslation();
  const [filter, change] = useFilter(filterNames);
  return (
    <Page title={t("sessions.heading")} description={t("sessions.intro")}>
      <Stack>
        <Alert icon={<IconHelpCircle />} title={t("sessions.helpHeading")}>
          <Text size="sm" c="var(--mantine-color-text)">
            {t("sessions.helpText")} {t("sessions.affinityOff")}
          </Text>
        </Alert>
        <Filters filter={filter} onChange={change} />
        <SessionTable key={JSON.stringify(filter)} filter={filter} />
      </Stack>
    </Page>
  );
}

interface FiltersProps {
  readonly filter: SessionFilter;
  readonly onChange: (changes: SessionFilter) => void;
}

function Filters({ filter, onChange }: FiltersProps): ReactNode {
  const { t } = useTranslation();
  const [typed, setTyped] = useState(filter.q ?? "");
  const look = useDebouncedCallback((q: string) => onChange({ q: q.trim() }), typingMs);
  return (
    <Group gap="sm" align="flex-end">
      <TextInput
        type="search"
        label={t("sessions.search")}
        leftSection={<IconSearch size={16} />}
        maxLength={200}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          look(event.currentTarget.value);
        }}
        w={{ base: "100%", xs: 260 }}
      />
      <PoolSelect filter={filter} onChange={onChange} />
    </Group>
  );
}
