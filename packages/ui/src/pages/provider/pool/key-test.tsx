import { CloseButton, Group, Loader, Text } from "@mantine/core";
import { IconCircleCheck, IconCircleX } from "@tabler/icons-react";
import type { TFunction } from "i18next";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useErrorText } from "../../../api/error-text.ts";
import type { KeyTestResult } from "../../../api/openapi.ts";
import { useFormat } from "../../../format/format.ts";
import classes from "./key-status.module.css";

/** A test of a key: under way, answered, or not even asked. */
export type KeyTest =
  | { readonly kind: "running" }
  | { readonly kind: "answered"; readonly result: KeyTestResult }
  | { readonly kind: "failed"; readonly error: unknown };

export interface KeyTestLineProps {
  readonly test: KeyTest;
  readonly onDismiss: () => void;
}

/** What came of a test, below the key's row until it is dismissed. */
export function KeyTestLine({ test, onDismiss }: KeyTestLineProps): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const errorText = useErrorText();
  if (test.kind === "running") {
    return (
      <Group gap={6} role="status">
        <Loader size={14} />
        <Text size="xs">{t("keys.testRunning")}</Text>
      </Group>
    );
  }
  const isOk = test.kind === "answered" && test.result.ok;
  const text =
    test.kind === "failed"
      ? t("keys.testFailed", { reason: errorText(test.error) })
      : test.result.ok
        ? t("keys.testOk", { duration: format.duration(test.result.duration_ms) })
        : t("keys.testFailed", { reason: reasonOf(test.result, t) });
  return (
    <Group gap={6} wrap="nowrap" role="status" className={isOk ? classes.available : classes.disabled}>
      {isOk ? <IconCircleCheck size={15} /> : <IconCircleX size={15} />}
      <Text size="xs" className={classes.said}>
        {text}
      </Text>
      <CloseButton size="xs" aria-label={t("keys.testDismiss")} onClick={onDismiss} />
    </Group>
  );
}

/** Why a key did not pass, as a sentence for the person at the page. */
export function useTestReason(): (result: KeyTestResult) => string {
  const { t } = useTranslation();
  return (result) => reasonOf(result, t);
}

function reasonOf({ code, http_status: status, message }: KeyTestResult, t: TFunction): string {
  if (code === "upstream_unreachable" || code === "upstream_timeout") return t("keys.testUnreachable");
  const answer = status === null ? [] : [t("keys.testStatus", { status })];
  return [...answer, ...(message === null ? [] : [message])].join(": ") || code;
}
