import type { RecognisedAnswer } from "../../rules/recognised-answer.ts";

/** The limit is concurrency, counted per model. */
export const deepseekAnswers: readonly RecognisedAnswer[] = [
  { status: [429], code: ["rate_limit_error"], means: "model_rate_limited" }, // DS
];

/** Three unlike things share 429: the type decides. */
export const moonshotAnswers: readonly RecognisedAnswer[] = [
  { status: [429], code: ["engine_overloaded_error"], means: "provider_busy" }, // KM
  { status: [400, 429], code: ["exceeded_current_quota_error"], means: "quota_exhausted" }, // KM
  { status: [429], code: ["rate_limit_reached_error"], means: "rate_limited" }, // KM
  { status: [400], code: ["content_filter"], means: "content_refused" }, // KM
  { status: [400], phrase: ["exceeded model token limit"], means: "context_too_long" }, // KM
  { status: [404], code: ["resource_not_found_error"], means: "model_missing" }, // KM
];

/** The status says next to nothing, so the inner code decides under any of them. */
export const zhipuAnswers: readonly RecognisedAnswer[] = [
  { code: ["1000", "1001", "1002", "1003", "1004", "1005"], means: "key_refused" }, // ZP
  { code: ["1110", "1111", "1112", "1121"], means: "account_suspended" }, // ZP
  { code: ["1113"], means: "quota_exhausted" }, // ZP
  { code: ["1309"], means: "quota_exhausted" }, // ZP
  { code: ["1220", "1311"], means: "model_unavailable" }, // ZP
  { code: ["1211", "1222"], means: "model_missing" }, // ZP
  { code: ["1261"], means: "context_too_long" }, // ZP
  { code: ["1301"], means: "content_refused" }, // ZP
  { code: ["1305", "1312"], means: "provider_busy" }, // ZP
  { code: ["1234"], means: "provider_error" }, // ZP
  { code: ["1302", "1303"], means: "model_rate_limited" }, // ZP
  { code: ["1304", "1308", "1310", "1313"], means: "rate_limited" }, // ZP
];

/** `insufficient_quota` is an allocated rate here, unlike OpenAI's. */
export const dashscopeAnswers: readonly RecognisedAnswer[] = [
  { status: [400, 429], code: ["Arrearage"], means: "quota_exhausted" }, // AL
  { status: [400], code: ["InvalidApiKey", "invalid_api_key"], means: "key_refused" }, // AL
  { status: [403], code: ["AllocationQuota.FreeTierOnly"], means: "model_unavailable" }, // AL
  {
    status: [403],
    code: ["AccessDenied", "access_denied", "Model.AccessDenied", "AccessDenied.Unpurchased"],
    means: "model_unavailable",
    // AL, U
  },
  {
    status: [400, 403],
    code: ["DataInspectionFailed", "data_inspection_failed"],
    means: "content_refused",
    // U
  },
  {
    status: [429],
    code: [
      "Throttling",
      "Throttling.RateQuota",
      "Throttling.AllocationQuota",
      "Throttling.BurstRate",
      "insufficient_quota",
      "limit_requests",
      "limit_burst_rate",
    ],
    means: "model_rate_limited",
    // AL, U
  },
  { status: [400], phrase: ["range of input length"], means: "context_too_long" }, // AL
  { status: [404], code: ["ModelNotFound", "model_not_found"], means: "model_missing" }, // AL
];

export const siliconflowAnswers: readonly RecognisedAnswer[] = [
  { status: [403], phrase: ["real-name", "real name", "实名"], means: "model_unavailable" }, // SF
  { status: [429], phrase: ["rpm", "rpd", "tpm", "tpd", "ipm", "ipd"], means: "model_rate_limited" }, // SF
  { status: [400], code: ["20012"], means: "model_missing" }, // SF
];
