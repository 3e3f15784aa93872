import type { TFunction } from "i18next";
import type { Notice, Provider, RecentEvent } from "../../api/openapi.ts";
import type { Format } from "../../format/format.ts";
import { keyInSentence } from "../../parts/key-name.ts";
import { reasonLabel } from "../provider/pool/key-status.tsx";
import { noticeText } from "./notice-text.ts";

type ReasonCode = Parameters<typeof reasonLabel>[0];

export interface EventWords {
  readonly t: TFunction;
  readonly format: Format;
  readonly providers: readonly Provider[];
}

/** What happened, in a sentence; undefined for what is told in no list. */
export function eventText(event: RecentEvent, words: EventWords): string | undefined {
  const { t } = words;
  const found = words.providers.find(({ id }) => id === event.provider_id);
  const provider = found?.name ?? t("overview.goneProvider");
  const key = keyInSentence(event, t) || t("activity.keyGone");
  const count = event.key_ids?.length ?? 1;
  const isGone = found === undefined && event.provider_id !== undefined;
  const isKeyGone = key === t("activity.keyGone");
  switch (event.type) {
    case "key-cooled":
      return cooledText(event, { ...words, provider, key });
    case "key-disabled":
      return t("overview.eventKeyDisabled", { key, provider, reason: reasonLabel(event.reason as ReasonCode, t) });
    case "key-recovered":
      return t("overview.eventKeyRecovered", { key, provider });
    case "key-created":
      if (count > 1) return t("overview.eventKeysCreated", { count, provider });
      if (isKeyGone) return t("overview.eventKeyCreatedGone", { provider });
      return t("overview.eventKeyCreated", { key, provider });
    case "key-changed":
      if (count > 1) return t("overview.eventKeysChanged", { count, provider });
      return t("overview.eventKeyChanged", { key, provider });
    case "key-deleted":
      if (count > 1) return t("overview.eventKeysDeleted", { count, provider });
      return t("overview.eventKeyDeleted", { provider });
    case "key-order-changed":
      return t("overview.eventOrder", { provider });
    case "provider-created":
      return isGone ? t("overview.eventProviderCreatedGone") : t("overview.eventProviderCreated", { provider });
    case "provider-changed":
      return isGone ? t("overview.eventProviderChangedGone") : t("overview.eventProviderChanged", { provider });
    case "provider-deleted":
      return t("overview.eventProviderDeleted");
    case "token-created":
      return t("overview.eventTokenCreated");
    case "token-changed":
      return t("overview.eventTokenChanged");
    case "token-deleted":
      return t("overview.eventTokenDeleted");
    case "session-ended":
      return t("overview.eventSessionEnded", { session: String(event.session_id) });
    case "notice": {
      const facts = event.facts as Notice["facts"];
      const { title } = noticeText({ code: event.code as Notice["code"], provider, facts }, t);
      return event.resolved_at === null ? title : t("overview.eventNoticeOver", { notice: title });
    }
    case "attempt-ended":
    case "request-finished":
    case "binding-moved":
    case "pool-exhausted":
      return undefined;
  }
}

function cooledText(
  event: RecentEvent,
  { t, format, provider, key }: EventWords & { readonly provider: string; readonly key: string },
): string {
  const reason = reasonLabel(event.reason as ReasonCode, t);
  const duration = format.duration(
    Math.round((Date.parse(String(event.until)) - Date.parse(event.at)) / 1_000) * 1_000,
  );
  if (typeof event.model === "string")
    return t("overview.eventKeyCooledModel", { key, provider, duration, reason, model: event.model });
  return t("overview.eventKeyCooled", { key, provider, duration, reason });
}
