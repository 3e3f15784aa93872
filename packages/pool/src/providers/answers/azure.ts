import type { RecognisedAnswer } from "../../rules/recognised-answer.ts";

/** One key is one resource: deployments and their limits are the key's own. */
export const azureAnswers: readonly RecognisedAnswer[] = [
  {
    status: [429],
    phrase: ["rate limit", "high demand"],
    means: "model_rate_limited",
    // DD-AZ, AZ
  },
  { status: [404], code: ["DeploymentNotFound"], means: "model_unavailable" }, // AZ-qa
  {
    status: [400, 403],
    code: ["content_filter", "ResponsibleAIPolicyViolation", "content_policy_violation"],
    means: "content_refused",
    // DD-AZ
  },
  {
    status: [400, 404],
    code: ["previous_response_not_found", "invalid_encrypted_content"],
    means: "object_of_other_key",
    // OA-iss
  },
  { status: [400, 403], code: ["context_length_exceeded"], means: "context_too_long" }, // U
];
