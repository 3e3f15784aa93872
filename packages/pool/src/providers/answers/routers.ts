import type { RecognisedAnswer } from "../../rules/recognised-answer.ts";

/** OpenRouter stands before other providers: what those refuse is not its key's fault. */
export const openrouterAnswers: readonly RecognisedAnswer[] = [
  { status: [402], code: ["in_flight_budget_exhausted"], means: "budget_in_flight" }, // DD-OR
  { status: [402], code: ["weight_exceeds_budget"], means: "too_large_for_key" }, // DD-OR
  { status: [429], code: ["capacity_exhausted"], means: "provider_busy" }, // OR
  { status: [429], marks: ["upstream_provider_code"], means: "provider_busy" }, // OR
  {
    status: [429],
    code: ["upstream_provider_shared_pool"],
    means: "provider_busy",
    // open-webui/computer #293
  },
  {
    status: [429],
    phrase: ["is temporarily rate-limited upstream"],
    means: "provider_busy",
    // open-webui/computer #293, Aculeasis/openrouter-proxy #1
  },
  { status: [403], code: ["region_restricted"], means: "region_refused" }, // OR
  { status: [403], marks: ["moderation_reasons"], means: "content_refused" }, // OR
  { status: [403], marks: ["guardrail_patterns"], means: "content_refused" }, // OR
  {
    status: [400, 403],
    code: ["content_policy_violation", "refusal"],
    means: "content_refused",
    // OR
  },
  { status: [403], code: ["permission_denied"], phrase: ["model"], means: "model_unavailable" }, // OR
  { status: [400], code: ["context_length_exceeded"], means: "context_too_long" }, // OR
  {
    status: [400, 404],
    code: ["model_not_found", "no_endpoints", "model_deprecated", "privacy_restricted", "constraint_filtered"],
    means: "model_missing",
    // OR
  },
];
