import { Button, CloseButton, Group, List, Paper, Progress, Stack, Text, VisuallyHidden } from "@mantine/core";
import { IconCircleCheck, IconCircleX, IconPlayerStop, IconTestPipe } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useErrorText } from "../../../api/error-text.ts";
import type { Key } from "../../../api/openapi.ts";
import { useFormat } from "../../../format/format.ts";
import { nameOf } from "./key-facts.ts";
import { type KeyTest, useTestReason } from "./key-test.tsx";
import type { TestRun } from "./use-key-tests.ts";
import classes from "./test-run.module.css";

/** So many are named; all can be selected. */
const mostNamed = 3;

export interface TestRunPanelProps {
  readonly run: TestRun;
  readonly keys: readonly Key[];
  readonly tests: ReadonlyMap<string, KeyTest>;
  readonly onCancel: () => void;
  readonly onDismiss: () => void;
  readonly onSelect: (ids: readonly string[]) => void;
}

/** How far a test of many keys is, and what came of it. It stays in sight while the table scrolls. */
export function TestRunPanel({ run, keys, tests, onCancel, onDismiss, onSelect }: TestRunPanelProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const errorText = useErrorText();
  const { state, total, passed, refused } = run;
  const done = passed + refused.length;
  const isRunning = state === "running";
  const heading = {
    running: t("keys.testingMany", { done: format.number(done), count: total }),
    ended: t("keys.testedMany", { count: total }),
    cancelled: t("keys.testCancelled", { done: format.number(done), count: total }),
    failed: t("keys.testBroke", { done: format.number(done), count: total }),
  }[state];
  return (
    <Paper withBorder radius="md" p="md" className={classes.panel} role="region" aria-label={t("keys.testMany")}>
      {/* Not every step of the way is read out. */}
      <VisuallyHidden role="status">{isRunning ? "" : heading}</VisuallyHidden>
      <Stack gap="sm">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Group gap="xs" wrap="nowrap">
            <IconTestPipe size={18} aria-hidden />
            <Text fw={600} size="sm">
              {heading}
            </Text>
          </Group>
          {isRunning ? (
            <Button size="compact-sm" variant="default" leftSection={<IconPlayerStop size={14} />} onClick={onCancel}>
              {t("common.cancel")}
            </Button>
          ) : (
            <CloseButton size="sm" aria-label={t("keys.testDismiss")} onClick={onDismiss} />
          )}
        </Group>
        <Progress.Root size="sm" aria-hidden>
          <Progress.Section value={(passed / total) * 100} color="teal" />
          <Progress.Section value={(refused.length / total) * 100} color="red" />
        </Progress.Root>
        <Group gap="lg">
          <Group gap={6} wrap="nowrap">
            <IconCircleCheck size={16} className={classes.passed} aria-hidden />
            <Text size="sm">{t("keys.testsPassed", { count: passed })}</Text>
          </Group>
          <Group gap={6} wrap="nowrap">
            <IconCircleX size={16} className={refused.length > 0 ? classes.refused : classes.none} aria-hidden />
            <Text size="sm">{t("keys.testsRefused", { count: refused.length })}</Text>
          </Group>
          {refused.length > 0 && !isRunning && (
            <Button size="compact-sm" variant="default" onClick={() => onSelect(refused)}>
              {t("keys.selectRefused", { count: refused.length })}
            </Button>
          )}
        </Group>
        {run.error !== undefined && <Text size="sm">{errorText(run.error)}</Text>}
        {refused.length > 0 && <Refused refused={refused} keys={keys} tests={tests} />}
      </Stack>
    </Paper>
  );
}

function Refused({
  refused,
  keys,
  tests,
}: Pick<TestRunPanelProps, "keys" | "tests"> & Pick<TestRun, "refused">): ReactNode {
  const { t } = useTranslation();
  const reasonOf = useTestReason();
  const named = refused.slice(0, mostNamed).flatMap((id) => keys.find((key) => key.id === id) ?? []);
  const more = refused.length - named.length;
  return (
    <List size="sm" spacing={2} className={classes.list}>
      {named.map((key) => {
        const test = tests.get(key.id);
        return (
          <List.Item key={key.id}>
            <b>{nameOf(key)}</b>
            {test?.kind === "answered" && ` – ${reasonOf(test.result)}`}
          </List.Item>
        );
      })}
      {more > 0 && <List.Item>{t("keys.testsMore", { count: more })}</List.Item>}
    </List>
  );
}
