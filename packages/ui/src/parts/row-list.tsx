import { Box, Group, Paper, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./row-list.module.css";

export interface RowListProps {
  /** What it is a list of, for those who do not see the heading. */
  readonly label: string;
  readonly children: ReactNode;
}

/** Things below each other, each in a frame of its own: `ListRow`. */
export function RowList({ label, children }: RowListProps): ReactNode {
  return (
    <Stack component="ul" gap="sm" m={0} p={0} role="list" aria-label={label}>
      {children}
    </Stack>
  );
}

export interface ListRowProps {
  /** What can be done with it, at its end, or below the text where there is no room. */
  readonly actions: ReactNode;
  /** What it unfolds; nothing by default. */
  readonly below?: ReactNode;
  /** What it is, line by line. */
  readonly children: ReactNode;
}

/** One thing of a `RowList`. */
export function ListRow({ actions, below, children }: ListRowProps): ReactNode {
  return (
    <Paper component="li" withBorder radius="md" px="md" py="sm" className={classes.row}>
      <Stack gap="sm">
        <Group justify="space-between" gap="sm">
          <Box className={classes.text}>
            <Stack gap={6}>{children}</Stack>
          </Box>
          <Group gap="xs" justify="flex-end" className={classes.action}>
            {actions}
          </Group>
        </Group>
        {below}
      </Stack>
    </Paper>
  );
}
