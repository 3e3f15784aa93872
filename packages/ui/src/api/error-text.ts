import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";
import { type Format, useFormat } from "../format/format.ts";
import { isApiError } from "./problem.ts";

/** What went wrong, as a sentence for the person at the page. */
export type ErrorText = (error: unknown) => string;

export function useErrorText(): ErrorText {
  const { t } = useTranslation();
  const format = useFormat();
  return (error) => describe(error, t, format);
}

function describe(error: unknown, t: TFunction, format: Format): string {
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
      return `${t("errors.invalid")} ${error.message}`;
    case "conflict":
      return `${t("errors.conflict")} ${error.message}`;
    case "forbidden":
    case "invalid_request":
    case "method_not_allowed":
    case "misdirected":
    case "no_usable_key":
    case "overloaded":
    case "pool_exhausted":
    case "token_limited":
    case "unauthorized":
    case "unsupported_media_type":
    case "upstream_timeout":
    case "upstream_unreachable":
      return error.message;
  }
}
