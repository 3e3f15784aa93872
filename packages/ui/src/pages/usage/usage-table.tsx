import { Box, Button, Group, Paper, Table, Text, UnstyledButton } from "@mantine/core";
import { IconArrowDown } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../format/format.ts";
import { countLabel, groupLabel } from "./count-label.ts";
import {
  type CountName,
  counts,
  type Group as UsageGroup,
  type GroupSum,
  noSums,
  plus,
  type Sums,
} from "./usage-sums.ts";
import classes from "./usage-table.module.css";

const shownAtFirst = 50;
const shownMore = 200;

export interface UsageTableProps {
  readonly sums: readonly GroupSum[];
  readonly group: UsageGroup;
}

/** The sums of each group, and of all. */
export function UsageTable({ sums, group }: UsageTableProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const [sort, setSort] = useState<CountName>("requests");
  const [shown, setShown] = useState(shownAtFirst);
  const sorted = [...sums].sort((one, other) => other.sums[sort] - one.sums[sort]);
  const total = sums.reduce((sum, { sums: own }) => plus(sum, own), noSums);
  const rest = sorted.length - shown;
  return (
    <Paper withBorder radius="md">
      <Box className={classes.scroll} tabIndex={0} role="group" aria-label={t("usage.tableLabel")}>
        <Table verticalSpacing="xs" horizontalSpacing="md" className={classes.table}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">{groupLabel(group, t)}</Table.Th>
              {counts.map((name) => (
                <Table.Th key={name} scope="col" ta="end" aria-sort={name === sort ? "descending" : "none"}>
                  <UnstyledButton className={classes.sort} onClick={() => setSort(name)}>
                    {countLabel(name, t)}
                    {name === sort && <IconArrowDown size={13} aria-hidden />}
                  </UnstyledButton>
                </Table.Th>
              ))}
              <Table.Th scope="col" ta="end">
                {t("usage.colShare")}
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {sorted.slice(0, shown).map(({ id, name, detail, sums: own }) => (
              <Table.Tr key={id}>
                <Table.Th scope="row" fw={500} className={classes.name}>
                  {name}
                  {detail !== "" && (
                    <Text span size="xs" c="dimmed" ml={6}>
                      {detail}
                    </Text>
                  )}
                </Table.Th>
                <Numbers sums={own} />
                <Table.Td ta="end">{format.percent(total[sort] === 0 ? 0 : own[sort] / total[sort])}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
          <Table.Tfoot>
            <Table.Tr>
              <Table.Th scope="row">{t("usage.total")}</Table.Th>
              <Numbers sums={total} isStrong />
              <Table.Td />
            </Table.Tr>
          </Table.Tfoot>
        </Table>
      </Box>
      {rest > 0 && (
        <Group p="sm">
          <Button variant="subtle" size="compact-sm" onClick={() => setShown((count) => count + shownMore)}>
            {t("usage.more", { count: Math.min(rest, shownMore) })}
          </Button>
        </Group>
      )}
    </Paper>
  );
}

function Numbers({ sums, isStrong = false }: { readonly sums: Sums; readonly isStrong?: boolean }): ReactNode {
  const format = useFormat();
  return counts.map((name) => (
    <Table.Td key={name} ta="end">
      <Text span size="sm" fw={isStrong ? 600 : 400} {...(sums[name] === 0 && { c: "dimmed" })}>
        {format.number(sums[name])}
      </Text>
    </Table.Td>
  ));
}
