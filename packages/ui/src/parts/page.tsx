import { Box, Group, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./page.module.css";

export interface PageProps {
  readonly title: string;
  readonly description?: ReactNode;
  /** Above the title: the way back. */
  readonly above?: ReactNode;
  /** Beside the title. */
  readonly beside?: ReactNode;
  /** At the end of the title's line. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page with its heading, which is also the document's title. */
export function Page({ title, description, above, beside, actions, children }: PageProps): ReactNode {
  return (
    <Stack gap="lg" maw={1200} mx="auto">
      <title>{`${title} · Keywheel`}</title>
      <Stack gap={6}>
        {above}
        <Group justify="space-between" align="flex-start" gap="md">
          <Group gap="sm" align="center" miw={0}>
            <Title order={1} className={classes.title} lineClamp={3} title={title} dir="auto">
              {title}
            </Title>
            {beside}
          </Group>
          {actions}
        </Group>
        {description !== undefined && (
          <Text c="dimmed" size="sm" component="div">
            {description}
          </Text>
        )}
      </Stack>
      <Box>{children}</Box>
    </Stack>
  );
}
