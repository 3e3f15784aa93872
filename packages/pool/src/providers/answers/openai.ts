import type { RecognisedAnswer } from "../../rules/recognised-answer.ts";

/** Refusals of what was asked for: the same on every key, and rotating them would flag the other accounts too. */
const refusedContent = [
  "content_policy_violation",
  "content_filter",
  "moderation_blocked",
  "cyber_policy",
  "invalid_prompt",
  "bio_policy",
  "image_content_policy_violation",
];

/** Billing told as a rate limit. `billing_not_active` and the hard limit have been seen as 400 too. */
const billing = [
  "insufficient_quota",
  "credit_balance_exhausted",
  "organization_usage_limit_exceeded",
  "organization_spend_limit_exceeded",
  "project_spend_limit_exceeded",
  "billing_not_active",
  "billing_hard_limit_reached",
];

export const openaiAnswers: readonly RecognisedAnswer[] = [
  { status: [400, 429], code: billing, means: "quota_exhausted" }, // OA-429, MS, NA
  { status: [429], code: ["usage_not_included"], means: "quota_exhausted" }, // CX, CPA
  { status: [429], code: ["usage_limit_reached"], means: "rate_limited" }, // CX, CPA
  {
    status: [413, 429],
    code: ["rate_limit_exceeded"],
    phrase: ["request too large"],
    means: "too_large_for_key",
    // GQ-iss
  },
  {
    status: [429],
    code: ["rate_limit_exceeded", "slow_down"],
    means: "model_rate_limited",
    // GQ-iss, CX, DD-OA
  },
  { status: [403], code: ["unsupported_country_region_territory"], means: "region_refused" }, // OA-err
  { status: [400, 403], code: refusedContent, means: "content_refused" }, // OA-spec, CX
  { status: [401, 403], phrase: ["missing scopes"], means: "model_unavailable" }, // U
  { status: [401, 403], code: ["model_not_found"], means: "model_unavailable" }, // U
  { status: [403, 404], phrase: ["must be verified to use the model"], means: "model_unavailable" }, // U
  {
    status: [400, 404],
    code: ["previous_response_not_found", "invalid_encrypted_content"],
    means: "object_of_other_key",
    // CPA, OA-iss
  },
  { status: [404], phrase: ["no such file object"], means: "object_of_other_key" }, // CPA, OA-iss
  {
    status: [404],
    code: ["model_not_found"],
    phrase: ["you do not have access"],
    means: "model_ambiguous",
    // CX
  },
  { status: [404], code: ["model_not_found"], means: "model_missing" }, // CX
  { status: [400, 403], code: ["context_length_exceeded"], means: "context_too_long" }, // CX
];

/** Of the billing codes those that no other provider uses for anything else: not `insufficient_quota`. */
const unmistakableBilling = billing.filter((code) => code !== "insufficient_quota");

/** What is beyond doubt wherever OpenAI's dialect is spoken; the meaning of its other codes is each provider's own. */
export const openaiCompatibleAnswers: readonly RecognisedAnswer[] = [
  { status: [400, 429], code: unmistakableBilling, means: "quota_exhausted" }, // OA-429, MS, NA
  { status: [400], code: ["API_KEY_INVALID"], means: "key_refused" }, // DD-G, G-iss
  { status: [403], marks: ["moderation_reasons"], means: "content_refused" }, // OR
  { status: [403], marks: ["guardrail_patterns"], means: "content_refused" }, // OR
  { status: [403], code: ["unsupported_country_region_territory"], means: "region_refused" }, // OA-err
  { status: [400, 403], code: refusedContent, means: "content_refused" }, // OA-spec, CX
  { status: [400, 403], code: ["context_length_exceeded"], means: "context_too_long" }, // CX
  {
    status: [403],
    code: ["model_not_found"],
    phrase: ["does not have access to model", "do not have access"],
    means: "model_unavailable",
    // U
  },
  {
    status: [404],
    code: ["model_not_found"],
    phrase: ["does not exist or you do not have access"],
    means: "model_ambiguous",
    // CX
  },
];
