import { EmptyState, Group, Paper } from "@mantine/core";
import type { ReactNode } from "react";

export interface NoneYetProps {
  readonly icon: ReactNode;
  readonly title: string;
  /** What such a thing is for. */
  readonly description: ReactNode;
  /** What to do first. */
  readonly actions: ReactNode;
}

/** Stands where a list will: says what it is a list of, and how to begin. */
export function NoneYet({ icon, title, description, actions }: NoneYetProps): ReactNode {
  return (
    <Paper withBorder p={{ base: "md", sm: "xl" }} radius="lg">
      <EmptyState variant="light" icon={icon} title={title} description={description} maw={560} mx="auto">
        <EmptyState.Actions>
          <Group justify="center">{actions}</Group>
        </EmptyState.Actions>
      </EmptyState>
    </Paper>
  );
}
