import { Box, Paper, Stack, Table, Text, Title } from "@mantine/core";
import type { TFunction } from "i18next";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { PoolAffinity } from "../../../api/openapi.ts";
import { useFormat } from "../../../format/format.ts";
import { leavingLabel } from "../../../parts/outcomes.ts";
import classes from "./affinity-tables.module.css";

/** By what requests were recognised, and why some had to leave their key. */
export function AffinityTables({ pool }: { readonly pool: PoolAffinity }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const { sources, reasons, left_share: leftShare } = pool;
  return (
    <>
      <Numbers
        title={t("affinity.sources")}
        head={[
          t("affinity.colSource"),
          t("affinity.colRequests"),
          t("affinity.colKept"),
          t("affinity.colNew"),
          t("affinity.colLeft"),
          t("affinity.colCached"),
        ]}
        rows={sources.map(({ source, requests, kept, new: first, left, cached_share: share }) => [
          sourceLabel(source, t),
          format.number(requests),
          format.number(kept),
          format.number(first),
          format.number(left),
          share === null ? "–" : format.percent(share),
        ])}
      />
      {reasons.length === 0 ? (
        <Text size="sm">{t("affinity.leftNone")}</Text>
      ) : (
        <Numbers
          title={t("affinity.reasons")}
          text={t("affinity.leftShare", { share: format.percent(leftShare ?? 0) })}
          head={[t("affinity.colReason"), t("affinity.colRequests"), t("affinity.colCached")]}
          rows={reasons.map(({ reason, requests, cached_share: share }) => [
            leavingLabel(reason, t),
            format.number(requests),
            share === null ? "–" : format.percent(share),
          ])}
        />
      )}
    </>
  );
}

interface NumbersProps {
  readonly title: string;
  readonly text?: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

function Numbers({ title, text, head, rows }: NumbersProps): ReactNode {
  return (
    <Paper withBorder radius="md" p="md">
      <Stack gap="xs">
        <Title order={2}>{title}</Title>
        {text !== undefined && <Text size="sm">{text}</Text>}
        <Box className={classes.scroll} tabIndex={0} role="group" aria-label={title}>
          <Table verticalSpacing="xs" {...(head.length > 3 && { className: classes.table })}>
            <Table.Thead>
              <Table.Tr>
                {head.map((name, at) => (
                  <Table.Th key={name} scope="col" ta={at === 0 ? "start" : "end"}>
                    {name}
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map(([name = "", ...cells]) => (
                <Table.Tr key={name}>
                  <Table.Th scope="row" fw={500}>
                    {name}
                  </Table.Th>
                  {cells.map((cell, at) => (
                    <Table.Td key={head[at + 1]} ta="end">
                      {cell}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Box>
      </Stack>
    </Paper>
  );
}

function sourceLabel(source: PoolAffinity["sources"][number]["source"], t: TFunction): string {
  switch (source) {
    case "session":
      return t("affinity.sourceSession");
    case "conversation":
      return t("affinity.sourceConversation");
    case "object":
      return t("affinity.sourceObject");
    case "none":
      return t("affinity.sourceNone");
  }
}
