import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { anAnswer } from "../../../../testkit/src/provider-answers.ts";
import { judge } from "../../rules/judge.ts";
import { type AnswerPreset, answerRulesFor } from "./index.ts";

/** Kind, then preset, of those whose kind is not "openai-compatible". */
const kindOf = { openai: "openai", anthropic: "anthropic", gemini: "gemini", azure: "azure-openai" } as const;

function codeOf(preset: AnswerPreset, status: number, body: unknown): string {
  const kind = preset in kindOf ? kindOf[preset as keyof typeof kindOf] : "openai-compatible";
  return judge(anAnswer({ status, body }), answerRulesFor(kind, preset)).code;
}

const error = (code: string, message = "m") => ({ error: { code, message } });
const says = (message: string) => ({ error: { message } });

/** Rows of the reference for which there is no recorded answer. @see reference "Failure tables" */
const rows: readonly (readonly [AnswerPreset, number, unknown, string])[] = [
  // 5.1 Rate limits
  [
    "openai",
    429,
    { error: { type: "requests", code: "rate_limit_exceeded", message: "Rate limit reached" } },
    "model_rate_limited",
  ],
  ["anthropic", 429, { error: { type: "rate_limit_error", message: "usage rose too sharply" } }, "rate_limited"],
  [
    "gemini",
    429,
    { error: { status: "RESOURCE_EXHAUSTED", details: [{ violations: [{ quotaId: "SpendPerTenMinutes" }] }] } },
    "rate_limited",
  ],
  [
    "gemini",
    429,
    { error: { status: "RESOURCE_EXHAUSTED", details: [{ violations: [{ quotaId: "RequestsPerDayPerProject" }] }] } },
    "rate_limited",
  ],
  [
    "azure",
    429,
    error("429", "The system is experiencing high demand. Please retry after 10 seconds."),
    "model_rate_limited",
  ],
  ["openrouter", 429, { error: { code: 429, message: "m", metadata: { provider_code: "too_many" } } }, "provider_busy"],
  [
    "openrouter",
    429,
    {
      error: {
        code: 429,
        message: "Provider returned error",
        metadata: { raw: "x/y:free is temporarily rate-limited upstream. Please retry shortly", provider_name: "P" },
      },
    },
    "provider_busy",
  ],
  [
    "openrouter",
    429,
    {
      error: {
        code: 429,
        message: "Provider returned error",
        metadata: { limit_source: "upstream_provider_shared_pool" },
      },
    },
    "provider_busy",
  ],
  ["openrouter", 429, { error: { code: 429, message: "Provider returned error" } }, "rate_limited"],
  [
    "mistral",
    429,
    { object: "error", code: "3505", message: "Service tier capacity exceeded for this model." },
    "model_rate_limited",
  ],
  ["groq", 429, error("rate_limit_exceeded", "Request too large for model `x`"), "too_large_for_key"],
  ["xai", 429, says("Too many requests for team t and model grok-4."), "model_rate_limited"],
  ["together", 429, says("You have reached the rate limit specific to this model"), "model_rate_limited"],
  ["fireworks", 429, says("Too many tokens"), "rate_limited"],
  ["zhipu", 429, error("1303"), "model_rate_limited"],
  ["zhipu", 429, error("1304"), "rate_limited"],
  ["zhipu", 429, error("1310"), "rate_limited"],
  ["zhipu", 429, error("1313"), "rate_limited"],
  ["dashscope", 429, { code: "Throttling.AllocationQuota", message: "m" }, "model_rate_limited"],
  ["dashscope", 429, error("limit_requests"), "model_rate_limited"],
  ["siliconflow", 429, "Request was rejected due to rate limiting. Details: TPM limit reached.", "model_rate_limited"],
  ["nvidia", 429, { status: 429, title: "Too Many Requests" }, "rate_limited"],
  ["cerebras", 429, { code: "request_quota_exceeded", message: "m" }, "model_rate_limited"],
  ["cerebras", 429, { type: "queue_exceeded", message: "m" }, "rate_limited"],
  ["perplexity", 429, says("m"), "rate_limited"],

  [
    "anthropic",
    429,
    {
      error: {
        type: "rate_limit_error",
        message:
          "This request would exceed your organization's maximum usage increase rate for input tokens per minute",
      },
    },
    "rate_limited",
  ],
  [
    "azure",
    429,
    error("429", "Your requests have exceeded token rate limit for your current pricing tier."),
    "model_rate_limited",
  ],

  // 5.2 Quota and billing
  ["openai", 429, error("organization_spend_limit_exceeded"), "quota_exhausted"],
  ["openai", 429, error("organization_usage_limit_exceeded"), "quota_exhausted"],
  ["openai", 400, error("billing_hard_limit_reached"), "quota_exhausted"],
  ["openai", 429, { error: { type: "usage_not_included" } }, "quota_exhausted"],
  [
    "anthropic",
    400,
    {
      error: { type: "invalid_request_error", message: "You have reached your specified workspace API usage limits." },
    },
    "quota_exhausted",
  ],
  [
    "gemini",
    429,
    { error: { status: "RESOURCE_EXHAUSTED", message: "Your prepayment credits are depleted." } },
    "quota_exhausted",
  ],
  ["openrouter", 402, { error: { code: 402, metadata: { error_type: "weight_exceeds_budget" } } }, "too_large_for_key"],
  ["mistral", 402, {}, "quota_exhausted"],
  ["cohere", 402, { message: "m" }, "quota_exhausted"],
  [
    "xai",
    429,
    says("Your team has either used all available credits or reached its monthly spending limit."),
    "quota_exhausted",
  ],
  ["xai", 403, says("Your newly created team doesn't have any credits yet."), "key_refused"],
  ["zhipu", 429, error("1309"), "quota_exhausted"],
  ["dashscope", 400, { code: "Arrearage", message: "m" }, "quota_exhausted"],

  // 5.3 The provider's own faults
  ["openai", 503, error("slow_down"), "provider_error"],
  ["gemini", 504, { error: { status: "DEADLINE_EXCEEDED" } }, "provider_error"],
  [
    "gemini",
    429,
    { error: { status: "RESOURCE_EXHAUSTED", details: [{ reason: "MODEL_CAPACITY_EXHAUSTED" }] } },
    "provider_busy",
  ],
  ["zhipu", 429, error("1312"), "provider_busy"],
  ["zhipu", 400, error("1234"), "provider_error"],
  ["siliconflow", 503, { code: 50505, message: "m" }, "provider_error"],

  // 5.4 Refused keys
  ["openai", 401, error("account_deactivated"), "key_refused"],
  [
    "gemini",
    403,
    { error: { status: "PERMISSION_DENIED", details: [{ reason: "API_KEY_SERVICE_BLOCKED" }] } },
    "key_refused",
  ],
  [
    "anthropic",
    403,
    { error: { type: "permission_error", message: "This organization has been disabled." } },
    "account_suspended",
  ],
  ["zhipu", 401, error("1001"), "key_refused"],
  ["zhipu", 200, error("1002"), "key_refused"],
  ["zhipu", 429, error("1112"), "account_suspended"],
  ["dashscope", 400, error("invalid_api_key"), "key_refused"],
  ["nvidia", 403, { status: 403, title: "Forbidden", detail: "Authorization failed" }, "key_refused"],
  ["cohere", 401, { message: "invalid api token" }, "key_refused"],
  ["ollama", 401, { error: "unauthorized", signin_url: "https://example.com" }, "key_refused"],

  // 5.5 Permission, region
  ["openai", 403, says("Your organization must be verified to use the model `x`."), "model_unavailable"],
  ["openrouter", 403, { error: { message: "m", availability: { code: "region_restricted" } } }, "region_refused"],
  [
    "openrouter",
    403,
    { error: { code: 403, message: "no access to this model", metadata: { error_type: "permission_denied" } } },
    "model_unavailable",
  ],
  ["mistral", 403, { message: "Your workspace tier does not include this model" }, "model_unavailable"],
  ["siliconflow", 403, { code: 30003, message: "Model needs real-name verification" }, "model_unavailable"],
  ["zhipu", 403, error("1220"), "model_unavailable"],
  ["zhipu", 429, error("1311"), "model_unavailable"],
  ["dashscope", 403, error("Model.AccessDenied"), "model_unavailable"],
  ["fireworks", 404, error("NOT_FOUND", "Model not found, inaccessible, and/or not deployed"), "model_ambiguous"],

  // 5.6 Content
  ["openai", 400, error("moderation_blocked"), "content_refused"],
  ["openai", 400, error("invalid_prompt"), "content_refused"],
  ["openrouter", 400, { error: { code: 400, metadata: { error_type: "refusal" } } }, "content_refused"],
  ["xai", 400, says("Generated image rejected by content moderation."), "content_refused"],
  ["moonshot", 400, { error: { type: "content_filter" } }, "content_refused"],
  ["zhipu", 400, error("1301"), "content_refused"],
  ["dashscope", 400, { code: "DataInspectionFailed", message: "m" }, "content_refused"],

  // 5.7 Models, sizes, schemas
  ["openrouter", 404, { error: { availability: { code: "no_endpoints" } } }, "model_missing"],
  ["mistral", 404, { code: "unknown_model", message: "m" }, "model_missing"],
  ["moonshot", 404, { error: { type: "resource_not_found_error" } }, "model_missing"],
  ["moonshot", 400, says("Invalid request: Your request exceeded model token limit: 8192"), "context_too_long"],
  ["zhipu", 400, error("1211"), "model_missing"],
  ["zhipu", 400, error("1261"), "context_too_long"],
  ["dashscope", 404, error("ModelNotFound"), "model_missing"],
  ["siliconflow", 400, { code: 20012, message: "m" }, "model_missing"],
  ["cohere", 400, { message: "too many tokens: 9000" }, "context_too_long"],
  ["gemini", 404, { error: { code: 404, status: "NOT_FOUND" } }, "model_missing"],
  [
    "groq",
    404,
    error("model_not_found", "The model `x` does not exist or you do not have access to it."),
    "model_ambiguous",
  ],

  // 5.9 Nearly, but not: the phrase is missing or stands elsewhere
  ["xai", 403, says("The caller does not have permission"), "key_refused"],
  ["anthropic", 400, { error: { type: "invalid_request_error", message: "credit: balance" } }, "request_refused"],
  [
    "anthropic",
    429,
    { error: { type: "rate_limit_error", message: "m" }, prompt: "credit balance is too low" },
    "rate_limited",
  ],
  ["openai", 404, error("model_not_found", "The model `x` has been removed."), "model_missing"],
];

