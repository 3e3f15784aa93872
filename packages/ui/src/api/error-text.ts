import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";
import { type Format, useFormat } from "../format/format.ts";
import { faultText } from "./fault-text.ts";
import { type ApiError, isApiError } from "./problem.ts";

/** What went wrong, as a sentence for the person at the page. */
export type ErrorText = (error: unknown) => string;

export function useErrorText(): ErrorText {
  const { t } = useTranslation();
  const format = useFormat();
  return (error) => errorText(error, t, format);
}

export function errorText(error: unknown, t: TFunction, format: Format): string {
  if (!isApiError(error)) return error instanceof Error ? error.message : String(error);
  switch (error.code) {
    case "offline":
      return t("errors.offline");
    case "unreadable":
      return t("errors.unreadable", { status: error.status });
    case "too_many_attempts":
      return t("errors.tooManyAttempts", { wait: format.duration(error.retryAfterMs ?? 1_000) });
    case "store_unavailable":
      return t("errors.storeUnavailable");
    case "internal":
      return t("errors.internal");
    case "body_too_large":
      return t("errors.tooLarge");
    case "not_found":
    case "unknown_provider":
      return t("errors.notFound");
    case "validation_failed":
      return withFaults(t("errors.invalid"), error, t);
    case "conflict":
      return withFaults(t("errors.conflict"), error, t);
    case "forbidden":
      return t("errors.forbidden");
    case "invalid_request":
    case "method_not_allowed":
    case "unsupported_media_type":
      return t("errors.misunderstood");
    case "misdirected":
      return t("errors.misdirected");
    case "no_usable_key":
      return `${t("chat.noKey")}. ${t("chat.noKeyHint")}`;
    case "overloaded":
      return t("errors.overloaded");
    case "pool_exhausted":
      return `${t("chat.exhausted")}. ${t("chat.exhaustedHint")}`;
    case "token_limited":
      return t("errors.tokenLimited");
    case "unauthorized":
      return t("errors.signedOut");
    case "upstream_timeout":
      return `${t("chat.timeout")}. ${t("chat.timeoutHint")}`;
    case "upstream_unreachable":
      return `${t("chat.unreachable")}. ${t("chat.unreachableHint")}`;
  }
}

/** A form says it beside its fields; elsewhere all of it is told in one place. */
function withFaults(what: string, { errors }: ApiError, t: TFunction): string {
  return [what, ...new Set(errors.map((fault) => faultText(fault, fault.path, t)))].join(" ");
}
