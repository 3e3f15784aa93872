import { Group, Stack, Text } from "@mantine/core";
import { IconBan, IconCircleCheck, IconHourglass, IconQuestionMark } from "@tabler/icons-react";
import type { TFunction } from "i18next";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Key, Settings, StatusReason } from "../../../api/openapi.ts";
import { type Format, useFormat } from "../../../format/format.ts";
import { keyInSentence } from "../../../parts/key-name.ts";
import { useTimeLeft } from "../../../parts/use-time-left.ts";
import { VariableState } from "./variable-state.tsx";
import classes from "./key-status.module.css";

type Reason = NonNullable<StatusReason>;

const looks = {
  available: { icon: IconCircleCheck, className: classes.available },
  cooling_down: { icon: IconHourglass, className: classes.cooling },
  disabled: { icon: IconBan, className: classes.disabled },
  unresolved: { icon: IconQuestionMark, className: classes.unresolved },
} as const;

export function statusLabel(status: Key["status"], t: TFunction): string {
  switch (status) {
    case "available":
      return t("keys.statusAvailable");
    case "cooling_down":
      return t("keys.statusCooling");
    case "disabled":
      return t("keys.statusDisabled");
    case "unresolved":
      return t("keys.statusUnresolved");
  }
}

/** The status of a key: a word, a sign and a colour, and for a cooldown the time left. */
export function KeyStatus({ value }: { readonly value: Key }): ReactNode {
  const { t } = useTranslation();
  const { icon: Icon, className } = looks[value.status];
  return (
    <Stack gap={2} align="flex-start">
      <Group gap={4} wrap="nowrap" className={className}>
        <Icon size={15} />
        <Text size="xs" fw={600} component="span">
          {statusLabel(value.status, t)}
        </Text>
      </Group>
      {value.status === "cooling_down" && value.cooldown_until !== null && <Back until={value.cooldown_until} />}
    </Stack>
  );
}

function Back({ until }: { readonly until: string }): ReactNode {
  const { t } = useTranslation();
  const left = useTimeLeft(until);
  return (
    <Text size="xs" role="timer" aria-live="off">
      {t("keys.back", { left })}
    </Text>
  );
}

/** What happened to a key, in a word. */
export function reasonLabel(code: Reason["code"], t: TFunction): string {
  switch (code) {
    case "rate_limited":
      return t("keys.reasonRateLimited");
    case "overloaded":
      return t("keys.reasonOverloaded");
    case "quota_exhausted":
      return t("keys.reasonQuota");
    case "authentication_failed":
      return t("keys.reasonAuth");
    case "model_unavailable":
      return t("keys.reasonModel");
    case "disabled_by_operator":
      return t("keys.reasonOperator");
    case "unresolved":
      return t("keys.reasonUnresolved");
    case "undecryptable":
      return t("keys.reasonUndecryptable");
  }
}

/** Why a key is not available, what the provider said, and what to do: below its row. */
export function KeyReason({ value, cooldown }: { readonly value: Key; readonly cooldown: Cooldown }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const { status, status_reason: reason } = value;
  if (status === "available" || !reason) return null;
  return (
    <Stack gap={2}>
      <Group gap={6}>
        <Text size="xs" fw={600}>
          {reasonLabel(reason.code, t)}
          {reason.http_status !== null && ` (${reason.http_status})`}
        </Text>
        {reason.code === "unresolved" && <VariableState reference={value.api_key} />}
        {sentences(value, reason, { t, format, cooldown }).map((sentence) => (
          <Text key={sentence} size="xs">
            {sentence}
          </Text>
        ))}
      </Group>
      {reason.message !== null && status !== "unresolved" && (
        <Text size="xs" c="dimmed" className={classes.said}>
          {t("keys.reasonSaid", { message: reason.message })}
        </Text>
      )}
    </Stack>
  );
}

type Cooldown = Settings["cooldown"];

/** The key that it rests with. */
function sharedName({ status_reason: reason }: Key, t: TFunction): string {
  return keyInSentence(reason?.shared_from ?? {}, t);
}

interface Words {
  readonly t: TFunction;
  readonly format: Format;
  readonly cooldown: Cooldown;
}

function sentences(key: Key, reason: Reason, words: Words): readonly string[] {
  const { t, format } = words;
  if (key.status === "cooling_down") return cooldownSentences(key, words);
  const facts = { when: format.dateTime(reason.at), status: String(reason.http_status ?? "–") };
  switch (reason.code) {
    case "authentication_failed":
      return [t("keys.reasonAuthText", facts), t("keys.reasonAuthHint")];
    case "quota_exhausted":
      return [t("keys.reasonQuotaText", facts), t("keys.reasonQuotaHint")];
    case "disabled_by_operator":
      return [t("keys.reasonOperatorText")];
    case "unresolved":
      return [t("keys.reasonUnresolvedHint")];
    case "undecryptable":
      return [t("keys.reasonUndecryptableText")];
    case "model_unavailable":
    case "overloaded":
    case "rate_limited":
      return [t("keys.reasonModelText", facts)];
  }
}

function cooldownSentences(key: Key, { t, format, cooldown }: Words): readonly string[] {
  const { consecutive_failures: count } = key;
  const wait = key.status_reason?.wait;
  if (wait === "shared") return [t("keys.waitShared", { name: sharedName(key, t) })];
  if (wait === "fixed") return [t("keys.waitFixed")];
  if (wait === "stated") return [t("keys.waitStated")];
  if (wait === "quota") return [t("keys.waitQuota")];
  const { base_ms: base, cap_ms: cap } = cooldown;
  const step = t("keys.waitLadder", { count, length: format.duration(Math.min(base * 2 ** (count - 1), cap)) });
  return count < 2 ? [step] : [step, t("keys.cooldownTooLong", { cap: format.duration(cap) })];
}
