import type { RecognisedAnswer } from "../../rules/recognised-answer.ts";

export const anthropicAnswers: readonly RecognisedAnswer[] = [
  {
    status: [429],
    code: ["enforced_spend_limit_reached"],
    means: "quota_exhausted",
    wait: "next-month",
    // DD-AN
  },
  // Plan tokens: a window that says it is used up, before the header that says why no credit may be used instead.
  {
    status: [429],
    header: ["anthropic-ratelimit-unified-status", "rejected"],
    means: "rate_limited",
    // CPA, CRS
  },
  {
    status: [429],
    header: ["anthropic-ratelimit-unified-overage-disabled-reason", "out_of_credits"],
    means: "quota_exhausted",
    // tombii/better-ccflare #261
  },
  // A rise too sharp is the organization's; other limits are kept per model class, and the sentence names its limit.
  {
    status: [429],
    code: ["rate_limit_error"],
    phrase: ["usage increase rate"],
    means: "rate_limited",
    // AN-err
  },
  {
    status: [429],
    code: ["rate_limit_error"],
    phrase: ["per minute", "per-minute"],
    means: "model_rate_limited",
    // AN-err, U
  },
  {
    status: [400],
    code: ["invalid_request_error"],
    phrase: ["credit balance is too low"],
    means: "quota_exhausted",
    // AN-iss
  },
  {
    status: [400],
    code: ["invalid_request_error"],
    phrase: ["api usage limits"],
    means: "quota_exhausted",
    wait: "stated",
    // DD-AN
  },
  { status: [400, 403], phrase: ["organization has been disabled"], means: "account_suspended" }, // AN-iss
  {
    status: [403],
    code: ["forbidden"],
    phrase: ["request not allowed"],
    means: "edge_blocked",
    // AN-iss
  },
  { status: [403], code: ["permission_error"], phrase: ["model"], means: "model_unavailable" }, // AN-err
  { status: [400], phrase: ["prompt is too long"], means: "context_too_long" }, // CCH
  { status: [413], code: ["request_too_large"], means: "request_refused" }, // AN-err
  { status: [404], code: ["not_found_error"], phrase: ["model:"], means: "model_missing" }, // AN-err
];
