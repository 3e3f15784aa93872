import type { TFunction } from "i18next";
import type { Notice } from "../../api/openapi.ts";

/** What a notice tells, whether from the list or from an event. */
export interface NoticeFacts {
  readonly code: Notice["code"];
  /** What the provider is called. */
  readonly provider: string;
  readonly facts: Notice["facts"];
}

export interface NoticeText {
  /** What happened. */
  readonly title: string;
  /** What to do about it. */
  readonly hint: string;
}

/** A notice in the language of the pages. */
export function noticeText({ code, provider, facts }: NoticeFacts, t: TFunction): NoticeText {
  const { host = "", variable, keys: count = 1, resting = 0, total = 0 } = facts;
  switch (code) {
    case "pool_exhausted":
      return {
        title:
          resting < total
            ? t("overview.noticeExhaustedPart", { provider })
            : t("overview.noticeExhausted", { provider }),
        hint:
          resting < total
            ? t("overview.noticeExhaustedPartHint", { resting, count: total })
            : t("overview.noticeExhaustedHint", { resting, count: total }),
      };
    case "no_usable_key":
      return { title: t("overview.noticeNoKey", { provider }), hint: t("overview.noticeNoKeyHint") };
    case "all_keys_refused":
      return { title: t("overview.noticeAllRefused", { host, provider }), hint: t("overview.noticeAllRefusedHint") };
    case "base_url_changed":
      return { title: t("overview.noticeBaseUrl", { provider }), hint: t("overview.noticeBaseUrlHint", { count }) };
    case "keys_limited_together":
      return { title: t("overview.noticeLimited", { provider }), hint: t("overview.noticeLimitedHint") };
    case "one_owner":
      return {
        title: t("overview.noticeOneOwner", { provider, owner: facts.owner ?? "" }),
        hint: t("overview.noticeOneOwnerHint"),
      };
    case "keys_unresolved":
      return {
        title: t("overview.noticeUnresolved", { provider, count }),
        hint:
          variable === undefined
            ? t("overview.noticeUnresolvedUnnamed")
            : t("overview.noticeUnresolvedHint", { variable: `$${variable}` }),
      };
    case "edge_block":
      return { title: t("overview.noticeEdge", { provider }), hint: t("overview.noticeEdgeHint", { host }) };
    case "region_refused":
      return { title: t("overview.noticeRegion", { provider }), hint: t("overview.noticeRegionHint", { host }) };
    case "not_an_api":
      return { title: t("overview.noticeNotApi", { host, provider }), hint: t("overview.noticeNotApiHint") };
    case "store_unavailable":
      return { title: t("overview.noticeStore"), hint: t("overview.noticeStoreHint") };
    case "store_damaged":
      return { title: t("overview.noticeDamage"), hint: t("overview.noticeDamageHint") };
    case "shared_state_unavailable":
      return { title: t("overview.noticeRedis"), hint: t("overview.noticeRedisHint") };
    case "master_key_wrong":
      return { title: t("overview.noticeMasterKey"), hint: t("overview.noticeMasterKeyHint") };
    case "overloaded":
      return overloadText(facts.reason, t);
    case "config_file_broken":
      return {
        title: t("overview.noticeConfig", { said: facts.said ?? "" }),
        hint: t("overview.noticeConfigHint", { file: facts.file ?? "keywheel.yaml" }),
      };
  }
}

/** Where the remedy is to be found: a part of the provider's page. */
export function remedyOf(code: Notice["code"]): "pool" | "settings" | undefined {
  switch (code) {
    case "pool_exhausted":
    case "no_usable_key":
    case "keys_limited_together":
    case "one_owner":
    case "keys_unresolved":
      return "pool";
    case "all_keys_refused":
    case "base_url_changed":
    case "edge_block":
    case "region_refused":
    case "not_an_api":
      return "settings";
    case "store_unavailable":
    case "store_damaged":
    case "shared_state_unavailable":
    case "master_key_wrong":
    case "overloaded":
    case "config_file_broken":
      return undefined;
  }
}

function overloadText(reason: Notice["facts"]["reason"], t: TFunction): NoticeText {
  switch (reason) {
    case "open_requests":
      return { title: t("overview.noticeFull"), hint: t("overview.noticeFullHint") };
    case "memory":
      return { title: t("overview.noticeMemory"), hint: t("overview.noticeMemoryHint") };
    case "event_loop":
    case undefined:
      return { title: t("overview.noticeLate"), hint: t("overview.noticeLateHint") };
  }
}
