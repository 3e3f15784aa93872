import type { RecognisedAnswer } from "../../rules/recognised-answer.ts";

export const mistralAnswers: readonly RecognisedAnswer[] = [
  { status: [429], code: ["3505"], phrase: ["for this model"], means: "model_rate_limited" }, // MI, U
  { status: [429], code: ["rate_limited", "rate_limit_error", "1300", "3505"], means: "rate_limited" }, // MI, U
  { status: [403], phrase: ["model"], means: "model_unavailable" }, // MI
  { status: [404], code: ["unknown_model"], means: "model_missing" }, // MI
];

export const groqAnswers: readonly RecognisedAnswer[] = [
  { status: [400], code: ["organization_restricted"], means: "account_suspended" }, // NA
  { status: [413], code: ["rate_limit_exceeded"], means: "too_large_for_key" }, // GQ-iss
  {
    status: [429],
    code: ["rate_limit_exceeded"],
    phrase: ["request too large"],
    means: "too_large_for_key",
    // GQ-iss
  },
  { status: [429], code: ["rate_limit_exceeded"], means: "model_rate_limited" }, // GQ
  {
    status: [404],
    code: ["model_not_found"],
    phrase: ["you do not have access"],
    means: "model_ambiguous",
    // CX
  },
];

/** One `code` sentence serves content, permission and billing alike: the other sentence decides. */
export const xaiAnswers: readonly RecognisedAnswer[] = [
  { status: [400], phrase: ["incorrect api key"], means: "key_refused" }, // XA
  {
    status: [400, 403],
    phrase: ["usage guidelines", "safety_check_type", "rejected by content moderation"],
    means: "content_refused",
    // XA-iss, XA-src
  },
  {
    status: [429],
    phrase: ["used all available credits", "monthly spending limit", "doesn't have any credits"],
    means: "quota_exhausted",
    // XA-iss, XA-src
  },
  { status: [429], phrase: ["and model "], means: "model_rate_limited" }, // XA, R
];

export const togetherAnswers: readonly RecognisedAnswer[] = [
  {
    status: [400, 403],
    phrase: ["less than the context length", "maximum context length"],
    means: "context_too_long",
    // TG
  },
  { status: [429], phrase: ["model"], means: "model_rate_limited" }, // TG
];

export const fireworksAnswers: readonly RecognisedAnswer[] = [
  { status: [412], means: "account_suspended" }, // FW
  // The same 404 stands for "not there" and "not yours".
  { status: [404], phrase: ["model"], means: "model_ambiguous" }, // FW
];

export const cohereAnswers: readonly RecognisedAnswer[] = [
  { status: [400], phrase: ["too many tokens"], means: "context_too_long" }, // DD-CO
];

/** Its front door answers a bad key with nginx's own page. */
export const perplexityAnswers: readonly RecognisedAnswer[] = [
  { status: [401], page: true, phrase: ["401 authorization required"], means: "key_refused" }, // PK
];

export const nvidiaAnswers: readonly RecognisedAnswer[] = [
  { status: [404], phrase: ["not found for account"], means: "model_unavailable" }, // NV
];

export const cerebrasAnswers: readonly RecognisedAnswer[] = [
  {
    status: [429],
    code: ["token_quota_exceeded", "request_quota_exceeded", "too_many_tokens_error"],
    means: "model_rate_limited",
    // CB
  },
];

export const ollamaAnswers: readonly RecognisedAnswer[] = [
  { status: [404], phrase: ["not found"], means: "model_missing" }, // OL
];

export const vllmAnswers: readonly RecognisedAnswer[] = [
  { status: [400], phrase: ["maximum context length"], means: "context_too_long" }, // U
];