describe("answers that providers are known to give", () => {
  it.each(rows)("%s %i %j means %s", (preset, status, body, expected) => {
    expect(codeOf(preset, status, body)).toBe(expected);
  });
});

const presets: readonly AnswerPreset[] = [
  "openai",
  "anthropic",
  "gemini",
  "azure",
  "openrouter",
  "deepseek",
  "mistral",
  "groq",
  "xai",
  "together",
  "fireworks",
  "moonshot",
  "zhipu",
  "dashscope",
  "siliconflow",
  "cohere",
  "perplexity",
  "nvidia",
  "cerebras",
  "ollama",
  "lmstudio",
  "vllm",
];

it.each(["anthropic", "azure", "chinese-clouds", "clouds", "gemini", "openai", "routers"])(
  "%s.ts names the source of each answer beside it",
  async (name) => {
    const text = await readFile(new URL(`./${name}.ts`, import.meta.url), "utf8");
    const [, ...answers] = text.split(/\bmeans: /);

    expect(answers.length).toBeGreaterThan(0);
    expect(answers.filter((answer) => !/^"\w+",?[^{]*\/\/ \w/.test(answer))).toEqual([]);
  },
);

describe.each(presets)("what is known of %s", (preset) => {
  const { answers } = answerRulesFor(
    preset in kindOf ? kindOf[preset as keyof typeof kindOf] : "openai-compatible",
    preset,
  );

  it("asks for more than a status, but for the one that means one thing only", () => {
    const bare = answers.filter(({ code, phrase, header, marks }) => (code ?? phrase ?? header ?? marks) === undefined);

    expect(bare.map((known) => known.status)).toEqual(preset === "fireworks" ? [[412]] : []);
  });

  it("looks for phrases in lower case", () => {
    for (const phrase of answers.flatMap((known) => known.phrase ?? [])) expect(phrase).toBe(phrase.toLowerCase());
  });

  it("never overrules a plain 401, 403, 429 or 529", () => {
    const plain = { 401: "key_refused", 403: "key_refused", 429: "rate_limited", 529: "overloaded" };
    for (const [status, expected] of Object.entries(plain)) {
      expect(codeOf(preset, Number(status), {})).toBe(expected);
      expect(codeOf(preset, Number(status), "")).toBe(expected);
    }
  });
});
